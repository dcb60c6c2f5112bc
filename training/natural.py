"""Groups out of the natural pairs: a premise with its labelled claims, for training/train_encoder.py.

    python training/natural.py PAIRS OUT [--seed 1]

Half of the premises of a sentence or two stand among others, as in a retrieved text; some claims of such a text are
joined into one, which holds if all of them hold; and each text gets a claim of another premise, which is neutral.
Writes {"premise", "claims": [{"text", "label", "source", "wrong"}], "held"}; wrong is null. The seed fixes all.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from held_out import held_out
from rows import Row, by_source, write_groups

#: Pairs of a source that are taken at most. A large set of one narrow pattern teaches that pattern alone.
MOST = defaultdict(
    lambda: 800,
    {
        "olora/mnli": 10467, "snli_dev": 9752, "cad_nli/revised_combined": 7386, "cad_nli/original": 1639,
        "conjnli_adv": 8000, "infotabs": 14000, "boolq": 5153, "curriculum/control": 8157, "curriculum/ester": 3203,
        "curriculum/drop": 3000, "qamr": 8000, "curriculum/syntactic_variation": 3000, "fever_symmetric_dev": 615,
        "curriculum/entailment_tree": 1644, "olora/cb": 306, "olora/rte": 275, "curriculum/coreference": 2000,
        "curriculum/negation": 1500, "curriculum/temporal": 1500, "curriculum/quantifier": 1500,
        "curriculum/comparative": 1500, "curriculum/monotonicity_infer": 1500,
    },
)  # fmt: skip
#: Sources whose premises, a sentence or two, say so much that claims of others are neutral to them.
MIXED = frozenset(
    "olora/mnli conjnli_adv fever_symmetric_dev olora/cb olora/rte curriculum/syntactic_variation".split()
)
CLAIMS = 8  # of a group at most


def main() -> None:
    """Make the groups, write them in a drawn order, count the claims."""
    options = argparse.ArgumentParser()
    options.add_argument("pairs", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    found = [group for source, rows in sorted(by_source(given.pairs).items()) for group in groups(source, rows, chance)]
    chance.shuffle(found)
    write_groups(given.out, found)


def groups(source: str, rows: Sequence[Row], chance: random.Random) -> Iterator[Row]:
    """The groups of one source; premises that are held out stand alone."""
    claims: dict[str, list[Row]] = defaultdict(list)
    for row in chance.sample(rows, min(MOST[source], len(rows))):
        claims[row["premise"]].append({"text": row["claim"], "label": row["label3"], "source": source, "wrong": None})
    premises = sorted(claims)
    chance.shuffle(premises)
    while premises:
        taken = [premises.pop()]
        if source in MIXED and chance.random() < 0.5 and not held_out(taken[0]):
            taken += [premises.pop() for _ in range(min(chance.randint(1, 4), len(premises)))]
        found = [claim for premise in taken for claim in claims[premise]]
        if len(taken) > 1:
            found += _joined(found, source, chance)
        if source in MIXED and premises:
            other = chance.choice(claims[premises[-1]])
            found.append({"text": other["text"], "label": "neutral", "source": f"{source}/other", "wrong": None})
        chance.shuffle(found)
        for start in range(0, len(found), CLAIMS):
            yield {
                "premise": " ".join(taken),
                "claims": found[start : start + CLAIMS],
                "held": "dev" if held_out(taken[0]) else "",
            }


def _joined(claims: Sequence[Row], source: str, chance: random.Random) -> Iterator[Row]:
    """Two claims as one: entailed if both are, and otherwise as the one that is not."""
    for _ in range(2):
        one, two = chance.sample(claims, 2) if len(claims) > 1 else (None, None)
        if one and two and (one["label"] == "entailment" or two["label"] == "entailment"):
            label = two["label"] if one["label"] == "entailment" else one["label"]
            text = f"{one['text'].rstrip('. ')}{chance.choice(('. ', ', and ', '; '))}{two['text']}"
            yield {"text": text, "label": label, "source": f"{source}/joined", "wrong": None}


if __name__ == "__main__":
    main()
