"""Kappa: how far raters agree beyond what their own habits would bring about."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations, product
from typing import TypeVar

from ragauge.statistics.aggregates import aggregate_interval
from ragauge.statistics.clusters import Clusters
from ragauge.statistics.intervals import Interval

Label = TypeVar("Label", bound=Hashable)


def kappa(patterns: Mapping[tuple[Label, ...], float]) -> float | None:
    """Cohen's kappa of two raters; of more, Conger's (Psychological Bulletin 88, 1980), its mean over pairs.

    patterns: what the raters said of one thing, in the order of the raters -> how many things they said it of, or what
    these weigh. Each rater keeps a base rate of its own, as is right for raters that are always the same.

    1: they always agree. 0: no more than their base rates bring about. None where nothing was rated, and where all
    raters gave one and the same label throughout, so that nothing tells agreement from habit.
    """
    total = sum(patterns.values())
    if not total:
        return None
    pairs = list(combinations(range(len(next(iter(patterns)))), 2))
    same = sum(count for said, count in patterns.items() for a, b in pairs if said[a] == said[b])
    habits = [_habit(patterns, rater) for rater in range(len(next(iter(patterns))))]
    chance = sum(count * habits[b].get(label, 0) for a, b in pairs for label, count in habits[a].items())
    possible = total * total * len(pairs)
    return (total * same - chance) / (possible - chance) if possible != chance else None


def _habit(patterns: Mapping[tuple[Label, ...], float], rater: int) -> dict[Label, float]:
    """How often a rater gave each label."""
    habit: dict[Label, float] = {}
    for said, count in patterns.items():
        habit[said[rater]] = habit.get(said[rater], 0) + count
    return habit


def kappa_interval(
    pairs: Sequence[tuple[Label, Label]], labels: Sequence[Label], *, clusters: Clusters = None
) -> Interval:
    """Cohen's kappa of two raters with its 95 % interval.

    pairs: what the two said of each thing. labels: all that can be said, four labels at most. clusters: as in
    `mean_interval`, such as the sample of each thing. The interval is that of `aggregate_interval` over the counts of
    the pairs: it has a width also where the raters always agree. All None where kappa is.
    """
    cells = list(product(labels, repeat=2))
    counts = [[float(pair == cell) for cell in cells] for pair in pairs]

    def value(sums: Sequence[float]) -> float | None:
        return kappa(dict(zip(cells, sums, strict=True)))

    return aggregate_interval(counts, value, scale=(-1.0, 1.0), clusters=clusters)
