"""The confidence from which a judge is right as often as required, fitted on human labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import floor
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragauge.analysis.labelled_sets import LabelledCase, labelled_files, read_cases
from ragauge.analysis.measure import AnswerFunction, judge_session
from ragauge.errors import BadData, BadParameter, RunFailed
from ragauge.judges.base import Judge, can_answer
from ragauge.judges.composite import VERDICTS, confidence
from ragauge.questions import Classify, Entail, Judgment, Question, Relevant, kind
from ragauge.statistics.intervals import mean_interval
from ragauge.store import label
from ragauge.types import Answer, Failure, Label, Verdict

_STEPS = 100  # thresholds are tried in hundredths
_COIN = 0.5  # the least confidence of an answer that has one
_SURE = 0.95  # of each bound


class FittedThreshold(msgspec.Struct, frozen=True):
    """The accuracy of a judge's answers from a confidence on, for questions of one kind with human labels.

    labelled: number of questions. threshold: the lowest confidence that qualifies, None if none does. The other figures
    are those of the threshold, or of the confidence `at` that comes nearest (None if no answer has a probability).
    share: of the questions, those answered with at least that confidence. accuracy: share of these answers that agree
    with people. bound: the lower end of its one-sided 95 % interval.
    """

    labelled: int
    threshold: float | None = None
    at: float | None = None
    share: float = 0.0
    accuracy: float | None = None
    bound: float = 0.0


class _Point(NamedTuple):
    """One answer compared with the human label. about: the group of answers that are not independent."""

    confidence: float
    right: bool
    about: str


async def fit_threshold(
    judge: Judge, labelled: Iterable[Judgment], accuracy: float = 0.95, answer: AnswerFunction | None = None
) -> dict[str, FittedThreshold]:
    """Find, for each kind of verdict, the lowest confidence from which a judge is right often enough.

    An answer is right if it agrees with people; neutral and contradicted count alike. What has to reach `accuracy` is
    the lower end of a one-sided 95 % interval (Clopper-Pearson; by clusters if questions share a premise, query or
    text, see docs/statistics.md). The result holds for texts like the labelled ones, with as many supported claims:
    check it on other labels. Taking the lowest of several thresholds does not spoil the 95 %: in simulations with 300
    to 3,000 labels, for calibrated judges, at most one fit in twenty came out too low.

    Args:
        judge: The judge. Questions that it cannot answer are left out, and so are decompositions and grades, which have
            no confidence.
        labelled: Labels as `ragauge.store.read_labels` and `labelled_sets` give them; the last one of a question
            counts.
        accuracy: How often the judge has to be right, above 0 and below 1.
        answer: Answers in the judge's name, as for `measure`.

    Raises:
        BadParameter: The accuracy is out of range.
        BadData: No label is a verdict that the judge can give.
        UsageError: The judge lacks something, such as a key.
        RunFailed: The judge answered nothing; the message has the first reason.
    """
    if not 0 < accuracy < 1:
        raise BadParameter(f"accuracy={accuracy!r} must be above 0 and below 1, as in accuracy=0.95")
    labels = {one.question: one.answer for one in labelled if kind(one.question) in VERDICTS}
    rounds: dict[str, list[Question]] = {}
    for question in filter(partial(can_answer, judge), labels):
        rounds.setdefault(subject(question), []).append(question)
    if not rounds:
        raise BadData(
            f"no label is for a verdict that {judge.identity} can give; `ragauge docs judges` shows label files"
        )
    async with judge_session(judge, answer) as asked:
        answers = await asked.answers(rounds.values())
    failures = [one for one in answers.values() if isinstance(one, Failure)]
    if len(failures) == len(answers):
        raise RunFailed(f"{judge.identity} answered no question, the first because: {failures[0]}")
    points: dict[str, list[_Point]] = {}
    for question, found in answers.items():
        right = says_yes(found) == says_yes(labels[question])
        points.setdefault(kind(question), []).append(_Point(confidence(found), right, subject(question)))
    return {name: _fitted(points[name], accuracy) for name in VERDICTS if name in points}


def labelled_sets(folder: Path, limit: int | None = None, seed: int = 0) -> list[Judgment]:
    """The labelled sets of a folder, which `measure` reads too, as human labels under the names of the sets.

    Rows that take more than one question are skipped. limit: at most this many rows of each set, drawn with `seed`.
    Raises BadData if the folder holds no set, or a set cannot be read.
    """
    files = labelled_files(folder)
    cases = [(file.name.partition(".")[0], case) for file in files for case in read_cases(file, limit, seed) or ()]
    return [made for name, case in cases if (made := _label(case, name))]


def _label(case: LabelledCase, name: str) -> Judgment | None:
    if case.first or len(case.questions) != 1 or kind(case.questions[0]) not in VERDICTS:
        return None
    yes, no = (Label.ENTAILED, Label.NOT_ENTAILED) if isinstance(case.questions[0], Entail) else (Label.YES, Label.NO)
    return label(case.questions[0], Verdict(yes if case.label else no), name)


def says_yes(answer: Answer | Failure) -> bool:
    """Whether an answer is "entailed" or "yes"."""
    return isinstance(answer, Verdict) and answer.label in (Label.ENTAILED, Label.YES)


def subject(question: Question) -> str:
    """The text that a question for a verdict is about; questions about one text are not independent."""
    match question:
        case Entail(premise):
            return "\n".join(premise)
        case Relevant(query):
            return query
        case Classify(text):
            return text
    return repr(question)


def _fitted(points: Sequence[_Point], accuracy: float) -> FittedThreshold:
    """The lowest threshold that qualifies, or the one that comes nearest."""
    nearest = FittedThreshold(len(points))
    tried = {floor(point.confidence * _STEPS) / _STEPS for point in points if point.confidence >= _COIN}
    for at in sorted(tried):
        beyond = [point for point in points if point.confidence >= at]
        found = mean_interval(
            [float(point.right) for point in beyond],
            clusters=[point.about for point in beyond],
            confidence=2 * _SURE - 1,
        )
        reached = FittedThreshold(len(points), None, at, len(beyond) / len(points), found.value, found.low or 0.0)
        if reached.bound >= accuracy:
            return msgspec.structs.replace(reached, threshold=at)
        nearest = max(nearest, reached, key=lambda one: one.bound)
    return nearest
