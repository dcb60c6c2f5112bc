"""How far a judge agrees with people, on the questions of samples that were drawn at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ragauge.questions import Entail, Question, kind
from ragauge.statistics.agreement import kappa_interval
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.types import Answer, Grade, Label, Verdict

_THREE_WAY = (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)
_TWO_WAY = (Label.ENTAILED, Label.NOT_ENTAILED)
_YES_NO = (Label.YES, Label.NO)


class Pair(NamedTuple):
    """What judge and people say of one question. sample: the position of the sample that asks it."""

    question: Question
    judge: Answer
    people: Answer
    sample: int


class Agreement(msgspec.Struct, frozen=True):
    """How far judge and people agree on the questions of one kind that a metric asks.

    n: questions; samples: in how many. raw: the share on which they say the same, with its interval. kappa: Cohen's,
    with its interval; None values where it is undefined, and None for grades. apart: how far grades lie apart on
    average, None for verdicts. table: how often the judge said the one and people the other, (judge, people, times).
    """

    kind: str
    n: int
    samples: int
    raw: Interval
    kappa: Interval | None
    apart: float | None
    table: tuple[tuple[str, str, int], ...]


def agreements(pairs: Sequence[Pair]) -> list[Agreement]:
    """The agreement on each kind of question.

    Samples are the clusters of the intervals, since the questions of one sample are not independent. Where the judge
    tells support from its absence and no more, people's labels are read in the same way.
    """
    kinds = dict.fromkeys(kind(pair.question) for pair in pairs)
    return [_agreement(name, [pair for pair in pairs if kind(pair.question) == name]) for name in kinds]


def _agreement(name: str, pairs: Sequence[Pair]) -> Agreement:
    said = _said(pairs)
    clusters = [str(pair.sample) for pair in pairs]
    grades = [
        abs(pair.judge.value - pair.people.value)
        for pair in pairs
        if isinstance(pair.judge, Grade) and isinstance(pair.people, Grade)
    ]
    return Agreement(
        kind=name,
        n=len(pairs),
        samples=len(set(clusters)),
        raw=mean_interval([float(judge == people) for judge, people in said], clusters=clusters),
        kappa=None if grades else kappa_interval(said, _sayable(pairs), clusters=clusters),
        apart=sum(grades) / len(grades) if grades else None,
        table=tuple((judge, people, times) for (judge, people), times in sorted(Counter(said).items())),
    )


def _sayable(pairs: Sequence[Pair]) -> tuple[Label, ...]:
    """All that the judge can say of questions of one kind."""
    if not isinstance(pairs[0].question, Entail):
        return _YES_NO
    return _TWO_WAY if any(isinstance(pair.judge, Verdict) and pair.judge.two_way for pair in pairs) else _THREE_WAY


def _said(pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    """The two answers to each question in a word."""
    two_way = _sayable(pairs) == _TWO_WAY
    return [(_word(pair.judge, two_way), _word(pair.people, two_way)) for pair in pairs]


def _word(answer: Answer, two_way: bool) -> str:
    if isinstance(answer, Grade):
        return f"{answer.value:g}"
    assert isinstance(answer, Verdict)
    if two_way and answer.label is not Label.ENTAILED:
        return Label.NOT_ENTAILED
    # A person who knows no more than that support is missing has not said that something is contradicted.
    return Label.NEUTRAL if answer.label is Label.NOT_ENTAILED else answer.label
