"""Groups out of the pairs that people labelled, for training/train_encoder.py.

    python training/people.py NATURAL OUT [--most 3500] [--easy 250] [--seed 1]

NATURAL: the folder with a file of pairs for each source (fever.jsonl.gz and so on). A long premise is cut into the
windows that the judge reads, and each claim is held against the one that shares most of its words; short premises stand
among others, as in a retrieved text, every second time. "held" of a group is "dev" where sha1 of the pairs' "group"
begins with f, "fit" where it begins with e. The seed fixes all.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from claims import claimed
from copies import with_copies
from rows import Row, read, write_groups
from written import held, window

LABELS = {"entailed": "entailment", "neutral": "neutral", "contradicted": "contradiction"}
#: Sources whose labels the share of words tells.
EASY = frozenset(("lfqa", "begin", "propsegment", "faithdial_audit", "lite_pyramid", "simplification"))
#: Sources whose premises, a sentence or two, leave the claims of others open.
MIXED = frozenset(("fever", "mnli", "rte"))
CLAIMS, OTHERS = 8, 0.15  # of a group at most; texts that are held against a claim of another


def main() -> None:
    """Make the groups, write them in a drawn order, count the claims."""
    options = argparse.ArgumentParser()
    options.add_argument("natural", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--most", type=int, default=3500, help="claims of a source")
    options.add_argument("--easy", type=int, default=250, help="claims of a source in EASY")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    found: list[Row] = []
    for file in sorted(given.natural.glob("*.jsonl.gz")):
        source = file.name.removesuffix(".jsonl.gz")
        most = given.easy if source in EASY else given.most
        found += groups(source, list(read(file)), most, chance)
    chance.shuffle(found)
    write_groups(given.out, [with_copies(group, chance) for group in found])


def groups(source: str, rows: Sequence[Row], most: int, chance: random.Random) -> Iterator[Row]:
    """The groups of one source: those kept aside as they are, and at most so many claims to train on."""
    for part in ("fit", "dev"):
        for premise, claims in _by_window([row for row in rows if held(row["group"]) == part], source).items():
            yield {"premise": premise, "claims": claims, "held": part}
    train = [row for row in rows if not held(row["group"])]
    claims = _by_window(chance.sample(train, min(most, len(train))), source)
    premises = sorted(claims)
    chance.shuffle(premises)
    while premises:
        taken = [premises.pop()]
        if source in MIXED and chance.random() < 0.5:
            taken += [premises.pop() for _ in range(min(chance.randint(1, 4), len(premises)))]
        together = [claim for premise in taken for claim in claims[premise]]
        if premises and chance.random() < OTHERS:
            together.append(chance.choice(claims[premises[-1]]) | {"label": "neutral", "source": f"{source}/other"})
        chance.shuffle(together)
        for start in range(0, len(together), CLAIMS):
            yield {"premise": " ".join(taken), "claims": together[start : start + CLAIMS], "held": ""}


def _by_window(rows: Sequence[Row], source: str) -> dict[str, list[Row]]:
    claims: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        claims[window(_joined(row["premise"]), row["claim"])].append(_claim(row, source))
    return claims


def _claim(row: Row, source: str) -> Row:
    label = LABELS.get(row["label"], "not_entailment")
    return claimed(row["claim"], label, None, source)


def _joined(premise: str | list[str]) -> str:
    return premise if isinstance(premise, str) else "\n\n".join(premise)


if __name__ == "__main__":
    main()
