"""The mean of a bounded score with an interval that holds for few samples and for equal scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, fsum, isfinite, log, log1p, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ragauge.errors import BadParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: The name of each sample's cluster; a sample of None stands alone. None for the whole: all stand alone.
Clusters: TypeAlias = Sequence[str | None] | None


def sums_by_cluster(rows: NDArray[np.float64], clusters: Clusters) -> NDArray[np.float64]:
    """The sums of `rows` (samples x columns) within each cluster; `rows` itself where there are no clusters."""
    import numpy as np

    if clusters is None:
        return rows
    places: dict[str | int, int] = {}
    place_of = [places.setdefault(at if name is None else name, len(places)) for at, name in enumerate(clusters)]
    sums = np.zeros((len(places), rows.shape[1]))
    np.add.at(sums, place_of, rows)
    return sums


#: How far rounding may carry a value beyond its scale, as a share of the scale.
ROUNDING = 1e-9


def check_scale(scale: tuple[float, float]) -> None:
    """Raise BadParameter unless `scale` is two finite numbers in order."""
    low, high = scale
    if not (isfinite(low) and isfinite(high) and low < high):
        raise BadParameter(f"scale={scale!r} must be two finite numbers, the lower first")


def check_confidence(confidence: float) -> None:
    """Raise BadParameter unless 0.5 <= confidence < 1."""
    if not 0.5 <= confidence < 1:
        raise BadParameter(f"confidence={confidence!r} must be at least 0.5 and below 1, such as 0.95")


def check_resamples(resamples: int) -> None:
    """Raise BadParameter unless `resamples` is at least 1."""
    if resamples < 1:
        raise BadParameter(f"resamples={resamples!r} must be at least 1, and is 2000 by default")


def check_clusters(clusters: Clusters, samples: int) -> None:
    """Raise BadParameter unless there is a cluster for each sample."""
    if clusters is not None and len(clusters) != samples:
        raise BadParameter(f"{len(clusters)} clusters for {samples} samples; give one for each sample")


def on_scale(value: float | None, scale: tuple[float, float]) -> bool:
    """Is `value` a number on the scale, rounding aside?"""
    low, high = scale
    slack = ROUNDING * (high - low)
    return value is not None and low - slack <= value <= high + slack


def on_unit_scale(values: Sequence[float], scale: tuple[float, float]) -> NDArray[np.float64]:
    """`values` moved from `scale` to 0..1. Raises BadParameter for the first that is not a number on the scale."""
    import numpy as np

    low, high = scale
    unit = (np.asarray(values, dtype=float) - low) / (high - low)
    outside = np.flatnonzero(~((unit >= -ROUNDING) & (unit <= 1 + ROUNDING)))
    if outside.size:
        where = int(outside[0])
        raise BadParameter(
            f"values[{where}] = {values[where]!r} is not on the scale {scale!r}; pass the metric's scale"
        )
    return unit.clip(0, 1)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

#: A root is found when the function there, or the bracket around it, is this small.
TOLERANCE = 1e-12


def low_quantile(points: Array, shapes: Array, z: float) -> float:
    """The quantile of the weighted mean of `points` at the normal tail probability of -z, for z of 0.6 or more.

    shapes: the Gamma shapes of the weights. Shape one is an exponential weight, and k equal points of shape one are one
    point of shape k. The tail is Barndorff-Nielsen's r* (Biometrika 73, 1986), a saddlepoint approximation: with yes/no
    points, where the exact quantile is that of a Beta distribution, it lies at most 0.003 below and 0.0002 above it.
    """
    floor, reach = float(points.min()), float(points.max() - points.min())
    if reach == 0:
        return floor
    heights = (points - floor) / reach
    spread = sqrt(shapes @ (heights - shapes @ heights / shapes.sum()) ** 2)
    tilt = _rising_root(lambda log_tilt: _tail(heights, shapes, exp(log_tilt))[0] - z, log(z / spread))
    return floor + reach * _tail(heights, shapes, exp(tilt))[1]


def _tail(heights: Array, shapes: Array, tilt: float) -> tuple[float, float]:
    """How deep in the lower tail, in normal deviations, the mean under `tilt` lies, and that mean.

    A sum Σ Gammaᵢ (xᵢ - t) is negative exactly when the weighted mean is below t. Its saddlepoint equation, which is
    also that of the empirical likelihood, has t in closed form once the tilt is given, so t is not searched for.
    """
    import numpy as np

    stretch = 1 + tilt * heights
    weights = shapes / stretch
    mean = float(weights @ heights / weights.sum())
    deviance = 2 * float(shapes @ np.log(stretch) - shapes.sum() * log1p(tilt * mean))
    curvature = float(shapes @ ((heights - mean) / stretch) ** 2)
    root = sqrt(deviance)
    return root + log(tilt * sqrt(curvature) / root) / root, mean


def _rising_root(function: Callable[[float], float], start: float) -> float:
    """Where a rising function crosses zero: a bracket grown from `start`, closed by false position.

    An end that is kept twice has its height halved (the Illinois rule; Dowell & Jarratt, BIT 11, 1971).
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


class Interval(msgspec.Struct, frozen=True):
    """An estimated value and the ends of its interval, all three None where it is undefined; `method` names how."""

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
    """The mean of `values`, and an interval made to cover the true mean with a probability of at least `confidence`.

    values: one score a sample, on `scale`. clusters: the name of each sample's cluster where samples are not
    independent (None for a sample that stands alone); clusters are then what is drawn by chance, while the mean is
    still the mean over samples. confidence: at least 0.5, below 1.

    The ends are Gaffke's bounds (Gaffke 2005; Learned-Miller & Thomas, arXiv:1905.06208): quantiles of the randomly
    weighted mean of the samples and one more, which has the lowest score of the scale for the low end and the highest
    for the high end. On yes/no scores they are the Clopper-Pearson limits. Coverage: docs/statistics.md.

    Raises BadParameter for a value off the scale, a wrong number of clusters, or a confidence out of range.
    """
    check_scale(scale)
    check_confidence(confidence)
    check_clusters(clusters, len(values))
    method = "Gaffke" if clusters is None else "Gaffke over clusters"
    if not len(values):
        return Interval(None, None, None, method)
    units = _units(on_unit_scale(values, scale), clusters)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = scale
    mean = min(max(fsum(values) / len(values), low), high)
    below, above = (high - low) * _low_end(units, z), (high - low) * _low_end(1 - units, z)
    return Interval(mean, min(low + below, mean), max(high - above, mean), method)


def _units(unit_values: NDArray[np.float64], clusters: Clusters) -> NDArray[np.float64]:
    """What is drawn independently: the values, or of each cluster the mean plus its scaled residual.

    The residual of a cluster is the sum over its samples of value less mean, divided by the average cluster size: the
    usual linearisation of a ratio, which leaves the mean as it is and makes large clusters count for more.
    """
    import numpy as np

    if clusters is None:
        return unit_values
    sums = sums_by_cluster(np.column_stack([unit_values, np.ones_like(unit_values)]), clusters)
    totals, sizes = sums.T
    mean = totals.sum() / sizes.sum()
    return np.asarray(mean + (totals - mean * sizes) / sizes.mean())


def _low_end(units: NDArray[np.float64], z: float) -> float:
    """The lower bound of the mean: a low quantile of the randomly weighted mean of `units` and one more at 0."""
    import numpy as np

    points, counts = np.unique(np.append(units, 0.0), return_counts=True)
    return max(0.0, low_quantile(points, counts.astype(float), z))
