"""How well a judge's answers agree with people's labels, set by set."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import msgspec

from ragauge.errors import RunFailed
from ragauge.judges.judge import Judge, can_answer
from ragauge.measure.asking import Answering, Asking, asking
from ragauge.measure.sets import Case, labelled_files, read_cases
from ragauge.nouns.answers import Answer, Decomposition, Failure, Grade, Label, Verdict
from ragauge.questions import Entail, Question, topic
from ragauge.statistics.agreement import auc, balanced_accuracy, group_interval

_LEAST = 2  # a response is as good as the mean of its so many least supported claims


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """A judge on one set.

    rows: cases with an answer. failed: cases without one; failure: the first reason. auc: of its probabilities, None
    where some answer has none. balanced_accuracy: of its labels. interval: of the AUC, or where there is none of the
    balanced accuracy, 95 % by resampling groups. overlap_auc: of the lexical baseline on the same rows. seconds: the
    judge's own time. note: why there are no figures.
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
    failure: str = ""


class _Outcome(msgspec.Struct, frozen=True):
    """What a judge says of a case. probability: of a 1, or a grade; None where it tells none."""

    probability: float | None
    said: bool


async def measure(
    judge: Judge, folder: Path, limit: int | None = None, seed: int = 0, answer: Answering | None = None
) -> AsyncIterator[Measured]:
    """`judge` on every labelled set in `folder` (*.jsonl, *.jsonl.gz), in the order of their names.

    limit: at most so many rows of a set, drawn with `seed`. answer: answers in the judge's name, from a store for
    example; without it the judge is asked, and is open until the last set. Each row is asked as a sample of its own,
    many side by side where the judge works by samples.

    Raises BadData where the folder holds no set, UsageError where the judge misses something, such as a key, and, after
    the last set, RunFailed with the first reason where no row of a set had an answer.
    """
    files = labelled_files(folder)
    unanswered: list[Measured] = []
    async with asking(judge, answer) as asked:
        for file in files:
            measured = await _measure_set(asked, file, limit, seed)
            unanswered += [measured] if measured.failed and not measured.rows else []
            yield measured
    if unanswered:
        names = ", ".join(one.name for one in unanswered)
        raise RunFailed(f"{names}: {judge.identity} answered no row, the first because: {unanswered[0].failure}")


async def _measure_set(asked: Asking, file: Path, limit: int | None, seed: int) -> Measured:
    name = file.name.partition(".jsonl")[0]
    cases = read_cases(file, limit, seed)
    if cases is None:
        return Measured(name, note="no question fits this kind of set")
    unanswered = next((topic(q) for case in cases for q in _needed(case) if not can_answer(asked.judge, q)), None)
    if unanswered is not None:
        return Measured(name, note=f"not answered: {unanswered}")
    begun = time.perf_counter()
    outcomes, failure = await _outcomes(asked, cases)
    if failure and not any(outcomes):
        return Measured(name, failed=len(cases), failure=str(failure))
    measured = _compared(name, cases, outcomes, time.perf_counter() - begun)
    return msgspec.structs.replace(measured, failure=str(failure or ""))


def _needed(case: Case) -> list[Question]:
    return [*case.questions, *([case.first] if case.first else [])]


def _compared(name: str, cases: Sequence[Case], outcomes: Sequence[_Outcome | None], seconds: float) -> Measured:
    pairs = [(case, outcome) for case, outcome in zip(cases, outcomes, strict=True) if outcome is not None]
    labels, groups = [case.label for case, _ in pairs], [case.group for case, _ in pairs]
    said = [float(outcome.said) for _, outcome in pairs]
    chances = [outcome.probability for _, outcome in pairs if outcome.probability is not None]
    sure = len(chances) == len(pairs)
    scores, statistic = (chances, auc) if sure else (said, balanced_accuracy)
    return Measured(
        name,
        rows=len(pairs),
        failed=len(cases) - len(pairs),
        auc=auc(labels, chances) if sure else None,
        interval=group_interval(labels, scores, groups, statistic),
        balanced_accuracy=balanced_accuracy(labels, said),
        overlap_auc=auc(labels, [case.overlap for case, _ in pairs]),
        seconds=seconds,
    )


async def _outcomes(asked: Asking, cases: Sequence[Case]) -> tuple[list[_Outcome | None], Failure | None]:
    """What the judge says of each case, None where an answer is missing; and the first failure."""
    parts = await asked.answers([case.first] for case in cases if case.first)
    waves = [_about_claims(case, parts[case.first]) if case.first else list(case.questions) for case in cases]
    answers = await asked.answers(waves)
    outcomes = [_of_case(case, [answers[q] for q in wave]) for case, wave in zip(cases, waves, strict=True)]
    return outcomes, _first_failure([*parts.values(), *answers.values()])


def _first_failure(answers: Iterable[Answer | Failure]) -> Failure | None:
    return next((answer for answer in answers if isinstance(answer, Failure)), None)


def _of_case(case: Case, answers: Sequence[Answer | Failure]) -> _Outcome | None:
    read = [outcome for answer in answers if (outcome := _outcome(answer, case.least))]
    if not read or len(read) < len(answers):
        return None
    return _weakest(read) if case.first else _strongest(read)


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


def _outcome(answer: Answer | Failure, least: float) -> _Outcome | None:
    match answer:
        case Verdict(label, probability):
            return _Outcome(probability, label in (Label.ENTAILED, Label.YES))
        case Grade(value):
            return _Outcome(value, value >= least)
        case _:
            return None


def _strongest(outcomes: list[_Outcome]) -> _Outcome:
    chances = _probabilities(outcomes)
    return _Outcome(chances[-1] if chances else None, any(one.said for one in outcomes))


def _weakest(outcomes: list[_Outcome]) -> _Outcome:
    lowest = _probabilities(outcomes)[:_LEAST]
    return _Outcome(sum(lowest) / len(lowest) if lowest else None, all(one.said for one in outcomes))


def _probabilities(outcomes: list[_Outcome]) -> list[float]:
    """The probabilities, lowest first; empty unless each outcome has one."""
    told = [one.probability for one in outcomes if one.probability is not None]
    return sorted(told) if len(told) == len(outcomes) else []
