"""How well a judge's answers agree with people's labels: AUC, balanced accuracy, and intervals by resampling groups.

Labels are 0 or 1, probabilities any real numbers of which more means rather 1. Undefined figures are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ragauge.statistics.ranks import average_ranks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Statistic = Callable[["Array", "Array"], float | None]


def auc(labels: Sequence[float] | Array, scores: Sequence[float] | Array) -> float | None:
    """Area under the receiver operating characteristic: the chance that a 1 scores above a 0, ties counting half.

    None unless both labels occur.
    """
    import numpy as np

    truth, values = np.asarray(labels, dtype=float), np.asarray(scores, dtype=float)
    ones = int(truth.sum())
    zeros = truth.size - ones
    if not ones or not zeros:
        return None
    ranks = average_ranks(values)
    return float((ranks[truth == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def balanced_accuracy(labels: Sequence[float] | Array, said: Sequence[float] | Array) -> float | None:
    """Mean of the shares of 1s called 1 and of 0s called 0. None unless both labels occur."""
    import numpy as np

    truth, answers = np.asarray(labels, dtype=float), np.asarray(said, dtype=float)
    if not truth.sum() or truth.sum() == truth.size:
        return None
    return float((answers[truth == 1].mean() + (1 - answers[truth == 0]).mean()) / 2)


def group_interval(
    labels: Sequence[float],
    scores: Sequence[float],
    groups: Sequence[Hashable],
    statistic: Statistic = auc,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float] | None:
    """95 % percentile interval of `statistic(labels, scores)` from resampling whole groups with replacement.

    Rows of one group (the same question or text) are not independent, so groups are drawn, not rows. Resamples in which
    the statistic is undefined are left out; None where it is undefined in all.
    """
    import numpy as np

    truth, values = np.asarray(labels, dtype=float), np.asarray(scores, dtype=float)
    members = _members(groups)
    random = np.random.default_rng(seed)
    found: list[float] = []
    for _ in range(resamples if members else 0):
        rows = np.concatenate([members[at] for at in random.integers(len(members), size=len(members))])
        value = statistic(truth[rows], values[rows])
        if value is not None:
            found.append(value)
    if not found:
        return None
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def _members(groups: Sequence[Hashable]) -> list[Any]:
    """The rows of each group, in the order in which groups first occur."""
    import numpy as np

    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return [np.array(members) for members in rows.values()]
