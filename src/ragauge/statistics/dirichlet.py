"""The random weighted mean Σ Dᵢ xᵢ / Σ Dᵢ, where each weight Dᵢ is drawn from a Gamma distribution: its quantiles."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, log1p, sqrt
from typing import TYPE_CHECKING, TypeAlias

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
