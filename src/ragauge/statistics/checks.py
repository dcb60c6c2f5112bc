"""What the statistics accept: scales, confidences, clusters and finite numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from ragauge.errors import BadParameter
from ragauge.statistics.clusters import Clusters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
