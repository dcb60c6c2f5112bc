"""Groups out of statements that were written about real and invented texts, for training/train_encoder.py.

    python training/statements.py DATA OUT [--styles long,answers,...] [--seed 1]

DATA: the folder with natural/ and nli_pairs.jsonl.gz. The statements are in written/statements.jsonl.gz; of a real text
there is only the hash of the whole text in DATA and the stretch that the writer saw. "held" of a group is "dev" where
sha1 of its row's "group" begins with f, "fit" where it begins with e. The seed fixes all.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from claims import claimed
from copies import with_copies
from rows import Row, read, write_groups
from written import LABELS, WINDOW, held, window

FILE = Path(__file__).parent / "written/statements.jsonl.gz"
STYLES = ("long", "answers", "tricky", "cases", "attributed")
MOST_CLAIMS = 12  # of a group


def main() -> None:
    """Make the groups, write them in a drawn order, count the claims."""
    options = argparse.ArgumentParser()
    options.add_argument("data", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--styles", default=",".join(STYLES))
    options.add_argument("--seed", type=int, default=1)
    arguments = options.parse_args()
    chance, styles = random.Random(arguments.seed), arguments.styles.split(",")
    made = [group for row in statements(arguments.data) if row["style"] in styles for group in groups(row, chance)]
    chance.shuffle(made)
    write_groups(arguments.out, [with_copies(group, chance) for group in made])


def statements(data: Path) -> Iterator[Row]:
    """The rows with their texts.

    Args:
        data: The folder with natural/ and nli_pairs.jsonl.gz.

    Yields:
        id, style, group (which decides what is kept aside), query (of some styles), contexts (texts), and claims: text,
        label ("entailed", "neutral" or "contradicted") and wrong (spans of characters that are not supported).
    """
    rows = list(read(FILE))
    wanted = {place["sha1"] for row in rows for place in row.get("texts", ())}
    texts = {digest: text for text in _texts(data) if (digest := digest_of(text)) in wanted}
    for row in rows:
        places = row.get("texts", ())
        yield {"contexts": [texts[place["sha1"]][place["start"] : place["end"]] for place in places]} | row


def digest_of(text: str) -> str:
    """The hash by which a text of single spaces is found."""
    return hashlib.sha1(text.encode()).hexdigest()[:16]


def groups(row: Row, chance: random.Random) -> Iterator[Row]:
    """A row's claims with its texts, or each with the window of these that has most of its words."""
    whole = "\n\n".join(chance.sample(row["contexts"], len(row["contexts"])))
    by_premise: dict[str, list[Row]] = defaultdict(list)
    for one in chance.sample(row["claims"], len(row["claims"])):
        premise = whole if len(whole.split()) <= WINDOW else window(whole, one["text"])
        by_premise[premise].append(claimed(one["text"], LABELS[one["label"]], one["wrong"], row["style"]))
    for premise, claims in by_premise.items():
        for start in range(0, len(claims), MOST_CLAIMS):
            yield {"premise": premise, "claims": claims[start : start + MOST_CLAIMS], "held": held(row["group"])}


def _texts(data: Path) -> Iterator[str]:
    """All texts of the training data, each with single spaces."""
    for file in (*sorted((data / "natural").glob("*.jsonl.gz")), data / "nli_pairs.jsonl.gz"):
        for row in read(file):
            premise = row["premise"]
            for text in [premise] if isinstance(premise, str) else [*premise, "\n".join(premise)]:
                yield " ".join(text.split())


if __name__ == "__main__":
    main()
