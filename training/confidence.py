"""How often the embedded judge is right where it is sure of itself.

    python training/confidence.py PAIRS FOLDER

PAIRS: the training pairs, of which those of premises that were held out from the encoder's training are asked; all, and
the plain pairs of sentences that training/fit_lexical.py names. Prints for each accuracy the threshold beyond which it
is shown, and the share of answers there. FOLDER: labelled sets; prints how many of the answers on one claim or question
lie beyond 0.9 and 0.97, and how many of these are right.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from fit_lexical import SENTENCE_SOURCES
from held_out import held_out
from rows import read

from ragauge.analysis.measure import ask, labelled_sets
from ragauge.analysis.tuning import fit_thresholds, says_yes
from ragauge.judges.composite import confidence
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.questions import Entail, Judgment, Question
from ragauge.store import label
from ragauge.types import Answer, Failure, Label, Verdict

ACCURACIES, THRESHOLDS = (0.95, 0.9, 0.85, 0.8), (0.9, 0.97)
YES = frozenset({Label.ENTAILED, Label.YES})

Answers = dict[Question, Answer | Failure]


def main(pairs: Path, folder: Path) -> None:
    """Print both tables."""
    unseen = [row for row in read(pairs) if held_out(row["premise"])]
    plain = [row for row in unseen if row["source"] in SENTENCE_SOURCES]
    answers = asyncio.run(answered(labelled(unseen)))

    for name, rows in (("all", unseen), ("plain", plain)):
        yes = {one.question: says_yes(one.answer) for one in labelled(rows)}
        for accuracy in ACCURACIES:
            fitted = fit_thresholds(yes, {question: answers[question] for question in yes}, accuracy)["entail"]
            print(f"{name:6}{accuracy:6}  {fitted}")
    for name, rows in groupby(labelled_sets(folder), key=lambda one: dict(one.judge.settings)["by"]):
        said = list(rows)
        if verdicts := rights(said, asyncio.run(answered(said))):
            print(f"| `{name}` |", " | ".join(figures(verdicts)), "|", flush=True)


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


async def answered(said: Sequence[Judgment]) -> Answers:
    """What the judge says of each question that people answered."""
    return await ask(EmbeddedJudge(), ([one.question] for one in said), None)


def rights(said: Sequence[Judgment], answers: Answers) -> list[tuple[float, bool]]:
    """Of each verdict how sure the judge is, and whether people say the same."""
    return [
        (confidence(answer), (answer.label in YES) == (one.answer.label in YES))
        for one in said
        if isinstance(answer := answers[one.question], Verdict) and isinstance(one.answer, Verdict)
    ]


def figures(verdicts: Sequence[tuple[float, bool]]) -> list[str]:
    """The share that is right of all answers, then of those beyond each threshold, after the share of these."""
    found = [f"{share([right for _, right in verdicts]):.2f}"]
    for least in THRESHOLDS:
        beyond = [right for sure, right in verdicts if sure >= least]
        found += [f"{len(beyond) / len(verdicts):.0%}", f"{share(beyond):.2f}"]
    return found


def share(rights: Sequence[bool]) -> float:
    """The share that is right."""
    return sum(rights) / max(len(rights), 1)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
