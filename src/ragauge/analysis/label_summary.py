"""What people's labels come to for a metric, and how far judge and people agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ragauge.questions import Entail, Question, kind
from ragauge.scores import Better, Estimate
from ragauge.statistics.agreement import corrected_mean, kappa_interval
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.types import Answer, Grade, Label, Verdict

_THREE_WAY = (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)
_TWO_WAY = (Label.ENTAILED, Label.NOT_ENTAILED)
_YES_NO = (Label.YES, Label.NO)


class LabelPair(NamedTuple):
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


def agreements(pairs: Sequence[LabelPair]) -> list[Agreement]:
    """The agreement on each kind of question.

    Samples are the clusters of the intervals, since the questions of one sample are not independent. Where the judge
    tells support from its absence and no more, people's labels are read in the same way.
    """
    kinds = dict.fromkeys(kind(pair.question) for pair in pairs)
    return [_agreement(name, [pair for pair in pairs if kind(pair.question) == name]) for name in kinds]


def _agreement(name: str, pairs: Sequence[LabelPair]) -> Agreement:
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


def _sayable(pairs: Sequence[LabelPair]) -> tuple[Label, ...]:
    """All that the judge can say of questions of one kind."""
    if not isinstance(pairs[0].question, Entail):
        return _YES_NO
    return _TWO_WAY if any(isinstance(pair.judge, Verdict) and pair.judge.two_way for pair in pairs) else _THREE_WAY


def _said(pairs: Sequence[LabelPair]) -> list[tuple[str, str]]:
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


class LabelSummary(msgspec.Struct, frozen=True):
    """A metric as the judge scores it, and as people's labels correct it; the two are never mixed.

    judge: the mean of the judge's scores over the samples that have one. corrected: what people would give all of them,
    by the samples that were drawn at random and answered in full; its ends are None where there is none.
    samples: how many the judge scored. labelled: in how many people labelled something, for whatever reason.
    drawn: how many chance drew and people answered in full; counted: those of them with a score by both.
    agreement: of judge and people on what was drawn at random, by kind of question.
    """

    better: Better
    judge: Interval
    corrected: Interval
    samples: int
    labelled: int
    drawn: int
    counted: int
    agreement: tuple[Agreement, ...]


def label_summary(
    estimate: Estimate,
    scale: tuple[float, float],
    by_judge: Sequence[float | None],
    by_people: Mapping[int, float],
    groups: Sequence[str | None],
    labelled: int,
    drawn: int,
    agreement: Sequence[Agreement],
    peopled: bool,
) -> LabelSummary:
    """by_judge: the judge's score of each sample, None for none. by_people: people's, of those drawn, by position.

    estimate: of the run, which is the judge's unless the run was `peopled`: made with people's labels.
    """
    scores = {at: value for at, value in enumerate(by_judge) if value is not None}
    rest = [at for at in scores if at not in by_people]
    corrected = corrected_mean(
        list(by_people.values()),
        [scores[at] for at in by_people],
        [scores[at] for at in rest],
        scale=scale,
        clusters=_clusters(by_people, groups),
        rest_clusters=_clusters(rest, groups),
    )
    judge = Interval(estimate.value, estimate.low, estimate.high, estimate.method)
    if peopled:
        judge = mean_interval(list(scores.values()), scale=scale, clusters=_clusters(scores, groups))
    return LabelSummary(
        estimate.better, judge, corrected, len(scores), labelled, drawn, len(by_people), tuple(agreement)
    )


def _clusters(positions: Mapping[int, float] | Sequence[int], groups: Sequence[str | None]) -> list[str | None] | None:
    found = [groups[at] for at in positions]
    return found if any(group is not None for group in found) else None
