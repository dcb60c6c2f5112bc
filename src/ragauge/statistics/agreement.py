"""How far two raters agree, and a judge's mean corrected by people's: AUC, kappa, rank correlation, intervals.

Labels are 0 or 1, probabilities any real numbers of which more means rather 1. Undefined figures are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations, product
from math import ceil, hypot
from typing import TYPE_CHECKING, Any, TypeVar

from ragauge.errors import BadParameter
from ragauge.statistics.aggregates import aggregate_interval
from ragauge.statistics.intervals import Clusters, Interval, mean_interval
from ragauge.statistics.paired import FEWEST, Paired

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def average_ranks(values: Array) -> Array:
    """The ranks of `values` from 1; equal values share the mean of their ranks."""
    import numpy as np

    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def spearman(one: Sequence[float] | Array, other: Sequence[float] | Array) -> float | None:
    """Spearman's rank correlation of pairs of values, in -1..1; ties share their ranks.

    None where either side has fewer than two different values, so that there is no order to compare.
    """
    import numpy as np

    ranks = [average_ranks(np.asarray(values, dtype=float)) for values in (one, other)]
    if any(not len(values) or values.min() == values.max() for values in ranks):
        return None
    a, b = (values - values.mean() for values in ranks)
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


RaterLabel = TypeVar("RaterLabel", bound=Hashable)


def kappa(patterns: Mapping[tuple[RaterLabel, ...], float]) -> float | None:
    """Cohen's kappa of two raters; of more, Conger's (Psychological Bulletin 88, 1980), its mean over pairs.

    patterns: what the raters said of one thing, in the order of the raters -> how many things they said it of, or what
    these weigh. Each rater keeps a base rate of its own, as is right for raters that are always the same.

    1: they always agree. 0: no more than their base rates bring about. None where nothing was rated, and where all
    raters gave one and the same label throughout, so that nothing tells agreement from habit.
    """
    total = sum(patterns.values())
    if not total:
        return None
    pairs = list(combinations(range(len(next(iter(patterns)))), 2))
    same = sum(count for said, count in patterns.items() for a, b in pairs if said[a] == said[b])
    habits = [_habit(patterns, rater) for rater in range(len(next(iter(patterns))))]
    chance = sum(count * habits[b].get(label, 0) for a, b in pairs for label, count in habits[a].items())
    possible = total * total * len(pairs)
    return (total * same - chance) / (possible - chance) if possible != chance else None


def _habit(patterns: Mapping[tuple[RaterLabel, ...], float], rater: int) -> dict[RaterLabel, float]:
    """How often a rater gave each label."""
    habit: dict[RaterLabel, float] = {}
    for said, count in patterns.items():
        habit[said[rater]] = habit.get(said[rater], 0) + count
    return habit


def kappa_interval(
    pairs: Sequence[tuple[RaterLabel, RaterLabel]], labels: Sequence[RaterLabel], *, clusters: Clusters = None
) -> Interval:
    """Cohen's kappa of two raters with its 95 % interval.

    pairs: what the two said of each thing. labels: all that can be said, four labels at most. clusters: as in
    `mean_interval`, such as the sample of each thing. The interval is that of `aggregate_interval` over the counts of
    the pairs: it has a width also where the raters always agree. All None where kappa is.
    """
    cells = list(product(labels, repeat=2))
    counts = [[float(pair == cell) for cell in cells] for pair in pairs]

    def value(sums: Sequence[float]) -> float | None:
        return kappa(dict(zip(cells, sums, strict=True)))

    return aggregate_interval(counts, value, scale=(-1.0, 1.0), clusters=clusters)


def corrected_mean(
    people: Sequence[float],
    judge: Sequence[float],
    rest: Sequence[float],
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    clusters: Clusters = None,
    rest_clusters: Clusters = None,
    confidence: float = 0.95,
) -> Interval:
    """The mean that people would give all samples: the judge's, plus the mean of people less judge on those drawn.

    people, judge: both scores of each drawn sample. rest: the judge's scores of the samples that were not drawn.
    clusters, rest_clusters: as in `mean_interval`, of the drawn samples and of the rest.

    This is the difference estimator of survey sampling (Särndal, Swensson, Wretman: Model Assisted Survey Sampling,
    1992), which as prediction-powered inference (Angelopoulos et al., Science 382, 2023; arXiv:2311.01453 with its
    weight λ) holds however bad the judge is. With λ the share of the rest among all it is mean(people - λ judge) +
    λ mean(rest), two parts from samples that are independent. Each has the interval of `mean_interval`; the ends of
    their sum are by Zou and Donner (Statistics in Medicine 27, 2008). The sum is kept on `scale`.

    Raises BadParameter for lists of different lengths, and for what `mean_interval` refuses.
    """
    if len(people) != len(judge):
        raise BadParameter(f"{len(people)} scores by people and {len(judge)} by the judge; give both for each sample")
    method = "difference estimator"
    if not people:
        return Interval(None, None, None, method)
    low, high = scale
    share = len(rest) / (len(people) + len(rest))
    differences = [one - share * other for one, other in zip(people, judge, strict=True)]
    spread = (low - share * high, high - share * low)
    drawn = _part(mean_interval(differences, scale=spread, clusters=clusters, confidence=confidence))
    others = _part(mean_interval(rest, scale=scale, clusters=rest_clusters, confidence=confidence), share)
    value = drawn[0] + others[0]
    below, above = hypot(drawn[1], others[1]), hypot(drawn[2], others[2])
    kept, lowest, highest = (min(max(one, low), high) for one in (value, value - below, value + above))
    return Interval(kept, lowest, highest, method)


def _part(interval: Interval, weight: float = 1.0) -> tuple[float, float, float]:
    """A weighted mean, and how far its interval reaches below and above it; nothing where there is no sample."""
    if interval.value is None or interval.low is None or interval.high is None:
        return 0.0, 0.0, 0.0
    return weight * interval.value, weight * (interval.value - interval.low), weight * (interval.high - interval.value)
