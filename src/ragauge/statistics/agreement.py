"""How well a judge's answers agree with people's labels: AUC, balanced accuracy, and intervals by resampling groups.

Labels are 0 or 1, probabilities any real numbers of which more means rather 1. Undefined figures are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from ragauge.errors import BadParameter
from ragauge.statistics.intervals import Interval
from ragauge.statistics.paired import FEWEST, Paired
from ragauge.statistics.ranks import average_ranks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Statistic = Callable[["Array", "Array"], float | None]

#: How intervals by resampling groups are made.
METHOD = "bootstrap of groups"

_FEWEST_RESAMPLES = 40  # of which one lies beyond each end of a 95 % interval


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
    found = _resampled(groups, lambda rows: statistic(truth[rows], values[rows]), resamples, seed)
    if not found:
        return None
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def group_difference(
    labels: Sequence[float],
    one: Sequence[float],
    other: Sequence[float],
    groups: Sequence[Hashable],
    statistic: Statistic = auc,
    resamples: int = 2000,
    seed: int = 0,
) -> Paired:
    """How much better `one` agrees with the labels than `other` does on the same rows, and whether by more than chance.

    The value is `statistic(labels, one) - statistic(labels, other)`. Whole groups are drawn with replacement, and both
    are worked out on what is drawn: the paired bootstrap (Efron and Tibshirani, "An Introduction to the Bootstrap",
    1993). p is twice the smaller share of differences on either side of 0, a tie on both, with 1 added to the count
    and to the resamples (Davison and Hinkley, "Bootstrap Methods and their Application", 1997), so that it is never
    below 2 / (resamples + 1). The 95 % interval is of percentiles, and leaves 0 out just where p < 0.05.

    With fewer than six groups p is 1 and the interval all of -1..1: too few to draw from. All None where the statistic
    is undefined. Raises BadParameter for fewer than 40 resamples, which have no such percentiles.
    """
    import numpy as np

    if resamples < _FEWEST_RESAMPLES:
        raise BadParameter(f"resamples={resamples!r} must be at least {_FEWEST_RESAMPLES}, and is 2000 by default")
    truth, a, b = (np.asarray(values, dtype=float) for values in (labels, one, other))

    def apart(rows: Any) -> float | None:
        of_one, of_other = statistic(truth[rows], a[rows]), statistic(truth[rows], b[rows])
        return None if of_one is None or of_other is None else of_one - of_other

    value = apart(np.arange(truth.size))
    if value is None:
        return Paired(Interval(None, None, None, METHOD), None)
    found = sorted(_resampled(groups, apart, resamples, seed)) if len(set(groups)) >= FEWEST else []
    if len(found) < _FEWEST_RESAMPLES:
        return Paired(Interval(value, -1.0, 1.0, METHOD), 1.0)
    tail = min(sum(one <= 0 for one in found), sum(one >= 0 for one in found))
    place = ceil((len(found) + 1) / _FEWEST_RESAMPLES) - 2
    ends = Interval(value, found[place], found[-1 - place], METHOD)
    return Paired(ends, min(1.0, 2 * (tail + 1) / (len(found) + 1)))


def _resampled(
    groups: Sequence[Hashable], value: Callable[[Any], float | None], resamples: int, seed: int
) -> list[float]:
    """`value` of the rows of groups drawn with replacement, for each resample in which it is defined."""
    import numpy as np

    members = _members(groups)
    random = np.random.default_rng(seed)
    found = []
    for _ in range(resamples if members else 0):
        rows = np.concatenate([members[at] for at in random.integers(len(members), size=len(members))])
        drawn = value(rows)
        if drawn is not None:
            found.append(drawn)
    return found


def _members(groups: Sequence[Hashable]) -> list[Any]:
    """The rows of each group, in the order in which groups first occur."""
    import numpy as np

    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return [np.array(members) for members in rows.values()]
