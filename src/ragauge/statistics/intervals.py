"""Intervals of the mean of a bounded score, and of metrics that are functions of summed counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import exp, fsum, isfinite, log, log1p, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ragauge.errors import BadParameter
from ragauge.host import LazyModule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
else:
    np = LazyModule("numpy")

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


def mean_interval(
    values: Sequence[float],
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    clusters: Clusters = None,
    confidence: float = 0.95,
) -> Interval:
    """The mean of a bounded score, with an interval that covers the true mean with at least `confidence`.

    The ends are Gaffke's bounds (Gaffke 2005; Learned-Miller & Thomas, arXiv:1905.06208): quantiles of the randomly
    weighted mean of the samples and an additional one, with the lowest value of the scale for the low end and the
    highest for the high end. On yes/no scores they are the Clopper-Pearson limits. Coverage: docs/statistics.md.

    Args:
        values: one score per sample, on `scale`.
        scale: the lowest and highest score.
        clusters: the cluster of each sample where samples are not independent, None for a sample of its own. Clusters
            are then the units of sampling, while the mean is still over samples.
        confidence: at least 0.5 and below 1.

    Returns:
        The mean and its interval, all None without samples.

    Raises:
        BadParameter: a value off the scale, a wrong number of clusters, or a confidence out of range.
    """
    check_parameters(len(values), clusters, confidence, scale)
    method = "Gaffke" if clusters is None else "Gaffke over clusters"
    if not len(values):
        return Interval(None, None, None, method)
    units = _units(on_unit_scale(values, scale), clusters)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = scale
    mean = min(max(fsum(values) / len(values), low), high)
    below, above = (high - low) * _low_end(units, z), (high - low) * _low_end(1 - units, z)
    return Interval(mean, min(low + below, mean), max(high - above, mean), method)


def _units(unit_values: Array, clusters: Clusters) -> Array:
    """The independent units: the values, or per cluster the mean plus its scaled residual.

    The residual of a cluster is the sum over its samples of value minus mean, divided by the mean cluster size: the
    usual linearisation of a ratio, which preserves the mean and gives large clusters more weight.
    """
    if clusters is None:
        return unit_values
    sums = sums_by_cluster(np.column_stack([unit_values, np.ones_like(unit_values)]), clusters)
    totals, sizes = sums.T
    mean = totals.sum() / sizes.sum()
    return np.asarray(mean + (totals - mean * sizes) / sizes.mean())


def _low_end(units: Array, z: float) -> float:
    """The lower bound of the mean: a low quantile of the randomly weighted mean of `units` and an additional 0."""
    points, counts = np.unique(np.append(units, 0.0), return_counts=True)
    return max(0.0, low_quantile(points, counts.astype(float), z))


def sums_by_cluster(rows: Array, clusters: Clusters) -> Array:
    """The sums of `rows` (samples x columns) within each cluster; `rows` itself without clusters."""
    if clusters is None:
        return rows
    indices: dict[str | int, int] = {}
    index_of = [indices.setdefault(i if name is None else name, len(indices)) for i, name in enumerate(clusters)]
    sums = np.zeros((len(indices), rows.shape[1]))
    np.add.at(sums, index_of, rows)
    return sums


def check_parameters(
    samples: int, clusters: Clusters, confidence: float, scale: tuple[float, float] = (0, 1), resamples: int = 1
) -> None:
    """Raise BadParameter for a parameter of an interval that is out of range."""
    low, high = scale
    if not (isfinite(low) and isfinite(high) and low < high):
        raise BadParameter(f"scale={scale!r} must be two finite numbers, the lower first")
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
    """The quantile of the randomly weighted mean of `points` at the normal tail probability of -z.

    By Barndorff-Nielsen's r* (Biometrika 73, 1986), a saddlepoint approximation; for yes/no points, where the exact
    quantile is that of a Beta distribution, it is at most 0.003 below and 0.0002 above that.

    Args:
        points: the values.
        shapes: the Gamma shapes of their weights; 1 is an exponential weight, k stands for k equal points.
        z: at least 0.6.
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
    """The root of an increasing function, bracketed from `start` and found by false position.

    The Illinois rule halves the value at an end that is kept twice (Dowell & Jarratt, BIT 11, 1971).
    """
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
    seed: int = 0,
    resamples: int = 2000,
) -> Interval:
    """A function of summed counts, with an interval by the Bayesian bootstrap over samples (or clusters).

    The Bayesian bootstrap (Rubin, Annals of Statistics 9, 1981) with one additional sample, the worst possible for the
    low end and the best possible for the high end; for a mean, the bounds of `mean_interval` up to simulation error.

    Args:
        counts: one row per sample of at most 16 counts, none negative.
        value: from the column sums to a number on `scale`, or None where undefined; it depends only on the proportions
            of the counts, as a pooled share or an F1 does.
        scale: the lowest and highest value.
        clusters, confidence: as in `mean_interval`.
        seed: of the random weights; the interval does not depend on the order of the samples.
        resamples: the number of random weightings.

    Returns:
        The value and its interval, all None where the value is undefined.

    Raises:
        BadParameter: counts that are negative, not finite or not of one length, or a value off the scale.
    """
    check_parameters(len(counts), clusters, confidence, scale, resamples)
    method = "Bayesian bootstrap" if clusters is None else "Bayesian bootstrap over clusters"
    sums_of_units = sums_by_cluster(count_rows(counts), clusters)
    rows, times = np.unique(sums_of_units[sums_of_units.any(axis=1)], axis=0, return_counts=True)
    multiplicity = times.astype(float)
    sums = (multiplicity @ rows).tolist()
    total = value(sums) if len(counts) else None
    if total is None:
        return Interval(None, None, None, method)
    if not on_scale(total, scale):
        raise BadParameter(f"value({sums}) is {total!r}, which is not on the scale {scale!r}; pass the metric's scale")
    size = float(multiplicity @ rows.max(axis=1) / multiplicity.sum()) if len(rows) else 1.0
    worst, best = extreme_rows(sums, size, value, scale)
    resampled = _random_sums(rows, multiplicity, seed, resamples)
    low = _quantile(*resampled, worst, value, scale[0], (1 - confidence) / 2)
    high = _quantile(*resampled, best, value, scale[1], (1 + confidence) / 2)
    return Interval(total, min(max(low, scale[0]), total), max(min(high, scale[1]), total), method)


def extreme_rows(
    sums: Sequence[float], size: float, value: CountFunction, scale: tuple[float, float]
) -> tuple[CountRow | None, CountRow | None]:
    """The rows of counts that, added to `sums`, lower and raise `value` most; None where no row is valid.

    A row has 0 or `size` in each column and is valid if it alone has a value on the scale. Hits without a total have
    none, so for (hits, total) the rows are (0, size) and (size, size). Raises BadParameter for more than 16 columns.
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


def _random_sums(rows: Array, multiplicity: Array, seed: int, resamples: int) -> tuple[Array, Array]:
    """Per resample, the sums of the rows under random weights, and the weight of an additional row.

    The weight of a row is exponential; k equal rows share one weight, which is Gamma of shape k.
    """
    random = np.random.default_rng(seed)
    step = max(1, BLOCK_SIZE // max(1, len(rows)))
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    sums = np.concatenate([random.standard_gamma(multiplicity, (size, len(rows))) @ rows for size in sizes])
    return sums, random.standard_exponential(resamples)


def _quantile(
    sums: Array, weights: Array, row: CountRow | None, value: CountFunction, undefined: float, level: float
) -> float:
    """The quantile of `value` over the resampled sums with the weighted `row` added.

    Undefined values, and all values where there is no such row, are replaced by `undefined`, an end of the scale.
    """
    if row is None:
        return undefined
    values = [value(resampled) for resampled in (sums + np.outer(weights, row)).tolist()]
    end = float(np.quantile([undefined if one is None else one for one in values], level))
    if not isfinite(end):
        raise BadParameter("value returned something other than a finite number; return None where it is undefined")
    return end
