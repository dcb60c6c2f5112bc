"""One value of one metric in two runs: what lies between, over the samples where both have it."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import TypeAlias, TypeVar

from ragauge.comparison.outcome import Difference, Missing
from ragauge.comparison.pairing import Cell
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.scores import Better, Scale
from ragauge.statistics.intervals import Clusters
from ragauge.statistics.paired import detectable, paired_aggregate, paired_mean

T = TypeVar("T")

#: Values that lie no further apart count as equal.
EQUAL = 1e-9

#: What each sample has in the first run and in the second.
Cells: TypeAlias = Sequence[tuple[Cell, Cell]]


def difference(cells: Cells, groups: Clusters, measure: Measure | None, better: Better) -> Difference:
    """The difference of one value, its p-values not yet adjusted. measure: None for a metric of one's own."""
    missing = _missing(cells, groups)
    if isinstance(measure, DatasetMetric):
        return _over_data(cells, groups, measure, missing)
    return _over_samples(cells, groups, measure, better, missing)


def _over_samples(
    cells: Cells, groups: Clusters, measure: Measure | None, better: Better, missing: Missing
) -> Difference:
    firsts, seconds, clusters = _both(cells, groups, float)
    apart = [other - one for one, other in zip(firsts, seconds, strict=True)]
    low, high = measure.scale if measure else _span(firsts + seconds)
    found = paired_mean(apart, scale=(low - high, high - low), clusters=clusters)
    wins, losses = (sum(sign * one > EQUAL for one in apart) for sign in ((1, -1) if better == "higher" else (-1, 1)))
    return Difference(
        a=_mean(firsts),
        b=_mean(seconds),
        difference=found.interval.value,
        low=found.interval.low,
        high=found.interval.high,
        method=found.interval.method,
        p=found.p,
        better=better,
        n=len(apart),
        wins=wins,
        ties=len(apart) - wins - losses,
        losses=losses,
        detectable=detectable(apart, clusters=clusters),
        missing=missing,
    )


def _over_data(cells: Cells, groups: Clusters, measure: DatasetMetric, missing: Missing) -> Difference:
    firsts, seconds, clusters = _both(cells, groups, tuple)
    found = paired_aggregate(firsts, seconds, measure.total, scale=measure.scale, clusters=clusters)
    return Difference(
        a=_total(measure, firsts),
        b=_total(measure, seconds),
        difference=found.interval.value,
        low=found.interval.low,
        high=found.interval.high,
        method=found.interval.method,
        p=found.p,
        better=measure.better,
        n=len(firsts),
        missing=missing,
    )


def _both(cells: Cells, groups: Clusters, kind: type[T]) -> tuple[list[T], list[T], Clusters]:
    """What both runs have where both have a number, or numbers; and the groups of those samples."""
    there = [
        (at, one, other) for at, (one, other) in enumerate(cells) if isinstance(one, kind) and isinstance(other, kind)
    ]
    clusters = None if groups is None else [groups[at] for at, _, _ in there]
    return [one for _, one, _ in there], [other for _, _, other in there], clusters


def _missing(cells: Cells, groups: Clusters) -> Missing:
    """The samples without a value in either run, and whether one is undefined more often."""
    counts = {
        f"{why}_{name}": sum(pair[at] == why for pair in cells)
        for why in ("undefined", "failed")
        for at, name in enumerate("ab")
    }
    apart = [float((other == "undefined") - (one == "undefined")) for one, other in cells]
    return Missing(**counts, p=paired_mean(apart, clusters=groups).p if any(apart) else None)


def _span(values: Sequence[float]) -> Scale:
    """The scale of a metric that only its author knows: from 0 to 1, or as far as its values go."""
    return min(0.0, *values), max(1.0, *values)


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None


def _total(measure: DatasetMetric, counts: Sequence[Sequence[float]]) -> float | None:
    return measure.total([fsum(column) for column in zip(*counts, strict=True)]) if counts else None
