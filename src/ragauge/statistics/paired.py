"""Two systems on the same samples: is the difference between them more than chance?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite, nan, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import msgspec

from ragauge.statistics.aggregates import CountFunction, aggregate_interval, count_rows
from ragauge.statistics.intervals import (
    Clusters,
    Interval,
    check_clusters,
    check_confidence,
    check_resamples,
    check_scale,
    mean_interval,
    on_unit_scale,
    sums_by_cluster,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: So many rows or fewer are divided in every way, which is 8192 ways; more of them at random.
ALL_WAYS = 13

#: What is left of a sum when all of it is taken away again is no more than this share of it.
HALVES_ROUNDING = 1e-12

#: Random members drawn at a time, few enough for a processor's cache.
BLOCK = 200_000


def halves(rows: Array, seed: int, resamples: int) -> tuple[Array, Array]:
    """The sums of `rows` (units x columns) over the one side and the other, for each way to divide the units.

    Each unit goes to either side with equal chance. All ways are taken for up to 13 units; otherwise `resamples` random
    ones, and the way that leaves one side empty. The order of the rows makes no difference.
    """
    import numpy as np

    total = rows.sum(axis=0)
    if len(rows) <= ALL_WAYS:
        ways = np.arange(2 ** len(rows))
        one = (ways[:, None] >> np.arange(len(rows)) & 1) @ rows
    else:
        one = np.concatenate([total[None], *_random(rows, np.random.default_rng(seed), resamples)])
    other = total - one
    other[np.abs(other) <= HALVES_ROUNDING * np.abs(total)] = 0
    return one, other


def _random(rows: Array, chance: np.random.Generator, resamples: int) -> Iterator[Array]:
    """The sums over one side of random ways, in blocks. Of k equal rows a binomial number falls on it."""
    import numpy as np

    distinct, times = np.unique(rows, axis=0, return_counts=True)
    alone, several = distinct[times == 1], distinct[times > 1]
    step = max(1, BLOCK // len(distinct))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        of_several = chance.binomial(times[times > 1], 0.5, (size, len(several)))
        yield _coins(chance, size, len(alone)) @ alone + of_several @ several


def _coins(chance: np.random.Generator, height: int, width: int) -> Array:
    """Zeros and ones by chance."""
    import numpy as np

    drawn = np.frombuffer(chance.bytes(-(-height * width // 8)), dtype=np.uint8)
    return np.unpackbits(drawn, count=height * width).reshape(height, width).astype(np.float64)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: How far rounding may carry a difference, as a share of the scale.
ROUNDING = 1e-9

#: Where fewer samples or clusters differ, no test by signs can come to p < 0.05.
FEWEST = 6


class Paired(msgspec.Struct, frozen=True):
    """A difference: its value and interval, and the two-sided p-value of there being none; None where undefined."""

    interval: Interval
    p: float | None


def paired_mean(
    differences: Sequence[float],
    *,
    scale: tuple[float, float] = (-1.0, 1.0),
    clusters: Clusters = None,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
) -> Paired:
    """The mean of paired differences, and whether it is more than chance.

    differences: one a sample, on `scale`, which is twice as wide as the metric's. clusters: as in `mean_interval`; the
    samples of one stay together.

    The samples (or clusters) are divided in two in every way, or from 14 on in `resamples` random ways. p is the share
    of ways in which 0 lies between the means of the two parts. This is the test by signs, which swaps the two systems
    on one part and asks whether they then lie as far apart (Fisher, "The Design of Experiments", 1935); on differences
    of -1, 0 and 1 it is McNemar's exact test. The interval holds what the test does not reject: its ends are quantiles
    of the means of the parts (Hartigan, JASA 64, 1969), and 0 lies outside of it where p < 1 - `confidence`.

    Where fewer samples differ than the test needs to reject anything, which is six at 95 %, and where all differ by the
    same, the interval is that of `mean_interval`, which supposes nothing of how differences are spread.

    Raises BadParameter for a difference off the scale, a wrong number of clusters, or a confidence out of range.
    """
    import numpy as np

    check_scale(scale)
    check_confidence(confidence)
    check_resamples(resamples)
    check_clusters(clusters, len(differences))
    on_unit_scale(differences, scale)
    if not len(differences):
        return Paired(Interval(None, None, None, _method(clusters)), None)
    rows = sums_by_cluster(np.column_stack([differences, np.ones(len(differences))]), clusters)
    means = [_means(sums) for sums in halves(rows, seed, resamples)]
    spans = _Spans(float(rows[:, 0].sum() / rows[:, 1].sum()), means, scale)
    found = spans.interval(1 - confidence, np.abs(rows[:, 0]) > spans.slack, _method(clusters))
    wide = found or mean_interval(differences, scale=scale, clusters=clusters, confidence=confidence)
    return Paired(spans.holding(wide, 1 - confidence), spans.p)


def paired_aggregate(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    value: CountFunction,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    clusters: Clusters = None,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
) -> Paired:
    """The second less the first value of a metric over the data set, and whether it is more than chance.

    first, second: the counts of each sample in two runs, at most 8 each; value, scale, clusters: as in
    `aggregate_interval`. p and interval are those of `paired_mean`, with the difference of the two values on a part in
    place of the part's mean; a part on which one is undefined could have any. Where fewer samples differ than the test
    needs, and where every part has the same difference, the interval is that of `aggregate_interval`.

    Not a permutation test, which swaps the counts of samples: that supposes systems that are alike in all but chance,
    and where one makes more claims than the other it rejects too often; see docs/compare.md.

    Raises BadParameter for counts that are negative, not numbers or not of one length.
    """
    check_scale(scale)
    check_confidence(confidence)
    check_resamples(resamples)
    check_clusters(clusters, len(first))
    width = len(first[0]) if len(first) else 1
    both = [(*one, *other) for one, other in zip(first, second, strict=True)]
    wide = (scale[0] - scale[1], scale[1] - scale[0])

    def apart(sums: Sequence[float]) -> float | None:
        one, other = value(sums[:width]), value(sums[width:])
        return None if one is None or other is None else other - one

    rows = sums_by_cluster(count_rows(both), clusters)
    difference = apart(rows.sum(axis=0).tolist()) if len(both) else None
    if difference is None:
        return Paired(Interval(None, None, None, _method(clusters)), None)
    spans = _Spans(difference, [_each(apart, sums) for sums in halves(rows, seed, resamples)], wide)
    differ = (rows[:, :width] != rows[:, width:]).any(axis=1)
    found = spans.interval(1 - confidence, differ, _method(clusters)) or aggregate_interval(
        both, apart, scale=wide, clusters=clusters, confidence=confidence, seed=seed
    )
    return Paired(spans.holding(found, 1 - confidence), spans.p)


def _means(sums: Array) -> Array:
    """The means of parts from their sums of differences and of samples, NaN for an empty part."""
    import numpy as np

    means = np.full(len(sums), nan)
    np.divide(sums[:, 0], sums[:, 1], out=means, where=sums[:, 1] > 0)
    return means


def _each(value: CountFunction, sums: Array) -> Array:
    """A value of each row of sums, NaN where it is undefined."""
    import numpy as np

    found = (value(row) for row in sums.tolist())
    return np.array([nan if one is None else one for one in found])


def _method(clusters: Clusters) -> str:
    return "halves" if clusters is None else "halves of clusters"


class _Spans:
    """A difference, and for each way to divide the samples from which to which difference the two parts reach.

    They reach anywhere where a part has no difference, such as one without samples.
    """

    def __init__(self, value: float, parts: Sequence[Array], scale: tuple[float, float]) -> None:
        import numpy as np

        self.value, self.scale = value, scale
        self.slack = ROUNDING * (scale[1] - scale[0])
        lows, highs = np.minimum(*parts), np.maximum(*parts)
        self._lows = np.where(np.isnan(lows), -inf, np.minimum(lows, value))
        self._highs = np.where(np.isnan(highs), inf, np.maximum(highs, value))

    @property
    def p(self) -> float:
        """The share of ways in which 0 lies between the parts."""
        return float(((self._lows <= self.slack) & (self._highs >= -self.slack)).mean())

    def interval(self, level: float, differ: NDArray[np.bool_], method: str) -> Interval | None:
        """The differences that lie between the parts in more than a share of `level` of the ways.

        differ: which of the samples or clusters do. None where nothing else could be told, or where there is no width.
        """
        import numpy as np

        if 2.0 ** (1 - np.count_nonzero(differ)) >= level:
            return None
        rank = int(level * len(self._lows))
        low = float(np.partition(self._lows, rank)[rank])
        high = -float(np.partition(-self._highs, rank)[rank])
        if not (isfinite(low) and isfinite(high) and high - low > self.slack):
            return None
        return Interval(self.value, max(low, self.scale[0]), min(high, self.scale[1]), method)

    def holding(self, interval: Interval, level: float) -> Interval:
        """The interval, widened to hold 0 where the test does not reject it."""
        if self.p < level or interval.low is None or interval.high is None:
            return interval
        return msgspec.structs.replace(interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0))


def detectable(
    differences: Sequence[float], *, clusters: Clusters = None, confidence: float = 0.95, power: float = 0.8
) -> float | None:
    """The smallest true difference that a comparison of this size would find with a probability of `power`.

    By the normal approximation, from the spread of `differences`. None where fewer than six samples (or clusters)
    differ, of which no test can tell, or all by the same, which has no spread.

    Raises BadParameter for a wrong number of clusters, or a confidence out of range.
    """
    import numpy as np

    check_confidence(confidence)
    check_clusters(clusters, len(differences))
    rows = sums_by_cluster(np.column_stack([differences, np.ones(len(differences))]), clusters)
    if np.count_nonzero(rows[:, 0]) < FEWEST:
        return None
    sums, sizes = rows.T
    residuals = sums - sums.sum() / sizes.sum() * sizes
    error = sqrt(float(residuals @ residuals) * len(rows) / (len(rows) - 1)) / float(sizes.sum())
    if error <= ROUNDING * float(np.abs(sums).max()):
        return None
    normal = NormalDist()
    return (normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(power)) * error


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """P-values adjusted so that the chance of a single false alarm among all of them is kept (Holm 1979)."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda one: one[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
