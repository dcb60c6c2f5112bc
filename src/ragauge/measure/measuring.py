"""How well a judge's answers agree with people's labels, set by set."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from ragauge.judges.judge import Judge
from ragauge.measure.sets import Case, labelled_files, read_cases
from ragauge.nouns.answers import Answer, Decomposition, Failure, Grade, Label, Verdict
from ragauge.questions import Entail, Question, kind, topic
from ragauge.statistics.agreement import auc, balanced_accuracy, group_interval

_BATCH = 64
_LEAST = 2  # a response is as good as the mean of its so many least supported claims


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """A judge on one set.

    rows: cases with an answer. failed: cases without one. auc: of its probabilities, with `interval`, 95 % by
    resampling groups. balanced_accuracy: of its labels. overlap_auc: of the lexical baseline on the same rows.
    seconds: the judge's own time. note: why there are no figures.
    """

    name: str
    rows: int = 0
    failed: int = 0
    auc: float | None = None
    interval: tuple[float, float] | None = None
    balanced_accuracy: float | None = None
    overlap_auc: float | None = None
    seconds: float = 0.0
    note: str = ""


class _Outcome(msgspec.Struct, frozen=True):
    probability: float
    said: bool


async def measure(judge: Judge, folder: Path, limit: int | None = None, seed: int = 0) -> AsyncIterator[Measured]:
    """`judge` on every labelled set in `folder` (*.jsonl, *.jsonl.gz), in the order of their names.

    limit: at most so many rows of a set, drawn with `seed`. Raises BadData where the folder holds no set.
    """
    for file in labelled_files(folder):
        yield await _measure_set(judge, file, limit, seed)


async def _measure_set(judge: Judge, file: Path, limit: int | None, seed: int) -> Measured:
    name = file.name.partition(".jsonl")[0]
    cases = read_cases(file, limit, seed)
    if cases is None:
        return Measured(name, note="no question fits this kind of set")
    unanswered = next((topic(q) for case in cases for q in case.questions if not _answered(judge, q)), None)
    if unanswered is not None:
        return Measured(name, note=f"not answered: {unanswered}")
    begun = time.perf_counter()
    outcomes: list[_Outcome | None] = []
    for start in range(0, len(cases), _BATCH):
        outcomes += await _outcomes(judge, cases[start : start + _BATCH])
    return _compared(name, cases, outcomes, time.perf_counter() - begun)


def _answered(judge: Judge, question: Question) -> bool:
    own = kind(question)
    return bool({own, topic(question)} & judge.answers) or (own == "entail" and "entail:support" in judge.answers)


def _compared(name: str, cases: Sequence[Case], outcomes: Sequence[_Outcome | None], seconds: float) -> Measured:
    pairs = [(case, outcome) for case, outcome in zip(cases, outcomes, strict=True) if outcome is not None]
    labels = [case.label for case, _ in pairs]
    chances = [outcome.probability for _, outcome in pairs]
    return Measured(
        name,
        rows=len(pairs),
        failed=len(cases) - len(pairs),
        auc=auc(labels, chances),
        interval=group_interval(labels, chances, [case.group for case, _ in pairs]),
        balanced_accuracy=balanced_accuracy(labels, [float(outcome.said) for _, outcome in pairs]),
        overlap_auc=auc(labels, [case.overlap for case, _ in pairs]),
        seconds=seconds,
    )


async def _outcomes(judge: Judge, cases: Sequence[Case]) -> list[_Outcome | None]:
    asked = await _asked(judge, cases)
    flat = [question for questions in asked for question in questions]
    answers = iter(await judge.answer(flat) if flat else [])
    found: list[_Outcome | None] = []
    for case, questions in zip(cases, asked, strict=True):
        read = [outcome for _ in questions if (outcome := _outcome(next(answers))) is not None]
        whole = len(read) == len(questions) and bool(read)
        found.append((_weakest(read) if case.first else _strongest(read)) if whole else None)
    return found


async def _asked(judge: Judge, cases: Sequence[Case]) -> list[list[Question]]:
    """The questions of each case; where a text is taken apart first, one for each of its claims."""
    firsts = [case.first for case in cases if case.first is not None]
    parts = iter(await judge.answer(firsts) if firsts else [])
    return [_about_claims(case, next(parts)) if case.first else list(case.questions) for case in cases]


def _about_claims(case: Case, parts: Answer | Failure) -> list[Question]:
    if not isinstance(parts, Decomposition):
        return []
    claims = [statement.text for statement in parts.statements if statement.claim]
    return [
        msgspec.structs.replace(question, hypothesis=claim)
        for question in case.questions
        if isinstance(question, Entail)
        for claim in claims or [question.hypothesis]
    ]


def _outcome(answer: Answer | Failure) -> _Outcome | None:
    match answer:
        case Verdict(label, probability):
            said = label in (Label.ENTAILED, Label.YES)
            return _Outcome(float(said) if probability is None else probability, said)
        case Grade(value):
            return _Outcome(value, value >= 0.5)
        case _:
            return None


def _strongest(outcomes: list[_Outcome]) -> _Outcome:
    return _Outcome(max(one.probability for one in outcomes), any(one.said for one in outcomes))


def _weakest(outcomes: list[_Outcome]) -> _Outcome:
    lowest = sorted(one.probability for one in outcomes)[:_LEAST]
    return _Outcome(sum(lowest) / len(lowest), all(one.said for one in outcomes))
