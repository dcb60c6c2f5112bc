"""Agreement of raters: AUC, kappa, rank correlation, their intervals, and a judge's mean corrected by human labels.

Labels are 0 or 1, scores any real numbers, higher for 1. Undefined values are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from math import ceil, hypot
from typing import Any, TypeVar

from ragauge.arrays import Array, np
from ragauge.errors import BadParameter
from ragauge.statistics.intervals import ROUNDING, Clusters, Interval, aggregate_interval, mean_interval
from ragauge.statistics.paired import Paired, fewest_differing

#: A statistic of labels, scores and the weights of the rows, such as `auc`; None where undefined.
Statistic = Callable[..., float | None]

#: The method of intervals by resampling groups.
METHOD = "bootstrap of groups"

RaterLabel = TypeVar("RaterLabel", bound=Hashable)

_MIN_RESAMPLES = 40  # one of which lies beyond each end of a 95 % interval


def average_ranks(values: Array, weights: Array | None = None) -> Array:
    """The ranks of `values` from 1, ties averaged; a value of weight k counts as k equal values."""
    _, index = np.unique(values, return_inverse=True)
    counts = np.bincount(index, weights)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[index]
    return ranks


def spearman(
    first: Sequence[float] | Array, second: Sequence[float] | Array, weights: Array | None = None
) -> float | None:
    """Spearman's rank correlation, ties with averaged ranks; None where a side has fewer than two distinct values.

    Args:
        first, second: any real numbers, one a row.
        weights: of the rows; a row of weight k counts as k equal ones.
    """
    ranks = [average_ranks(np.asarray(values, dtype=float), weights) for values in (first, second)]
    if any(not len(values) or values.min() == values.max() for values in ranks):
        return None
    a, b = (values - np.average(values, weights=weights) for values in ranks)
    weighted = a if weights is None else weights * a
    return float(np.clip(weighted @ b / np.sqrt((weighted @ a) * (b @ (b if weights is None else weights * b))), -1, 1))


def auc(labels: Sequence[float] | Array, scores: Sequence[float] | Array, weights: Array | None = None) -> float | None:
    """Area under the ROC curve: P(a 1 scores above a 0), ties counting half. None unless both labels occur.

    Args:
        labels: 0 or 1, one a row.
        scores: any real numbers, higher for 1.
        weights: of the rows.
    """
    ones, zeros = _class_weights(labels, weights)
    all_ones, all_zeros = ones.sum(), zeros.sum()
    if not all_ones or not all_zeros:
        return None
    ranks = average_ranks(np.asarray(scores, dtype=float), weights)
    return float(np.clip((ones @ ranks - all_ones * (all_ones + 1) / 2) / (all_ones * all_zeros), 0, 1))


def balanced_accuracy(
    labels: Sequence[float] | Array, predictions: Sequence[float] | Array, weights: Array | None = None
) -> float | None:
    """The mean of sensitivity and specificity. None unless both labels occur.

    Args:
        labels: 0 or 1, one a row.
        predictions: 0 or 1.
        weights: of the rows.
    """
    ones, zeros = _class_weights(labels, weights)
    if not ones.any() or not zeros.any():
        return None
    predicted = np.asarray(predictions, dtype=float)
    return float((ones @ predicted / ones.sum() + zeros @ (1 - predicted) / zeros.sum()) / 2)


def _class_weights(labels: Sequence[float] | Array, weights: Array | None) -> tuple[Array, Array]:
    """The weight of each row as a 1 and as a 0."""
    truth = np.asarray(labels, dtype=float)
    return (truth, 1 - truth) if weights is None else (weights * truth, weights * (1 - truth))


def calibration_error(labels: Sequence[float], probabilities: Sequence[float]) -> float | None:
    """Expected calibration error: the absolute gap between mean probability and share of 1s, averaged over bins.

    The bins are tenths of probability, weighted by their rows.

    Args:
        labels: 0 or 1.
        probabilities: of a 1, in 0..1, one for each label.

    Returns:
        In 0..1, 0 where the share of 1s in each bin is its mean probability; None without rows.
    """
    truth, predicted = np.asarray(labels, dtype=float), np.asarray(probabilities, dtype=float)
    bins = np.minimum((predicted * 10).astype(int), 9)
    gaps = (abs((predicted - truth)[bins == tenth].sum()) for tenth in range(10))
    return float(sum(gaps) / truth.size) if truth.size else None


def best_threshold(labels: Sequence[float], probabilities: Sequence[float]) -> tuple[float, float] | None:
    """The probability from which calling a row 1 gives the best balanced accuracy.

    Args:
        labels: 0 or 1.
        probabilities: of a 1, in 0..1, one for each label.

    Returns:
        The lowest such value in `probabilities`, and the balanced accuracy; None unless both labels occur.
    """
    truth, predicted = np.asarray(labels, dtype=float), np.asarray(probabilities, dtype=float)
    ones = truth.sum()
    if not ones or ones == truth.size:
        return None
    thresholds, index = np.unique(predicted, return_inverse=True)
    sensitivity = np.bincount(index, weights=truth)[::-1].cumsum()[::-1] / ones
    false_alarms = np.bincount(index, weights=1 - truth)[::-1].cumsum()[::-1] / (truth.size - ones)
    balanced = (sensitivity + 1 - false_alarms) / 2
    return float(thresholds[balanced.argmax()]), float(balanced.max())


def group_interval(
    labels: Sequence[float],
    scores: Sequence[float],
    groups: Sequence[Hashable],
    statistic: Statistic = auc,
    resamples: int = 1000,
) -> tuple[float, float] | None:
    """The 95 % interval of `statistic(labels, scores)` by the Bayesian bootstrap over groups of dependent rows.

    As in `aggregate_interval` one row is added, for the lower end the worst: label 1 with the lowest score or 0 with
    the highest, whichever lowers the statistic more; for the upper end the best. It weighs as much as the group of an
    average row. Coverage: docs/statistics.md.

    Args:
        labels: 0 or 1, or grades.
        scores: one for each label; the lowest and the highest that can be are 0 and 1, or those that occur beyond.
        groups: the group of each row.
        statistic: of labels, scores and weights.
        resamples: how many random weightings.

    Returns:
        The lower and the upper end; None where the statistic is undefined.
    """
    truth, values = np.asarray(labels, dtype=float), np.asarray(scores, dtype=float)
    value = statistic(truth, values)
    if value is None:
        return None
    indices: dict[Hashable, int] = {}
    index = np.array([indices.setdefault(group, len(indices)) for group in groups])
    added_weight = float(np.bincount(index)[index].mean())

    def with_row(row: tuple[float, float], weights: Array) -> float:
        label, score = row
        return statistic(np.append(truth, label), np.append(values, score), weights) or 0.0

    unweighted = np.append(np.ones(truth.size), added_weight)
    lowest, highest = min(values.min(), 0.0), max(values.max(), 1.0)
    ends = []
    for choose, level, scores_added in ((min, 0.025, (lowest, highest)), (max, 0.975, (highest, lowest))):
        rows = zip((truth.max(), truth.min()), scores_added, strict=True)
        row = choose(rows, key=partial(with_row, weights=unweighted))
        random = np.random.default_rng(0)
        weightings = (random.standard_exponential(len(indices) + 1) for _ in range(resamples))
        drawn = [with_row(row, np.append(weights[index], added_weight * weights[-1])) for weights in weightings]
        ends.append(choose(float(np.quantile(drawn, level)), value))
    return ends[0], ends[1]


def group_difference(
    labels: Sequence[float],
    first: Sequence[float],
    second: Sequence[float],
    groups: Sequence[Hashable],
    statistic: Statistic = auc,
    resamples: int = 2000,
) -> Paired:
    """The paired difference `statistic(labels, first) - statistic(labels, second)`, with interval and p-value.

    By the paired bootstrap over groups (Efron and Tibshirani, 1993). p is twice the smaller share of differences on
    either side of 0, ties counted on both, with 1 added to the count and to the resamples (Davison and Hinkley, 1997).
    The 95 % percentile interval excludes 0 exactly where p < 0.05.

    Args:
        labels: 0 or 1.
        first, second: the scores to compare, one for each label.
        groups: the group of each row.
        statistic: of labels and scores, in 0..1.
        resamples: how many are drawn.

    Returns:
        The difference; p is 1 and the interval -1..1 for fewer than six groups, or where `statistic` is defined in
        fewer than 40 resamples; all None where it is None.
    """
    truth, a, b = (np.asarray(values, dtype=float) for values in (labels, first, second))

    def difference(rows: Any) -> float | None:
        of_a, of_b = statistic(truth[rows], a[rows]), statistic(truth[rows], b[rows])
        return None if of_a is None or of_b is None else of_a - of_b

    value = difference(np.arange(truth.size))
    if value is None:
        return Paired(Interval(None, None, None, METHOD), None)
    drawn = _resampled(groups, difference, resamples) if len(set(groups)) >= fewest_differing() else []
    if len(drawn) < _MIN_RESAMPLES:
        return Paired(Interval(value, -1.0, 1.0, METHOD), 1.0)
    tail = min(sum(resample <= 0 for resample in drawn), sum(resample >= 0 for resample in drawn))
    rank = ceil((len(drawn) + 1) / _MIN_RESAMPLES) - 2
    interval = Interval(value, drawn[rank], drawn[-1 - rank], METHOD)
    return Paired(interval, min(1.0, 2 * (tail + 1) / (len(drawn) + 1)))


def _resampled(groups: Sequence[Hashable], value: Callable[[Any], float | None], resamples: int) -> list[float]:
    """The defined values of so many bootstrap samples of the groups, sorted. value: of the rows with some indices."""
    rows_of: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows_of.setdefault(group, []).append(row)
    members = [np.array(rows) for rows in rows_of.values()]
    random = np.random.default_rng(0)
    draws = (random.integers(len(members), size=len(members)) for _ in range(resamples))
    values = (value(np.concatenate([members[group] for group in drawn])) for drawn in draws)
    return sorted(number for number in values if number is not None)


def kappa(patterns: Mapping[tuple[RaterLabel, ...], float]) -> float | None:
    """Cohen's kappa of two raters; of more, Conger's (Psychological Bulletin 88, 1980), its mean over pairs.

    0 is the agreement expected from the raters' label frequencies. None where nothing was rated or all raters always
    gave the same label. patterns: tuple of labels, one per rater -> the number or weight of the items so labelled.
    """
    total = sum(patterns.values())
    if not total:
        return None
    raters = len(next(iter(patterns)))
    pairs = list(combinations(range(raters), 2))
    agreeing = sum(count for labels, count in patterns.items() for a, b in pairs if labels[a] == labels[b])
    frequencies: list[dict[RaterLabel, float]] = [{} for _ in range(raters)]
    for labels, count in patterns.items():
        for frequency, label in zip(frequencies, labels, strict=True):
            frequency[label] = frequency.get(label, 0) + count
    chance = sum(count * frequencies[b].get(label, 0) for a, b in pairs for label, count in frequencies[a].items())
    possible = total * total * len(pairs)
    return (total * agreeing - chance) / (possible - chance) if possible != chance else None


def kappa_interval(
    pairs: Sequence[tuple[RaterLabel, RaterLabel]], labels: Sequence[RaterLabel], *, clusters: Clusters = None
) -> Interval:
    """Cohen's kappa of two raters, with its interval.

    Args:
        pairs: the labels of each item by the first and the second rater.
        labels: all possible labels, at most four.
        clusters: of the items, such as their samples.

    Returns:
        Kappa with the interval of `aggregate_interval`; all None where kappa is undefined.
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
    """The mean human score of all samples: the judge's mean, corrected by the human scores of a random subset.

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
    labelled, labelled_below, labelled_above = _term(mean_interval(differences, scale=spread, clusters=clusters))
    others, others_below, others_above = _term(mean_interval(rest, scale=scale, clusters=rest_clusters), share)
    value = labelled + others
    below, above = hypot(labelled_below, others_below), hypot(labelled_above, others_above)
    clipped, lowest, highest = (min(max(end, low), high) for end in (value, value - below, value + above))
    return Interval(clipped, lowest, highest, method)


def corrected_share(share: Interval, sensitivity: Interval, specificity: Interval) -> Interval:
    """A share of positive verdicts, corrected by how often the judge is right: what people would find.

    The estimator of Rogan and Gladen (American Journal of Epidemiology 107, 1978), which holds for a mean of shares
    too. Each end is as far off as the errors of the three shares together carry it (square-and-add; Newcombe,
    Statistics in Medicine 17, 1998), within 0..1. It assumes that the judge errs as often on other texts.

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
    undefined = Interval(None, None, None, method)
    said_yes, right_yes, right_no = share.numbers, sensitivity.numbers, specificity.numbers
    if not (said_yes and right_yes and right_no):
        return undefined
    yes, yes_low, yes_high = said_yes
    sensitive, sensitive_low, sensitive_high = right_yes
    specific, specific_low, specific_high = right_no
    if sensitive_low + specific_low <= 1:
        return undefined

    def corrected(positive: float, sensitive: float, specific: float) -> float:
        return (positive + specific - 1) / (sensitive + specific - 1)

    def distance(yes_end: float, sensitive_end: float, specific_end: float) -> float:
        ends = (yes_end, sensitive, specific), (yes, sensitive_end, specific), (yes, sensitive, specific_end)
        return hypot(*(value - corrected(*end) for end in ends))

    value = corrected(yes, sensitive, specific)
    below = distance(yes_low, sensitive_high, specific_low)
    above = distance(yes_high, sensitive_low, specific_high)
    if value - below > 1 + ROUNDING or value + above < -ROUNDING:
        return undefined
    clipped, lowest, highest = (min(max(end, 0.0), 1.0) for end in (value, value - below, value + above))
    return Interval(clipped, lowest, highest, method)


def _term(interval: Interval, weight: float = 1.0) -> tuple[float, float, float]:
    """A weighted mean and the distances of the lower and upper ends of its interval; zeros without samples."""
    value, low, high = interval.numbers or (0.0, 0.0, 0.0)
    return weight * value, weight * (value - low), weight * (high - value)
