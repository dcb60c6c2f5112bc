"""Estimates of metrics over the whole data set, which are functions of summed counts, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING

from ragauge.errors import BadParameter
from ragauge.host import LazyModule
from ragauge.statistics.intervals import (
    Clusters,
    Interval,
    check_parameters,
    on_scale,
    sums_by_cluster,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
else:
    np = LazyModule("numpy")

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
