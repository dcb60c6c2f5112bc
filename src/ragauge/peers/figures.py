"""Two systems' numbers for the same rows: means, their difference, and whether they put the rows in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from ragauge.peers.outcome import Figures
from ragauge.statistics.agreement import group_interval, spearman
from ragauge.statistics.intervals import Clusters, Interval
from ragauge.statistics.paired import paired_mean

Scale = tuple[float, float]

#: Two numbers within this share of the scale are taken as equal.
CLOSE = 0.05

#: From how many pairs on, and up to how many, a rank correlation has an interval: beyond, it is narrower than 0.05.
FEWEST, MOST = 10, 10_000

#: How far rounding may carry a peer's number beyond its scale.
ROUNDING = 1e-6


def figures(
    theirs: Sequence[float], ours: Sequence[float], clusters: Clusters, scale: Scale, of_theirs: Scale
) -> Figures:
    """The figures of pairs of numbers. scale: of ours; of_theirs: of theirs. clusters: as for `paired_mean`."""
    rank = spearman(theirs, ours)
    pairs = zip(theirs, ours, strict=True)
    return Figures(
        n=len(ours),
        mean_theirs=fsum(theirs) / len(theirs) if theirs else None,
        mean_ours=fsum(ours) / len(ours) if ours else None,
        difference=_difference(theirs, ours, clusters, scale, of_theirs),
        rank=rank,
        rank_interval=_rank_interval(theirs, ours, clusters) if rank is not None else None,
        close=sum(on(a, of_theirs) and abs(a - b) <= closeness(scale) for a, b in pairs),
    )


def closeness(scale: Scale) -> float:
    """Up to where two numbers on a scale are taken as equal."""
    return CLOSE * (scale[1] - scale[0])


def on(value: float, scale: Scale) -> bool:
    """Is a number on a scale, rounding aside?"""
    return scale[0] - ROUNDING <= value <= scale[1] + ROUNDING


def _difference(
    theirs: Sequence[float], ours: Sequence[float], clusters: Clusters, scale: Scale, of_theirs: Scale
) -> Interval | None:
    """The mean of ours - theirs with its interval; None where there are no pairs, or theirs are off their scale."""
    if not ours or not all(on(value, of_theirs) for value in theirs):
        return None
    widest = (scale[0] - of_theirs[1] - ROUNDING, scale[1] - of_theirs[0] + ROUNDING)
    apart = [b - a for a, b in zip(theirs, ours, strict=True)]
    return paired_mean(apart, scale=widest, clusters=clusters).interval


def _rank_interval(theirs: Sequence[float], ours: Sequence[float], clusters: Clusters) -> tuple[float, float] | None:
    if not FEWEST <= len(ours) <= MOST:
        return None
    groups = [at if name is None else name for at, name in enumerate(clusters or [None] * len(ours))]
    return group_interval(theirs, ours, groups, spearman, resamples=max(200, min(1000, 1_000_000 // len(ours))))
