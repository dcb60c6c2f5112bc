"""Votes: what several answers to one question come to.

A label counts where more than half of the votes have it. Where none has, the answer is what asserts least: NO, or
NEUTRAL (neither supported nor contradicted), or NOT_ENTAILED where a two-way vote leaves open which. So whoever says
that a text supports, contradicts, helps or carries a trait has to convince more than half; the order of the votes
plays no part; and support is found exactly where more than half find it, however many of them tell it two-way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import floor
from statistics import fmean, median

from ragauge.questions import Entail, Question, Rate
from ragauge.types import ChunkVerdict, Grade, Label, Verdict

_UNSUPPORTED = (Label.NEUTRAL, Label.CONTRADICTED)


def elected(votes: Sequence[Label]) -> Label:
    """The label that more than half of the votes have, or what asserts least."""
    label, count = Counter(votes).most_common(1)[0]
    if 2 * count > len(votes):
        return label
    if label in (Label.YES, Label.NO):
        return Label.NO
    return Label.NOT_ENTAILED if Label.NOT_ENTAILED in votes else Label.NEUTRAL


def verdict(question: Question, votes: Sequence[Verdict]) -> Verdict:
    """The verdict of all: the label voted for, each chunk's too, and the mean probability where all give one.

    span, rationale: of the first vote for that label that has them.
    """
    label = elected([vote.label for vote in votes])
    agreeing = [vote for vote in votes if _agrees(vote.label, label)]
    return Verdict(
        label,
        _mean([vote.probability for vote in votes]),
        _chunks(question, votes),
        next((vote.span for vote in agreeing if vote.span), None),
        next((vote.rationale for vote in agreeing if vote.rationale), None),
    )


def grade(question: Rate, votes: Sequence[Grade]) -> Grade:
    """The mean of the grades; on a scale of whole numbers the median, rounded down where it falls between two.

    rationale: of the vote nearest to that, the first of them.
    """
    values = [vote.value for vote in votes]
    value = float(floor(median(values))) if question.rubric.whole else _between(values)
    nearest = sorted((vote for vote in votes if vote.rationale), key=lambda vote: abs(vote.value - value))
    return Grade(value, nearest[0].rationale if nearest else None)


def as_told_by_all(patterns: Counter[tuple[Label, ...]]) -> Counter[tuple[Label, ...]]:
    """Votes in the labels that all can give: where one was two-way, all are supported or not."""
    if not any(Label.NOT_ENTAILED in votes for votes in patterns):
        return patterns
    told: Counter[tuple[Label, ...]] = Counter()
    for votes, count in patterns.items():
        told[tuple(Label.NOT_ENTAILED if vote in _UNSUPPORTED else vote for vote in votes)] += count
    return told


def _agrees(vote: Label, label: Label) -> bool:
    return vote == label or (label == Label.NOT_ENTAILED and vote in _UNSUPPORTED)


def _chunks(question: Question, votes: Sequence[Verdict]) -> tuple[ChunkVerdict, ...]:
    """What the votes come to chunk by chunk; of one chunk the whole verdict speaks where a vote has none for it."""
    if not isinstance(question, Entail) or not any(vote.chunks for vote in votes):
        return ()
    columns = zip(*(vote.chunks or (ChunkVerdict(vote.label, vote.probability),) for vote in votes), strict=True)
    return tuple(map(_chunk, columns))


def _chunk(votes: Sequence[ChunkVerdict]) -> ChunkVerdict:
    label = elected([vote.label for vote in votes])
    spans = (vote.span for vote in votes if vote.span and _agrees(vote.label, label))
    return ChunkVerdict(label, _mean([vote.probability for vote in votes]), next(spans, None))


def _mean(probabilities: Sequence[float | None]) -> float | None:
    given = [probability for probability in probabilities if probability is not None]
    return _between(given) if len(given) == len(probabilities) else None


def _between(values: Sequence[float]) -> float:
    """Their mean, which rounding must not carry out of their range."""
    return min(max(fmean(values), min(values)), max(values))
