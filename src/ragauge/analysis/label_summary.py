"""The score of a metric corrected by human labels, and the agreement of judge and people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ragauge.questions import Entail, Question, kind
from ragauge.scores import Better
from ragauge.statistics.agreement import kappa_interval
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.types import Answer, Grade, Label, Verdict

_THREE_WAY = (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)
_TWO_WAY = (Label.ENTAILED, Label.NOT_ENTAILED)
_YES_NO = (Label.YES, Label.NO)


class LabelPair(NamedTuple):
    """The answers of judge and people to one question. sample: the position of its sample."""

    question: Question
    judge: Answer
    people: Answer
    sample: int


class Agreement(msgspec.Struct, frozen=True):
    """The agreement of judge and people on the questions of one kind that a metric asks.

    n: number of questions; samples: number of samples they come from. raw: raw agreement, the share of questions with
    the same answer, with its interval. kappa: Cohen's kappa with its interval; its value is None if undefined, and
    kappa itself is None for grades. apart: mean absolute difference of grades, None for verdicts. table: the confusion
    counts, as (judge's answer, people's answer, count).
    """

    kind: str
    n: int
    samples: int
    raw: Interval
    kappa: Interval | None
    apart: float | None
    table: tuple[tuple[str, str, int], ...]


def agreements(pairs: Sequence[LabelPair]) -> list[Agreement]:
    """The agreement on each kind of question.

    Samples are the clusters of the intervals, since the questions of one sample are not independent. If the judge is
    two-way (supported or not), people's labels are reduced to the same two.
    """
    kinds = dict.fromkeys(kind(pair.question) for pair in pairs)
    return [_agreement(name, [pair for pair in pairs if kind(pair.question) == name]) for name in kinds]


def _agreement(name: str, pairs: Sequence[LabelPair]) -> Agreement:
    possible = _possible_labels(pairs)
    two_way = possible == _TWO_WAY
    names = [(_label_name(pair.judge, two_way), _label_name(pair.people, two_way)) for pair in pairs]
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
        raw=mean_interval([float(judge == people) for judge, people in names], clusters=clusters),
        kappa=None if grades else kappa_interval(names, possible, clusters=clusters),
        apart=sum(grades) / len(grades) if grades else None,
        table=tuple((judge, people, times) for (judge, people), times in sorted(Counter(names).items())),
    )


def _possible_labels(pairs: Sequence[LabelPair]) -> tuple[Label, ...]:
    """The labels that the judge can give to questions of one kind."""
    if not isinstance(pairs[0].question, Entail):
        return _YES_NO
    return _TWO_WAY if any(isinstance(pair.judge, Verdict) and pair.judge.two_way for pair in pairs) else _THREE_WAY


def _label_name(answer: Answer, two_way: bool) -> str:
    if isinstance(answer, Grade):
        return f"{answer.value:g}"
    assert isinstance(answer, Verdict)
    if two_way and answer.label is not Label.ENTAILED:
        return Label.NOT_ENTAILED
    # A person who only saw that support is missing has not called the claim contradicted.
    return Label.NEUTRAL if answer.label is Label.NOT_ENTAILED else answer.label


class LabelSummary(msgspec.Struct, frozen=True):
    """The estimate of a metric by the judge alone, and corrected by human labels; the two are never mixed.

    judge: the mean of the judge's scores over the samples that have one. corrected: the estimated mean that people
    would give all of them, from the samples drawn at random and labelled in full; None values if there are none.
    samples: number of samples that the judge scored. labelled: number with any human label. drawn: number drawn at
    random and labelled in full; counted: those of them with a score by both.
    agreement: of judge and people on the samples drawn at random, by kind of question.
    """

    better: Better
    judge: Interval
    corrected: Interval
    samples: int
    labelled: int
    drawn: int
    counted: int
    agreement: tuple[Agreement, ...]
