"""How sure a judge has to be of itself to be right as often as is wanted: fitted on what people answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """How right a judge is beyond a threshold, on questions of one kind that people answered.

    labelled: questions. threshold: the lowest that will do, None where none does. The other figures are of that
    threshold, or else of the one that comes nearest, `at` (None where no answer comes with a probability).
    share: of the questions, those answered with that confidence or more. accuracy: how often that is what people say.
    bound: what the accuracy is at least, with 95 % confidence.
    """

    labelled: int
    threshold: float | None = None
    at: float | None = None
    share: float = 0.0
    accuracy: float | None = None
    bound: float = 0.0


class _Point(NamedTuple):
    """One answer compared with people's label. about: the group of answers that are not independent."""

    confidence: float
    right: bool
    about: str


async def fit_threshold(
    judge: Judge, labelled: Iterable[Judgment], accuracy: float = 0.95, answer: AnswerFunction | None = None
) -> dict[str, FittedThreshold]:
    """For each kind of verdict the lowest threshold beyond which the judge is right often enough, by people's labels.

    labelled: as `ragauge.store.read_labels` and `labelled_sets` give them; of several for one question the last counts.
    What the judge is not able to answer is left out, and so are decompositions and grades, which have no confidence.
    accuracy: how often it must be right where it is that sure or surer, above 0 and below 1. That has to be shown: what
    counts is the end of a one-sided 95 % interval (Clopper-Pearson; by clusters where questions share a premise, query
    or text, see docs/statistics.md). Right is a verdict of entailment that says "entailed" just where people do: as
    `confidence`, neutral and contradicted count alike. answer: answers in the judge's name, as for `measure`.

    It holds for texts like the labelled ones, of which as many are supported: check it on labels left aside. Choosing
    the lowest threshold does not spoil the 95 %: for judges that know how sure they are, at most one fit in twenty came
    out too low in simulations with 300 to 3,000 labels.

    Raises BadParameter for an accuracy out of range, BadData where no label is a verdict that the judge can give,
    UsageError where the judge misses something, such as a key, and RunFailed with the first reason where it answers
    nothing.
    """
    if not 0 < accuracy < 1:
        raise BadParameter(f"accuracy={accuracy!r} must be above 0 and below 1, as in accuracy=0.95")
    said = {one.question: one.answer for one in labelled if kind(one.question) in VERDICTS}
    questions = [question for question in said if can_answer(judge, question)]
    if not questions:
        raise BadData(f"no label is for a verdict that {judge.identity} can give; docs/judges.md shows label files")
    points: dict[str, list[_Point]] = {}
    for question, found in (await _answers(judge, questions, answer)).items():
        right = _says_yes(found) == _says_yes(said[question])
        points.setdefault(kind(question), []).append(_Point(confidence(found), right, _about(question)))
    return {name: _fitted(points[name], accuracy) for name in VERDICTS if name in points}


def labelled_sets(folder: Path, limit: int | None = None, seed: int = 0) -> list[Judgment]:
    """The labelled sets of a folder, as `measure` reads them, as people's labels; the sets' names stand for people.

    Rows that take more than one question are skipped. limit: at most this many rows of each set, drawn with `seed`.
    Raises BadData where the folder holds no set, or a set cannot be read.
    """
    files = labelled_files(folder)
    cases = [(file.name.partition(".")[0], case) for file in files for case in read_cases(file, limit, seed) or ()]
    return [made for name, case in cases if (made := _label(case, name))]


def _label(case: LabelledCase, name: str) -> Judgment | None:
    if case.first or len(case.questions) != 1 or kind(case.questions[0]) not in VERDICTS:
        return None
    yes, no = (Label.ENTAILED, Label.NOT_ENTAILED) if isinstance(case.questions[0], Entail) else (Label.YES, Label.NO)
    return label(case.questions[0], Verdict(yes if case.label else no), name)


async def _answers(
    judge: Judge, questions: Sequence[Question], answer: AnswerFunction | None
) -> dict[Question, Answer | Failure]:
    """An answer to each question; those about the same text are asked together, as a sample's are."""
    waves: dict[str, list[Question]] = {}
    for question in questions:
        waves.setdefault(_about(question), []).append(question)
    async with judge_session(judge, answer) as asked:
        answers = await asked.answers(waves.values())
    failures = [one for one in answers.values() if isinstance(one, Failure)]
    if len(failures) == len(answers):
        raise RunFailed(f"{judge.identity} answered no question, the first because: {failures[0]}")
    return answers


def _says_yes(answer: Answer | Failure) -> bool:
    return isinstance(answer, Verdict) and answer.label in (Label.ENTAILED, Label.YES)


def _about(question: Question) -> str:
    match question:
        case Entail(premise):
            return "\n".join(premise)
        case Relevant(query):
            return query
        case Classify(text):
            return text
    return repr(question)


def _fitted(points: Sequence[_Point], accuracy: float) -> FittedThreshold:
    """The lowest threshold that will do, or the one that comes nearest."""
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
