"""The mean of a bounded score, with an interval that also holds for few samples and for equal scores."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from statistics import NormalDist
from typing import TYPE_CHECKING

import msgspec

from ragauge.statistics.checks import check_clusters, check_confidence, check_scale, on_unit_scale
from ragauge.statistics.clusters import Clusters, sums_by_cluster
from ragauge.statistics.dirichlet import low_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
