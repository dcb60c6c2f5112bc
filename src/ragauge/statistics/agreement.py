"""Agreement of raters: AUC, kappa, rank correlation, their intervals, and a judge's mean corrected by human labels.

Labels are 0 or 1, scores any real numbers, higher for 1. Undefined values are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations, product
from math import ceil, hypot
from typing import Any, TypeVar

from ragauge.arrays import Array, np
from ragauge.errors import BadParameter
from ragauge.statistics.intervals import ROUNDING, Clusters, Interval, aggregate_interval, mean_interval
from ragauge.statistics.paired import MIN_DIFFERING, Paired

Statistic = Callable[[Sequence[float] | Array, Sequence[float] | Array], float | None]

#: The method of intervals by resampling groups.
METHOD = "bootstrap of groups"

RaterLabel = TypeVar("RaterLabel", bound=Hashable)
T = TypeVar("T")

_MIN_RESAMPLES = 40  # one of which lies beyond each end of a 95 % interval


def average_ranks(values: Array) -> Array:
    """The ranks of `values` from 1, ties averaged."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[index]
    return ranks


def spearman(first: Sequence[float] | Array, second: Sequence[float] | Array) -> float | None:
    """Spearman's rank correlation with averaged ranks for ties; None where either side has fewer than two values."""
    ranks = [average_ranks(np.asarray(values, dtype=float)) for values in (first, second)]
    if any(not len(values) or values.min() == values.max() for values in ranks):
        return None
    a, b = (values - values.mean() for values in ranks)
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


def auc(labels: Sequence[float] | Array, scores: Sequence[float] | Array) -> float | None:
    """Area under the ROC curve: P(a 1 scores above a 0), ties counting half. None unless both labels occur."""
    truth, values = np.asarray(labels, dtype=float), np.asarray(scores, dtype=float)
    ones = int(truth.sum())
    zeros = truth.size - ones
    if not ones or not zeros:
        return None
    ranks = average_ranks(values)
    return float((ranks[truth == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def balanced_accuracy(labels: Sequence[float] | Array, predictions: Sequence[float] | Array) -> float | None:
    """The mean of sensitivity and specificity. None unless both labels occur."""
    truth, predicted = np.asarray(labels, dtype=float), np.asarray(predictions, dtype=float)
    if not truth.sum() or truth.sum() == truth.size:
        return None
    return float((predicted[truth == 1].mean() + (1 - predicted[truth == 0]).mean()) / 2)


def calibration_error(labels: Sequence[float], probabilities: Sequence[float]) -> float | None:
    """Expected calibration error: the mean over tenths of probability, by rows, of what is said less what is true.

    Args:
        labels: 0 or 1.
        probabilities: of a 1, in 0..1, one for each label.

    Returns:
        In 0..1, 0 where each tenth is right as often as it says; None without rows.
    """
    truth, said = np.asarray(labels, dtype=float), np.asarray(probabilities, dtype=float)
    tenths = np.minimum((said * 10).astype(int), 9)
    gaps = (abs((said - truth)[tenths == tenth].sum()) for tenth in range(10))
    return float(sum(gaps) / truth.size) if truth.size else None


def best_threshold(labels: Sequence[float], probabilities: Sequence[float]) -> tuple[float, float] | None:
    """The probability from which calling a row 1 gives the best balanced accuracy.

    Args:
        labels: 0 or 1.
        probabilities: of a 1, in 0..1, one for each label.

    Returns:
        The lowest such probability among those given, and the balanced accuracy; None unless both labels occur.
    """
    truth, said = np.asarray(labels, dtype=float), np.asarray(probabilities, dtype=float)
    ones = truth.sum()
    if not ones or ones == truth.size:
        return None
    levels, level = np.unique(said, return_inverse=True)
    hits = np.bincount(level, weights=truth)[::-1].cumsum()[::-1] / ones
    wrong = np.bincount(level, weights=1 - truth)[::-1].cumsum()[::-1] / (truth.size - ones)
    balanced = (hits + 1 - wrong) / 2
    return float(levels[balanced.argmax()]), float(balanced.max())


def group_interval(
    labels: Sequence[float],
    scores: Sequence[float],
    groups: Sequence[Hashable],
    statistic: Statistic = auc,
    resamples: int = 1000,
) -> tuple[float, float] | None:
    """The 95 % percentile interval of `statistic(labels, scores)` by the bootstrap over groups of dependent rows.

    Resamples in which the statistic is undefined are skipped; None where it is undefined in all.
    """
    truth, values = np.asarray(labels, dtype=float), np.asarray(scores, dtype=float)
    drawn = resampled(groups, lambda rows: statistic(truth[rows], values[rows]), resamples)
    if not drawn:
        return None
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def group_difference(
    labels: Sequence[float],
    one: Sequence[float],
    other: Sequence[float],
    groups: Sequence[Hashable],
    statistic: Statistic = auc,
    resamples: int = 2000,
) -> Paired:
    """The paired difference `statistic(labels, one) - statistic(labels, other)`, with interval and p-value.

    By the paired bootstrap over groups (Efron and Tibshirani, 1993). p is twice the smaller share of differences on
    either side of 0, ties counted on both, with 1 added to the count and to the resamples (Davison and Hinkley, 1997).
    The 95 % percentile interval excludes 0 exactly where p < 0.05. With fewer than six groups p is 1 and the interval
    -1..1; all is None where the statistic is undefined. Raises BadParameter for fewer than 40 resamples.
    """
    if resamples < _MIN_RESAMPLES:
        raise BadParameter(f"resamples={resamples!r} must be at least {_MIN_RESAMPLES}, and is 2000 by default")
    truth, a, b = (np.asarray(values, dtype=float) for values in (labels, one, other))

    def difference(rows: Any) -> float | None:
        of_one, of_other = statistic(truth[rows], a[rows]), statistic(truth[rows], b[rows])
        return None if of_one is None or of_other is None else of_one - of_other

    value = difference(np.arange(truth.size))
    if value is None:
        return Paired(Interval(None, None, None, METHOD), None)
    drawn = sorted(resampled(groups, difference, resamples)) if len(set(groups)) >= MIN_DIFFERING else []
    if len(drawn) < _MIN_RESAMPLES:
        return Paired(Interval(value, -1.0, 1.0, METHOD), 1.0)
    tail = min(sum(resample <= 0 for resample in drawn), sum(resample >= 0 for resample in drawn))
    rank = ceil((len(drawn) + 1) / _MIN_RESAMPLES) - 2
    interval = Interval(value, drawn[rank], drawn[-1 - rank], METHOD)
    return Paired(interval, min(1.0, 2 * (tail + 1) / (len(drawn) + 1)))


def resampled(groups: Sequence[Hashable], value: Callable[[Any], T | None], resamples: int) -> list[T]:
    """The defined values of `value` on the rows of groups drawn with replacement."""
    rows_of: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows_of.setdefault(group, []).append(row)
    members = [np.array(rows) for rows in rows_of.values()]
    random = np.random.default_rng(0)
    values: list[T] = []
    for _ in range(resamples if members else 0):
        rows = np.concatenate([members[i] for i in random.integers(len(members), size=len(members))])
        drawn = value(rows)
        if drawn is not None:
            values.append(drawn)
    return values


def kappa(patterns: Mapping[tuple[RaterLabel, ...], float]) -> float | None:
    """Cohen's kappa of two raters; of more, Conger's (Psychological Bulletin 88, 1980), its mean over pairs.

    0 is the agreement expected from the raters' label frequencies. None where nothing was rated or all raters always
    gave the same label. patterns: by tuple of labels, one per rater, the number or weight of the items labelled so.
    """
    total = sum(patterns.values())
    if not total:
        return None
    raters = len(next(iter(patterns)))
    pairs = list(combinations(range(raters), 2))
    agreeing = sum(count for labels, count in patterns.items() for a, b in pairs if labels[a] == labels[b])
    frequencies: list[dict[RaterLabel, float]] = [{} for _ in range(raters)]
    for labels, count in patterns.items():
        for of_rater, label in zip(frequencies, labels, strict=True):
            of_rater[label] = of_rater.get(label, 0) + count
    chance = sum(count * frequencies[b].get(label, 0) for a, b in pairs for label, count in frequencies[a].items())
    possible = total * total * len(pairs)
    return (total * agreeing - chance) / (possible - chance) if possible != chance else None


def kappa_interval(
    pairs: Sequence[tuple[RaterLabel, RaterLabel]], labels: Sequence[RaterLabel], *, clusters: Clusters = None
) -> Interval:
    """Cohen's kappa of two raters with the interval of `aggregate_interval`, all None where kappa is.

    labels: all possible ones, at most four. clusters: such as the sample of each pair.
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
) -> Interval:
    """The mean human score of all samples: the judge's mean, corrected by human scores of a random subset.

    The difference estimator of survey sampling (Särndal, Swensson, Wretman, 1992), or prediction-powered inference
    (Angelopoulos et al., Science 382, 2023; arXiv:2311.01453 with its weight λ), valid for any judge. With λ the share
    of the rest among all samples it is mean(people - λ judge) + λ mean(rest), each with the interval of
    `mean_interval`; the ends of their sum are by Zou and Donner (Statistics in Medicine 27, 2008), clipped to `scale`.

    Args:
        people: people's score of each sample that was drawn for labelling.
        judge: the judge's score of each of these.
        rest: the judge's score of each other sample.
        scale: the lowest and the highest score.
        clusters: of the labelled samples, as in `mean_interval`.
        rest_clusters: of the others.

    Returns:
        The corrected mean with its interval; None without labels.

    Raises:
        BadParameter: The numbers of scores differ, or as `mean_interval`.
    """
    if len(people) != len(judge):
        raise BadParameter(f"{len(people)} scores by people and {len(judge)} by the judge; give both for each sample")
    method = "difference estimator"
    if not people:
        return Interval(None, None, None, method)
    low, high = scale
    share = len(rest) / (len(people) + len(rest))
    differences = [by_people - share * by_judge for by_people, by_judge in zip(people, judge, strict=True)]
    spread = (low - share * high, high - share * low)
    corrected = _term(mean_interval(differences, scale=spread, clusters=clusters))
    remaining = _term(mean_interval(rest, scale=scale, clusters=rest_clusters), share)
    value = corrected[0] + remaining[0]
    below, above = hypot(corrected[1], remaining[1]), hypot(corrected[2], remaining[2])
    clipped, lowest, highest = (min(max(bound, low), high) for bound in (value, value - below, value + above))
    return Interval(clipped, lowest, highest, method)


def corrected_share(share: Interval, sensitivity: Interval, specificity: Interval) -> Interval:
    """A share of positive verdicts, corrected by how often the judge is right: what people would find.

    The estimator of Rogan and Gladen (American Journal of Epidemiology 107, 1978), which holds for a mean of shares
    too. Each end is as far off as the errors of the three shares together carry it (square-and-add; Newcombe,
    Statistics in Medicine 17, 1998), within 0..1. It takes for granted that the judge errs as often on other texts.

    Args:
        share: of verdicts that are positive, or a mean of such shares, with its interval.
        sensitivity: the share of positive verdicts where people's labels are positive.
        specificity: the share of negative verdicts where people's labels are negative.

    Returns:
        The corrected share; all None where one of the shares is undefined, where the labels leave open whether the
        judge is better than guessing (the lower ends of sensitivity and specificity sum to 1 or less), or where the
        judge cannot err on these texts as on the labelled ones (no end is within 0..1).
    """
    method = "Rogan-Gladen"
    ends_of_all = [ends for interval in (share, sensitivity, specificity) if (ends := _ends(interval))]
    if len(ends_of_all) < 3 or ends_of_all[1][1] + ends_of_all[2][1] <= 1:
        return Interval(None, None, None, method)
    p, right, rejected = ends_of_all

    def corrected(positive: float, sensitive: float, specific: float) -> float:
        return (positive + specific - 1) / (sensitive + specific - 1)

    value = corrected(p[0], right[0], rejected[0])
    moved = [
        hypot(
            value - corrected(p[end], right[0], rejected[0]),
            value - corrected(p[0], right[opposite], rejected[0]),
            value - corrected(p[0], right[0], rejected[end]),
        )
        for end, opposite in ((1, 2), (2, 1))
    ]
    if value - moved[0] > 1 + ROUNDING or value + moved[1] < -ROUNDING:
        return Interval(None, None, None, method)
    clipped, lowest, highest = (min(max(end, 0.0), 1.0) for end in (value, value - moved[0], value + moved[1]))
    return Interval(clipped, lowest, highest, method)


def _ends(interval: Interval) -> tuple[float, float, float] | None:
    """The value of an interval, its lower and its upper end; None where it is undefined."""
    if interval.value is None or interval.low is None or interval.high is None:
        return None
    return interval.value, interval.low, interval.high


def _term(interval: Interval, weight: float = 1.0) -> tuple[float, float, float]:
    """A weighted mean and the distances to the ends of its interval; zeros without samples."""
    value, low, high = _ends(interval) or (0.0, 0.0, 0.0)
    return weight * value, weight * (value - low), weight * (high - value)
