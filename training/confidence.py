"""How often the embedded judge is right where it is sure of itself.

    python training/confidence.py PAIRS FOLDER

PAIRS: the training pairs, of which those of premises that were held out from the reader's training are asked; all, and
the plain pairs of sentences that training/fit_lexical.py names. Prints for each accuracy the threshold beyond which it
is shown, and the share of answers there. FOLDER: labelled sets; prints how many of the answers on one claim or question
lie beyond 0.9 and 0.97, and how many of these are right.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fit_lexical import SENTENCE_SOURCES
from held_out import held_out

from ragauge.judges.cascade import confidence
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.measure.asking import asking
from ragauge.measure.sets import Case, labelled_files, read_cases
from ragauge.measure.thresholds import fit_threshold
from ragauge.nouns.answers import Label, Verdict
from ragauge.questions import Entail, Judgment
from ragauge.store import label

ACCURACIES, THRESHOLDS = (0.95, 0.9, 0.85, 0.8), (0.9, 0.97)
YES = frozenset({Label.ENTAILED, Label.YES})


def main(pairs: Path, folder: Path) -> None:
    """Print both tables."""
    with gzip.open(pairs, "rt", encoding="utf-8") as lines:
        unseen = [row for row in map(json.loads, lines) if held_out(row["premise"])]
    for name, rows in (("all", unseen), ("plain", [row for row in unseen if row["source"] in SENTENCE_SOURCES])):
        for accuracy in ACCURACIES:
            fitted = asyncio.run(fit_threshold(EmbeddedJudge(), labelled(rows), accuracy))["entail"]
            print(f"{name:6}{accuracy:6}  {fitted}")
    for file in labelled_files(folder):
        cases = [case for case in read_cases(file) or () if not case.first and len(case.questions) == 1]
        if told := asyncio.run(answered(cases)):
            print(f"| `{file.name.partition('.')[0]}` |", " | ".join(figures(told)), "|", flush=True)


def labelled(rows: Iterable[Any]) -> list[Judgment]:
    """Training pairs as people's labels."""
    return [
        label(
            Entail((row["premise"],), row["claim"]),
            Verdict(Label.ENTAILED if row["label"] else Label.NOT_ENTAILED),
            row["source"],
        )
        for row in rows
        if row["premise"].strip() and row["claim"].strip()
    ]


async def answered(cases: Sequence[Case]) -> list[tuple[float, bool]]:
    """Of each verdict how sure it is, and whether it is right."""
    async with asking(EmbeddedJudge(), None) as asked:
        answers = await asked.answers(case.questions for case in cases)
    found = [(answers[case.questions[0]], case.label) for case in cases]
    return [
        (confidence(answer), (answer.label in YES) == bool(truth))
        for answer, truth in found
        if isinstance(answer, Verdict)
    ]


def figures(told: Sequence[tuple[float, bool]]) -> list[str]:
    """The share that is right of all answers, then of those beyond each threshold, after the share of these."""
    found = [f"{share([right for _, right in told]):.2f}"]
    for least in THRESHOLDS:
        beyond = [right for sure, right in told if sure >= least]
        found += [f"{len(beyond) / len(told):.0%}", f"{share(beyond):.2f}"]
    return found


def share(rights: Sequence[bool]) -> float:
    """The share that is right."""
    return sum(rights) / max(len(rights), 1)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
