"""Intervals of the mean of a bounded score, and of metrics that are functions of summed counts."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import product, repeat
from math import exp, fsum, hypot, isfinite, log, log1p, sqrt
from statistics import NormalDist
from typing import Any, TypeAlias

import msgspec

from ragauge.arrays import Array, NDArray, np
from ragauge.errors import BadParameter

#: The cluster of each sample, None for a sample of its own; or None if all samples are independent.
Clusters: TypeAlias = Sequence[str | None] | None

#: How far rounding may carry a value beyond its scale, as a share of the scale.
ROUNDING = 1e-9
#: The root search stops when the function or the bracket is this small.
TOLERANCE = 1e-12


class Interval(msgspec.Struct, frozen=True):
    """An estimate and the ends of its interval, all None where undefined, and the method."""

    value: float | None
    low: float | None
    high: float | None
    method: str

    @property
    def numbers(self) -> tuple[float, float, float] | None:
        """The estimate, the lower and the upper end; None where it is undefined."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return self.value, self.low, self.high


#: The distinct rows, and clusters, up to which a summary is exact.
EXACT = 100_000
#: Beyond that: the steps that a scale is divided into, and the number of larger clusters that clusters are joined to.
STEPS = 1 << 16
#: How many numbers a summary collects before it sorts them into its tables, or as many as these hold.
BUFFER = 4096


class Summary:
    """The sufficient statistics of the scores or counts of samples, from which estimates and intervals are made.

    It holds the distinct rows with their multiplicity, and the sums of each cluster. Merging is associative and
    commutative, and gives what adding all samples to one summary gives; sums are equal up to rounding. Beyond EXACT
    distinct scores, rows of counts, or clusters, its size is bounded, with the errors in docs/statistics.md: scores are
    rounded to STEPS steps of their scale; sums and products of counts are kept, and resampled sums are normal; clusters
    are joined at random to STEPS larger ones. The value stays exact.

    scale: the lowest and highest score, where a row is one score; None where it is a row of counts.
    """

    def __init__(self, scale: tuple[float, float] | None) -> None:
        self.scale = scale
        self.n, self.clustered = 0, False
        self._width = 1
        self._rows, self._times = np.empty((0, 1)), np.empty((0, 1))
        self._keys, self._sums = np.empty((0, 1), np.uint64), np.empty((0, 2))
        self._moments: Array = np.zeros(1)
        self.terms: list[float] = []  # numbers whose sum is exactly that of the scores
        self._rounded = self.joined = False
        self._new, self._new_sums, self._new_keys = array("d"), array("d"), array("Q")

    def add(self, row: Sequence[float], cluster: str | None = None) -> None:
        """Add the score, or the counts, of one sample; `cluster` is None for a sample of its own."""
        if self.n and len(row) != self._width:
            raise BadParameter(f"a sample has {len(row)} counts, others have {self._width}; give each sample the same")
        self.n, self._width = self.n + 1, len(row)
        if cluster is None:
            self._new.extend(row)
        else:
            self.clustered = True
            self._new_keys.append(_cluster_key(cluster))
            self._new_sums.extend((*row, 1.0))
        if len(self._new) + len(self._new_sums) >= max(BUFFER, self._rows.size, self._sums.size):
            self.tables()

    @classmethod
    def of(cls, rows: Iterable[Sequence[float]], clusters: Clusters, scale: tuple[float, float] | None) -> Summary:
        """The summary of rows; `clusters` has the cluster of each, if they are not independent."""
        summary = cls(scale)
        for row, cluster in zip(rows, clusters or repeat(None), strict=False):
            summary.add(row, cluster)
        summary.clustered = clusters is not None
        return summary

    def merge(self, other: Summary) -> None:
        """Add the samples of another summary."""
        if not other.n:
            return
        self.tables()
        rows, times, keys, sums = other.tables()
        self.n, self._width, self.clustered = self.n + other.n, other._width, self.clustered or other.clustered
        self._rounded, self.joined = self._rounded or other._rounded, self.joined or other.joined
        self._moments = self._moments + other._moments
        self._insert(rows, times, keys, sums, other.terms)

    def state(self) -> list[Any]:
        """All it holds, as plain numbers and lists of them, for `restored`."""
        tables = [table.tolist() for table in (*self.tables(), self._moments)]
        return [self.scale, self.n, self.clustered, self._width, self._rounded, self.joined, self.terms, *tables]

    @classmethod
    def restored(cls, state: Sequence[Any]) -> Summary:
        """A summary from its `state`."""
        scale, *plain, rows, times, keys, sums, moments = state
        summary = cls(scale and (scale[0], scale[1]))
        summary.n, summary.clustered, width, summary._rounded, summary.joined, summary.terms = plain
        summary._width = width
        summary._rows, summary._times = np.array(rows).reshape(-1, width), np.array(times).reshape(-1, 1)
        summary._keys = np.array(keys, np.uint64).reshape(-1, 1)
        summary._sums, summary._moments = np.array(sums).reshape(-1, width + 1), np.array(moments)
        return summary

    def tables(self) -> tuple[Array, Array, NDArray[np.uint64], Array]:
        """The distinct rows, their multiplicity, the keys of clusters, and their sums with their number of samples."""
        if self._new or self._new_keys:
            rows = np.array(self._new).reshape(-1, self._width)
            keys = np.array(self._new_keys, np.uint64).reshape(-1, 1)
            sums = np.array(self._new_sums).reshape(-1, self._width + 1)
            self._insert(rows, np.ones((len(rows), 1)), keys, sums, (*self._new, *self._new_sums[::2]))
            self._new, self._new_sums, self._new_keys = array("d"), array("d"), array("Q")
        return self._rows, self._times, self._keys, self._sums

    def _insert(
        self, rows: Array, times: Array, keys: NDArray[np.uint64], sums: Array, scores: Sequence[float]
    ) -> None:
        if self.scale:
            rest, self.terms = [*self.terms, *scores], []
            while total := fsum(rest):
                self.terms.append(total)
                rest.append(-total)
        self._rows = self._rows.reshape(-1, self._width)
        self._sums = self._sums.reshape(-1, self._width + 1)
        self._rows, self._times = _grouped((self._rows, rows), (self._times, times))
        self._keys, self._sums = _grouped((self._keys, keys), (self._sums, sums))
        if self.joined or len(self._keys) > EXACT:
            self.joined = True
            self._keys, self._sums = _grouped((self._keys % STEPS,), (self._sums,))
        if self._rounded or len(self._rows) > EXACT:
            self._rounded = True
            if self.scale:
                step = (self.scale[1] - self.scale[0]) / STEPS
                on_grid = self.scale[0] + np.rint((self._rows - self.scale[0]) / step) * step
                self._rows, self._times = _grouped((on_grid,), (self._times,))
            else:
                weighted = self._times * self._rows
                largest = self._times[:, 0] @ self._rows.max(axis=1) if len(self._rows) else 0.0
                products = (self._rows.T @ weighted).ravel()
                units = self._times[self._rows.any(axis=1)].sum()
                self._moments = self._moments + np.concatenate([[units, largest], weighted.sum(axis=0), products])
                self._rows, self._times = self._rows[:0], self._times[:0]

    def moments(self) -> tuple[float, float, Array, Array]:
        """Of rows of counts, but zeros, in no table: their number, and sums of the largest count, counts, products."""
        self.tables()
        width = self._width
        units, largest, *sums = self._moments if len(self._moments) > 1 else np.zeros(2 + width + width**2)
        return units, largest, np.array(sums[:width]), np.array(sums[width:]).reshape(width, width)


@lru_cache(maxsize=1 << 14)
def _cluster_key(name: str) -> int:
    return int.from_bytes(blake2b(str(name).encode(errors="surrogatepass"), digest_size=8).digest(), "big")


def _grouped(keys: Sequence[Any], values: Sequence[Array]) -> tuple[Any, Array]:
    """The distinct rows of `keys`, sorted, and for each the sum of its `values`."""
    together = np.concatenate(keys)
    distinct, index = np.unique(together[:, 0] if together.shape[1] == 1 else together, axis=0, return_inverse=True)
    summed = np.concatenate(values)
    sums = np.zeros((len(distinct), summed.shape[1]))
    np.add.at(sums, index.ravel(), summed)
    return distinct.reshape(len(distinct), together.shape[1]), sums


def mean_interval(
    values: Sequence[float],
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    clusters: Clusters = None,
    confidence: float = 0.95,
) -> Interval:
    """The mean of a bounded score, with an interval that covers the true mean with at least `confidence`.

    The ends are Gaffke's bounds (Gaffke 2005; Learned-Miller & Thomas, arXiv:1905.06208): quantiles of the randomly
    weighted mean of the samples and one more with the lowest, or the highest, value of the `scale`. On yes/no scores
    they are the Clopper-Pearson limits. Coverage: docs/statistics.md.

    Args:
        values: a score of each sample.
        scale: the lowest and the highest value that a score can have.
        clusters: of each sample, None for one of its own; clusters are then the units of sampling. A cluster counts as
            the mean plus its residual, the sum over its samples of value minus mean, divided by the mean cluster size:
            the usual linearisation of a ratio. The added cluster has their root mean square size.
        confidence: at least 0.5 and below 1.

    Returns:
        The mean with both ends; all are None without samples.

    Raises:
        BadParameter: A value is off the scale or no number, or the arguments do not fit each other.
    """
    check_parameters(len(values), clusters, confidence, scale)
    on_unit_scale(values, scale)
    return interval_of_mean(Summary.of(zip(map(float, values), strict=True), clusters, scale), confidence)


def interval_of_mean(summary: Summary, confidence: float = 0.95) -> Interval:
    """What `mean_interval` returns, from a summary of scores."""
    assert summary.scale is not None
    low, high = summary.scale
    check_parameters(0, None, confidence, summary.scale)
    method = "Gaffke over clusters" if summary.clustered else "Gaffke"
    if not summary.n:
        return Interval(None, None, None, method)
    rows, times_of_rows, _, sums = summary.tables()
    units, times = on_unit_scale(rows[:, 0].tolist(), summary.scale), times_of_rows[:, 0]
    worst = best = 0.0
    if len(sums):  # the unit of a cluster is the mean plus its scaled residual; see `mean_interval`
        sizes = np.append(np.ones(len(units)), sums[:, 1])
        totals = np.append(units, (sums[:, 0] - low * sums[:, 1]) / (high - low))
        times = np.append(times, np.ones(len(sums)))
        ratio = float(times @ totals / (times @ sizes))
        units = ratio + (totals - ratio * sizes) * times.sum() / (times @ sizes)
        added_size = float(sqrt((times @ sizes**2) * times.sum()) / (times @ sizes))
        worst, best = ratio * (1 - added_size), (1 - ratio) * (1 - added_size)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    mean = min(max(fsum(summary.terms) / summary.n, low), high)
    inwards = []
    for values, added in ((units, worst), (1 - units, best)):
        points, counts = _grouped((np.append(values, added)[:, None],), (np.append(times, 1.0)[:, None],))
        inwards.append((high - low) * max(0.0, low_quantile(points[:, 0], counts[:, 0], z)))
    return Interval(mean, min(low + inwards[0], mean), max(high - inwards[1], mean), method)


def difference_interval(first: Interval, second: Interval) -> Interval:
    """The first minus the second of two independent estimates, with an interval of the confidence of theirs.

    It recovers the variances from the ends of the two intervals (Zou and Donner, Statistics in Medicine 27, 2008; of
    proportions Newcombe 1998). All are None where an estimate has no value.
    """
    method = "from two intervals"
    if first.numbers is None or second.numbers is None:
        return Interval(None, None, None, method)
    (a, a_low, a_high), (b, b_low, b_high) = first.numbers, second.numbers
    return Interval(a - b, a - b - hypot(a - a_low, b_high - b), a - b + hypot(a_high - a, b - b_low), method)


def sampling_units(clusters: Clusters, samples: int) -> list[str | int]:
    """What each of so many samples is drawn with: its cluster, or itself, by its position, where it has none."""
    return [position if name is None else name for position, name in enumerate(clusters or [None] * samples)]


def sums_by_cluster(rows: Array, clusters: Clusters) -> Array:
    """The sums of `rows` (samples x columns) within each cluster; `rows` itself without clusters."""
    if clusters is None:
        return rows
    indices: dict[str | int, int] = {}
    index_of = [indices.setdefault(unit, len(indices)) for unit in sampling_units(clusters, len(rows))]
    sums = np.zeros((len(indices), rows.shape[1]))
    np.add.at(sums, index_of, rows)
    return sums


#: The largest number that is computed with; the sum of many of them is a number too.
LARGEST = 1e300


def check_parameters(
    samples: int, clusters: Clusters, confidence: float = 0.95, scale: tuple[float, float] = (0, 1), resamples: int = 1
) -> None:
    """Raise BadParameter for a parameter that is out of range."""
    low, high = scale
    if not -LARGEST <= low < high <= LARGEST:
        raise BadParameter(f"scale={scale!r} must be two finite numbers, the lower first, of {LARGEST:g} at most")
    if not 0.5 <= confidence < 1:
        raise BadParameter(f"confidence={confidence!r} must be at least 0.5 and below 1, such as 0.95")
    if resamples < 1:
        raise BadParameter(f"resamples={resamples!r} must be at least 1, and is 2000 by default")
    if clusters is not None and len(clusters) != samples:
        raise BadParameter(f"{len(clusters)} clusters for {samples} samples; give one for each sample")


def on_scale(value: float | None, scale: tuple[float, float]) -> bool:
    """Whether `value` is a number on the scale, up to rounding."""
    low, high = scale
    slack = ROUNDING * (high - low)
    return value is not None and low - slack <= value <= high + slack


def on_unit_scale(values: Sequence[float], scale: tuple[float, float]) -> Array:
    """`values` mapped from `scale` to 0..1. Raises BadParameter for the first that is not on the scale."""
    low, high = scale
    unit = (np.asarray(values, dtype=float) - low) / (high - low)
    outside = np.flatnonzero(~((unit >= -ROUNDING) & (unit <= 1 + ROUNDING)))
    if outside.size:
        i = int(outside[0])
        raise BadParameter(f"values[{i}] = {values[i]!r} is not on the scale {scale!r}; pass the metric's scale")
    return unit.clip(0, 1)


def low_quantile(points: Array, shapes: Array, z: float) -> float:
    """The quantile of the randomly weighted mean of `points` at the normal tail probability of -z, z at least 0.6.

    By Barndorff-Nielsen's r* (Biometrika 73, 1986), a saddlepoint approximation; for yes/no points at most 0.003 below
    and 0.0002 above the exact quantile. shapes: the Gamma shapes of the weights; k stands for k equal points.
    """
    lowest, width = float(points.min()), float(points.max() - points.min())
    if width == 0:
        return lowest
    heights = (points - lowest) / width
    spread = sqrt(shapes @ (heights - shapes @ heights / shapes.sum()) ** 2)
    tilt = _rising_root(lambda log_tilt: _tail(heights, shapes, exp(log_tilt))[0] - z, log(z / spread))
    return lowest + width * _tail(heights, shapes, exp(tilt))[1]


def _tail(heights: Array, shapes: Array, tilt: float) -> tuple[float, float]:
    """The position of the tilted mean in the lower tail, in normal deviations, and that mean.

    A sum Σ Gammaᵢ (xᵢ - t) is negative exactly when the weighted mean is below t. Its saddlepoint equation, which is
    also that of the empirical likelihood, gives t in closed form for a given tilt, so t need not be searched.
    """
    stretch = 1 + tilt * heights
    weights = shapes / stretch
    mean = float(weights @ heights / weights.sum())
    deviance = 2 * float(shapes @ np.log(stretch) - shapes.sum() * log1p(tilt * mean))
    curvature = float(shapes @ ((heights - mean) / stretch) ** 2)
    root = sqrt(deviance)
    return root + log(tilt * sqrt(curvature) / root) / root, mean


def _rising_root(function: Callable[[float], float], start: float) -> float:
    """The root of an increasing function by false position, Illinois rule (Dowell & Jarratt, BIT 11, 1971)."""
    kept, at_kept = start, function(start)
    step = -1.0 if at_kept > 0 else 1.0
    moved, at_moved = start + step, function(start + step)
    while at_kept * at_moved > 0:
        kept, at_kept, moved = moved, at_moved, moved + step
        at_moved = function(moved)
    while abs(moved - kept) > TOLERANCE and abs(at_moved) > TOLERANCE:
        middle = moved - at_moved * (moved - kept) / (at_moved - at_kept)
        at_middle = function(middle)
        if at_middle * at_moved < 0:
            kept, at_kept = moved, at_moved
        else:
            at_kept /= 2
        moved, at_moved = middle, at_middle
    return moved


#: From the sums of the counts to a metric's value, or None where it is undefined.
CountFunction = Callable[[Sequence[float]], float | None]

CountRow = tuple[float, ...]

#: From the sums of the counts and the size of a row to the rows that lower and raise a value most; see `extreme_rows`.
ExtremeRows = Callable[[Sequence[float], float], tuple[CountRow | None, CountRow | None]]

#: The most counts per sample; up to 2¹⁶ candidate rows are tried.
MAX_COLUMNS = 16
#: Random weights drawn at a time, which bounds memory to about 16 MB.
BLOCK_SIZE = 2_000_000


def aggregate_interval(
    counts: Sequence[Sequence[float]],
    value: CountFunction,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    clusters: Clusters = None,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """A function of summed counts, with an interval by the Bayesian bootstrap over samples (or clusters).

    The Bayesian bootstrap (Rubin, Annals of Statistics 9, 1981) with one additional sample, the worst possible for the
    low end and the best possible for the high end; for a mean, the bounds of `mean_interval` up to simulation error.

    The order of the samples does not matter.

    Args:
        counts: a row of at most 16 counts for each sample.
        value: from the column sums to a number on `scale`, or None where undefined, and then all is; it depends only
            on the proportions of the counts, as a pooled share or an F1 does.
        scale: the lowest and the highest number that `value` can return.
        clusters, confidence: as in `mean_interval`.
        resamples: how many random weightings.

    Returns:
        The value of the summed counts with both ends.

    Raises:
        BadParameter: As `mean_interval`.
    """
    check_parameters(len(counts), clusters, confidence, scale, resamples)
    summary = Summary.of(count_rows(counts).tolist(), clusters, None)
    return interval_of_aggregate(summary, value, scale=scale, confidence=confidence, resamples=resamples)


def interval_of_aggregate(
    summary: Summary,
    value: CountFunction,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    resamples: int = 2000,
    extremes: ExtremeRows | None = None,
) -> Interval:
    """What `aggregate_interval` returns, from a summary of counts. extremes: in place of `extreme_rows`."""
    check_parameters(0, None, confidence, scale, resamples)
    method = "Bayesian bootstrap over clusters" if summary.clustered else "Bayesian bootstrap"
    if not summary.n:
        return Interval(None, None, None, method)
    singles, times_of_singles, _, clusters = summary.tables()
    rows, times = _grouped((singles, clusters[:, :-1]), (times_of_singles, np.ones((len(clusters), 1))))
    multiplicity = times[:, 0][rows.any(axis=1)]
    rows = rows[rows.any(axis=1)]
    if not ((rows >= 0) & (rows <= LARGEST)).all():
        raise BadParameter(f"a sample has negative or infinite counts; counts are from 0 to {LARGEST:g}")
    units, largest, moved, products = summary.moments()
    sums = (multiplicity @ rows + moved).tolist()
    total = value(sums)
    if total is None:
        return Interval(None, None, None, method)
    if not on_scale(total, scale):
        raise BadParameter(f"value({sums}) is {total!r}, which is not on the scale {scale!r}; pass the metric's scale")
    units += multiplicity.sum()
    size = float((multiplicity @ rows.max(axis=1, initial=0.0) + largest) / units) if units else 1.0
    worst, best = extremes(sums, size) if extremes else extreme_rows(sums, size, value, scale)
    resampled, weights = random_sums(rows, multiplicity, resamples)
    if products.any():
        random = np.random.default_rng(1)
        resampled = (resampled + random.multivariate_normal(moved, products, resamples)).clip(0)
    low = _quantile(resampled, weights, worst, value, scale[0], (1 - confidence) / 2)
    high = _quantile(resampled, weights, best, value, scale[1], (1 + confidence) / 2)
    return Interval(total, min(max(low, scale[0]), total), max(min(high, scale[1]), total), method)


def interval_of_groups(summary: Summary, value: CountFunction, *, confidence: float = 0.95) -> tuple[Interval, int]:
    """The mean over the clusters of a function of each one's summed counts, and how many samples these have.

    value: to a number from 0 to 1; None leaves the cluster out, as samples of their own are. Of more than EXACT
    clusters nothing is known, since a summary joins them.
    """
    clusters = summary.tables()[3].tolist()  # which may join them
    apart = [] if summary.joined else clusters
    values = [(number, size) for *sums, size in apart if (number := value(sums)) is not None]
    mean = interval_of_mean(Summary.of([(number,) for number, _ in values], None, (0.0, 1.0)), confidence)
    return msgspec.structs.replace(mean, method="Gaffke over clusters"), round(sum(size for _, size in values))


def extreme_rows(
    sums: Sequence[float], size: float, value: CountFunction, scale: tuple[float, float]
) -> tuple[CountRow | None, CountRow | None]:
    """The rows of counts that, added to `sums`, lower and raise `value` most; None where no row is valid.

    A row has 0 or `size` in each column, and alone has a value on the scale; for (hits, total) they are (0, size) and
    (size, size). Raises BadParameter for more than 16 columns.
    """
    if len(sums) > MAX_COLUMNS:
        raise BadParameter(f"{len(sums)} counts per sample; an interval takes at most {MAX_COLUMNS}")
    values: dict[CountRow, float] = {}
    for row in product((0.0, size), repeat=len(sums)):
        with_row = value([total + added for total, added in zip(sums, row, strict=True)])
        if on_scale(value(row), scale) and with_row is not None:
            values[row] = with_row
    return min(values, key=values.__getitem__, default=None), max(values, key=values.__getitem__, default=None)


def count_rows(counts: Sequence[Sequence[float]]) -> Array:
    """The counts as an array of samples x columns. Raises BadParameter if negative or not of one length."""
    width = len(counts[0]) if len(counts) else 1
    for i, row in enumerate(counts):
        if not 0 < len(row) == width:
            raise BadParameter(f"counts[{i}] has {len(row)} numbers, counts[0] has {width}; give each sample the same")
        if not all(isfinite(count) and count >= 0 for count in row):
            raise BadParameter(f"counts[{i}] = {tuple(row)!r}; counts are finite and not negative")
    return np.asarray(counts, dtype=float).reshape(len(counts), width)


def random_sums(rows: Array, multiplicity: Array, resamples: int) -> tuple[Array, Array]:
    """Per resample, the sums of the rows under random weights, and the weight of an additional row.

    The weight of a row is exponential; k equal rows share one weight, which is Gamma of shape k.
    """
    random = np.random.default_rng(0)
    step = max(1, BLOCK_SIZE // max(1, len(rows)))
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    sums = np.concatenate([random.standard_gamma(multiplicity, (size, len(rows))) @ rows for size in sizes])
    return sums, random.standard_exponential(resamples)


def _quantile(
    sums: Array, weights: Array, row: CountRow | None, value: CountFunction, undefined: float, level: float
) -> float:
    """The quantile of `value` over the resampled sums with the weighted `row` added; `undefined` stands for None."""
    if row is None:
        return undefined
    values = [value(resampled) for resampled in (sums + np.outer(weights, row)).tolist()]
    end = float(np.quantile([undefined if value is None else value for value in values], level))
    if not isfinite(end):
        raise BadParameter("value returned something other than a finite number; return None where it is undefined")
    return end
