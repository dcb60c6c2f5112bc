"""A metric over the whole data set, which is a function of summed counts, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING

from ragauge.errors import BadParameter
from ragauge.statistics.intervals import (
    Clusters,
    Interval,
    check_clusters,
    check_confidence,
    check_resamples,
    check_scale,
    on_scale,
    sums_by_cluster,
)

#: From the sums of the counts to a metric's value, or None where it is undefined.
CountFunction = Callable[[Sequence[float]], float | None]

CountRow = tuple[float, ...]

#: 2¹⁶ candidates are tried at most.
MOST_COLUMNS = 16


def extreme_rows(
    sums: Sequence[float], size: float, value: CountFunction, scale: tuple[float, float]
) -> tuple[CountRow | None, CountRow | None]:
    """The rows of counts that, added to `sums`, lower and raise `value` most; None where there is no possible row.

    A row has 0 or `size` in each column and must be possible: taken alone it has a value on the scale. Hits without a
    total have none, so for (hits, total) the two rows are (0, size) and (size, size).
    Raises BadParameter for more than 16 columns.
    """
    if len(sums) > MOST_COLUMNS:
        raise BadParameter(f"{len(sums)} counts a sample; an interval can be made of {MOST_COLUMNS} at most")
    values: dict[CountRow, float] = {}
    for row in product((0.0, size), repeat=len(sums)):
        with_row = value([total + more for total, more in zip(sums, row, strict=True)])
        if on_scale(value(row), scale) and with_row is not None:
            values[row] = with_row
    return min(values, key=values.__getitem__, default=None), max(values, key=values.__getitem__, default=None)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Random weights drawn at a time, which bounds the memory to some 16 MB.
BLOCK = 2_000_000


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
    """`value` of the column sums of `counts`, with an interval by random weights on samples (or clusters).

    counts: one row a sample of at most 16 counts, none negative. value: from their sums to a number on `scale`, or None
    where it is undefined; it depends on the proportions of the counts alone, as a pooled share or an F1 does.
    clusters, confidence: as in `mean_interval`. seed, resamples: of the random weights. The same seed gives the same
    interval, in whatever order the samples come.

    The Bayesian bootstrap (Rubin, Annals of Statistics 9, 1981) with one sample more, as bad as can be for the low end
    and as good as can be for the high end: for a mean, the bounds of `mean_interval` but for the error of simulation.

    Raises BadParameter for counts that are negative, not numbers or not of one length, and for a value off the scale.
    """
    check_scale(scale)
    check_confidence(confidence)
    check_resamples(resamples)
    check_clusters(clusters, len(counts))
    method = "Bayesian bootstrap" if clusters is None else "Bayesian bootstrap over clusters"
    rows, times = _distinct(sums_by_cluster(count_rows(counts), clusters))
    sums = (times @ rows).tolist()
    whole = _value(value, sums, scale) if len(counts) else None
    if whole is None:
        return Interval(None, None, None, method)
    worst, best = extreme_rows(sums, _typical_size(rows, times), value, scale)
    resampled = _random_sums(rows, times, seed, resamples)
    low = _quantile(*resampled, worst, value, scale[0], (1 - confidence) / 2)
    high = _quantile(*resampled, best, value, scale[1], (1 + confidence) / 2)
    return Interval(whole, min(max(low, scale[0]), whole), max(min(high, scale[1]), whole), method)


def count_rows(counts: Sequence[Sequence[float]]) -> Array:
    """The counts as samples x columns. Raises BadParameter for those that are negative or not of one length."""
    import numpy as np

    width = len(counts[0]) if len(counts) else 1
    for at, row in enumerate(counts):
        if not 0 < len(row) == width:
            raise BadParameter(f"counts[{at}] has {len(row)} numbers, counts[0] has {width}; give each sample the same")
        if not all(isfinite(count) and count >= 0 for count in row):
            raise BadParameter(f"counts[{at}] = {tuple(row)!r}; counts are finite and not negative")
    return np.asarray(counts, dtype=float).reshape(len(counts), width)


def _value(value: CountFunction, sums: Sequence[float], scale: tuple[float, float]) -> float | None:
    """The value of the whole data set."""
    whole = value(sums)
    if whole is not None and not on_scale(whole, scale):
        raise BadParameter(f"value({sums}) is {whole!r}, which is not on the scale {scale!r}; pass the metric's scale")
    return whole


def _distinct(rows: Array) -> tuple[Array, Array]:
    """The distinct rows that count anything, in order, and how often each occurs."""
    import numpy as np

    distinct, times = np.unique(rows[rows.any(axis=1)], axis=0, return_counts=True)
    return distinct, times.astype(float)


def _typical_size(rows: Array, times: Array) -> float:
    """How much a sample counts on average, taken as its largest count; 1 where no sample counts anything."""
    return float(times @ rows.max(axis=1) / times.sum()) if len(rows) else 1.0


def _random_sums(rows: Array, times: Array, seed: int, resamples: int) -> tuple[Array, Array]:
    """For each resample the sums of the rows under random weights, and the weight of one row more.

    The weight of a row is exponential; k equal rows share one weight, which is Gamma of shape k.
    """
    import numpy as np

    chance = np.random.default_rng(seed)
    step = max(1, BLOCK // max(1, len(rows)))
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    sums = np.concatenate([chance.standard_gamma(times, (size, len(rows))) @ rows for size in sizes])
    return sums, chance.standard_exponential(resamples)


def _quantile(
    sums: Array, weights: Array, row: CountRow | None, value: CountFunction, undefined: float, level: float
) -> float:
    """The quantile of `value` over the resampled sums with `row` added under its weights.

    The end of the scale, `undefined`, stands for a value that is undefined, and for all where there is no such row.
    """
    import numpy as np

    if row is None:
        return undefined
    values = [value(drawn) for drawn in (sums + np.outer(weights, row)).tolist()]
    end = float(np.quantile([undefined if one is None else one for one in values], level))
    if not isfinite(end):
        raise BadParameter("value gave something that is not a finite number; return None where it is undefined")
    return end
