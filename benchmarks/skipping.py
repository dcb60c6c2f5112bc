"""What the embedded judge leaves unread, and how many verdicts that changes.

    python benchmarks/skipping.py FOLDER [--each 300]

FOLDER holds labelled sets, as for `ragauge judges measure`; the claims of its sets of entailment and of citations are
judged as always, and with every window read. Prints for each set how many windows of the chunks are read for a claim,
either way (none where it stands in a chunk word for word), and the share of claims whose label differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ragauge.analysis.measure import labelled_files, read_cases
from ragauge.judges.embedded.judge import Trained
from ragauge.questions import Entail
from ragauge.types import Verdict

EVERYTHING = 10**6


def main() -> None:
    """Print a line for each set."""
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("--each", type=int, default=300, help="claims of a set at most")
    given = options.parse_args()
    print(f"{'set':28}{'claims':>8}{'read':>8}{'of':>8}{'other label':>13}")
    for file in labelled_files(given.folder):
        if file.name.startswith(("ent_", "cit_")):
            report(file, given.each)


def report(file: Path, each: int) -> None:
    """The line of one set."""
    cases = read_cases(file, each) or ()
    asked = [question for case in cases for question in case.questions if isinstance(question, Entail)]
    if not asked:
        return
    skipping, reading = Trained(), Trained(most=EVERYTHING)
    labels, windows = zip(*(judged(backend, asked) for backend in (skipping, reading)), strict=True)
    other = sum(one != two for one, two in zip(*labels, strict=True)) / len(asked)
    read, all_of_them = (count / len(asked) for count in windows)
    print(f"{file.name.partition('.')[0]:28}{len(asked):8}{read:8.2f}{all_of_them:8.2f}{other:13.1%}", flush=True)


def judged(backend: Trained, asked: Sequence[Entail]) -> tuple[list[str], int]:
    """The labels, and how many windows were read for them, each once for each claim about it."""
    for _ in backend.prepare(asked):
        pass
    verdicts = (backend.verdict(question) for question in asked)
    labels = [str(one.label) for one in verdicts if isinstance(one, Verdict)]
    readings = [chunk[0] for question in asked for chunk in backend.case(question).chunks if chunk]
    return labels, sum(len(reading.windows) for reading in readings)


if __name__ == "__main__":
    main()
