"""What a judge says of the cases of a labelled set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from ragauge.judges.base import Judge, can_answer
from ragauge.measure.asking import Asking
from ragauge.measure.sets import Case
from ragauge.questions import Entail, Question, topic
from ragauge.types import Answer, Decomposition, Failure, Grade, Label, Verdict

_LEAST = 0.001  # no claim counts as less likely than this, so that responses with two such claims differ from one


class Outcome(msgspec.Struct, frozen=True):
    """What a judge says of a case. probability: of a 1, or a grade; None where it tells none. said: whether a 1."""

    probability: float | None
    said: bool


def unanswerable(judge: Judge, cases: Iterable[Case]) -> str | None:
    """The first topic that the cases ask about and the judge does not answer; None where it answers all."""
    return next((topic(q) for case in cases for q in _needed(case) if not can_answer(judge, q)), None)


def _needed(case: Case) -> list[Question]:
    return [*case.questions, *([case.first] if case.first else [])]


async def outcomes(asked: Asking, cases: Sequence[Case]) -> tuple[list[Outcome | None], Failure | None]:
    """What the judge says of each case, None where an answer is missing; and the first failure."""
    parts = await asked.answers([case.first] for case in cases if case.first)
    waves = [_about_claims(case, parts[case.first]) if case.first else list(case.questions) for case in cases]
    answers = await asked.answers(waves)
    found = [_of_case(case, [answers[q] for q in wave]) for case, wave in zip(cases, waves, strict=True)]
    return found, first_failure([*parts.values(), *answers.values()])


def first_failure(answers: Iterable[Answer | Failure]) -> Failure | None:
    """The first of the answers that is none."""
    return next((answer for answer in answers if isinstance(answer, Failure)), None)


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


def _of_case(case: Case, answers: Sequence[Answer | Failure]) -> Outcome | None:
    read = [outcome for answer in answers if (outcome := _outcome(answer, case.least))]
    if not read or len(read) < len(answers):
        return None
    return _all(read) if case.first else _strongest(read)


def _outcome(answer: Answer | Failure, least: float) -> Outcome | None:
    match answer:
        case Verdict(label, probability):
            return Outcome(probability, label in (Label.ENTAILED, Label.YES))
        case Grade(value):
            return Outcome(value, value >= least)
        case _:
            return None


def _strongest(outcomes: list[Outcome]) -> Outcome:
    chances = _probabilities(outcomes)
    return Outcome(chances[-1] if chances else None, any(one.said for one in outcomes))


def _all(outcomes: list[Outcome]) -> Outcome:
    """Of a response: that each of its claims is supported, which are taken as independent of each other."""
    chances = _probabilities(outcomes)
    together = math.prod(max(chance, _LEAST) for chance in chances)
    return Outcome(together if chances else None, all(one.said for one in outcomes))


def _probabilities(outcomes: list[Outcome]) -> list[float]:
    """The probabilities, lowest first; empty unless each outcome has one."""
    told = [one.probability for one in outcomes if one.probability is not None]
    return sorted(told) if len(told) == len(outcomes) else []
