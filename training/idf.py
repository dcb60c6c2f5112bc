"""Build the idf table of the embedded judge: in how many texts each word stem occurs.

    python training/idf.py TRAIN/nli_pairs.jsonl.gz

The texts are the distinct premises of the natural sources named below, taken from the training pairs and from nothing
else; the table holds counts of stems and no text. One line per count: the count, then the stems that have it.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path

from rows import read

from ragauge.judges.embedded.words import Kind, words

SOURCES = frozenset(
    """qamr boolq curriculum/control olora/mnli snli_dev wice_train curriculum/drop curriculum/ester
    curriculum/coreference curriculum/syntactic_variation dnc/factuality""".split()
)
LEAST = 3
TABLE = Path(__file__).parents[1] / "src/ragauge/judges/embedded/data/idf.txt"


def main(pairs: Path) -> None:
    """Count and write the table."""
    premises = sorted(premises_of(pairs))
    counts = Counter(key for premise in premises for key in keys(premise))
    by_count: dict[int, list[str]] = defaultdict(list)
    for key, count in counts.items():
        if count >= LEAST:
            by_count[count].append(key)
    lines = [f"{count} {' '.join(sorted(by_count[count]))}" for count in sorted(by_count, reverse=True)]
    TABLE.write_text("\n".join([str(len(premises)), *lines]) + "\n", encoding="utf-8")
    print(f"{len(premises)} premises, {sum(map(len, by_count.values()))} stems, {TABLE.stat().st_size} bytes")


def premises_of(pairs: Path) -> set[str]:
    """The distinct premises of the natural sources."""
    return {row["premise"] for row in read(pairs) if row["source"] in SOURCES}


def keys(premise: str) -> set[str]:
    """The stems of one premise, without numbers."""
    found = words(premise)
    return {word.key for word in found if word.kind != Kind.NUMBER and word.key.isalpha() and len(word.key) < 25}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
