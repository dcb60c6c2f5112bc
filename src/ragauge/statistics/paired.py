"""Paired comparison of two systems on the same samples: differences, intervals, significance tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import exp, floor, fsum, inf, isfinite, lgamma, log, log2, nan, sqrt
from statistics import NormalDist

import msgspec

from ragauge.arrays import Array, NDArray, np
from ragauge.errors import BadParameter
from ragauge.statistics.intervals import (
    ROUNDING,
    Clusters,
    CountFunction,
    CountRow,
    Interval,
    Summary,
    check_parameters,
    count_rows,
    extreme_rows,
    interval_of_aggregate,
    mean_interval,
    on_unit_scale,
    sums_by_cluster,
)

CONFIDENCE = 0.95
#: The share of comparisons in which `detectable` finds a difference of its size.
POWER = 0.8
#: Up to this many rows are divided in every way, which is 8192 ways; more at random.
MAX_EXHAUSTIVE = 13
#: The rounding error of subtracting all of a sum again, as a share of it.
CANCELLATION = 1e-12
#: What stands for a p-value that is too small for a number.
SMALLEST_P = 1e-300
#: Random numbers drawn at a time, few enough for the processor's cache.
BLOCK_SIZE = 200_000


class Paired(msgspec.Struct, frozen=True):
    """A difference with its interval, and the two-sided p-value of no difference; None where undefined."""

    interval: Interval
    p: float | None


def paired_mean(
    differences: Sequence[float],
    *,
    scale: tuple[float, float] = (-1.0, 1.0),
    clusters: Clusters = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Paired:
    """The mean of paired differences, with interval and p-value.

    The samples (or clusters) are divided into two halves in every way, or from 14 on in `resamples` random ways; see
    docs/compare.md. p is that of Fisher's sign-flip test, and the interval contains what the test does not reject: it
    excludes 0 where p < 1 - `confidence`.

    Where fewer samples differ than the test needs to reject anything, which is six at 95 %, and where all differences
    are equal, the interval is that of `mean_interval`, which makes no assumption on their distribution.

    Args:
        differences: of each sample, the second minus the first score.
        scale: the lowest and the highest possible difference, twice as wide as the metric's scale.
        clusters, confidence: as in `mean_interval`.
        resamples: how many random divisions.

    Returns:
        The mean with its interval, and p; None without samples.

    Raises:
        BadParameter: As `mean_interval`.
    """
    check_parameters(len(differences), clusters, confidence, scale, resamples)
    on_unit_scale(differences, scale)
    if not len(differences):
        return Paired(Interval(None, None, None, _method(clusters)), None)
    rows = sums_by_cluster(np.column_stack([differences, np.ones(len(differences))]), clusters)
    means = [  # NaN for an empty half
        np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), nan), where=sums[:, 1] > 0)
        for sums in halves(rows, resamples)
    ]
    value = float(rows[:, 0].sum() / rows[:, 1].sum())
    slack = ROUNDING * (scale[1] - scale[0])
    differ = np.abs(rows[:, 0]) > slack
    p = _exact_p(rows[differ, 0], slack) if len(rows) > MAX_EXHAUSTIVE else None
    by_mean = partial(mean_interval, differences, scale=scale, clusters=clusters, confidence=confidence)
    return _paired(value, means, scale, differ, 1 - confidence, _method(clusters), by_mean, p)


def paired_aggregate(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    value: CountFunction,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    clusters: Clusters = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Paired:
    """The second minus the first value of a metric over the data set, with interval and p-value.

    As `paired_mean`, with the difference of the two values on a half in place of the half's mean; where one of them is
    undefined, it could be any. The other interval is that of `aggregate_interval`. Unlike a permutation test, this does
    not assume that the systems differ only by chance; see docs/compare.md.

    Args:
        first: the counts of each sample in the first run, at most 16.
        second: those of the same samples in the second run.
        value: as in `aggregate_interval`.
        scale: the lowest and the highest number that `value` can return.
        clusters, confidence, resamples: as in `paired_mean`.

    Returns:
        The difference with its interval, and p; None where a value is undefined.

    Raises:
        BadParameter: As `aggregate_interval`.
    """
    check_parameters(len(first), clusters, confidence, scale, resamples)
    width = len(first[0]) if len(first) else 1
    both = [(*a, *b) for a, b in zip(first, second, strict=True)]
    wide = (scale[0] - scale[1], scale[1] - scale[0])

    def difference_of(sums: Sequence[float]) -> float | None:
        before, after = value(sums[:width]), value(sums[width:])
        return None if before is None or after is None else after - before

    def extremes(sums: Sequence[float], size: float) -> tuple[CountRow | None, CountRow | None]:
        lowest, highest = extreme_rows(sums[:width], size, value, scale)
        lowest_after, highest_after = extreme_rows(sums[width:], size, value, scale)
        if lowest is None or highest is None or lowest_after is None or highest_after is None:
            return None, None
        return (*highest, *lowest_after), (*lowest, *highest_after)

    rows = sums_by_cluster(count_rows(both), clusters)
    difference = difference_of(rows.sum(axis=0).tolist()) if len(both) else None
    if difference is None:
        return Paired(Interval(None, None, None, _method(clusters)), None)
    of_halves = [np.array([difference_of(row) for row in sums.tolist()], float) for sums in halves(rows, resamples)]
    differ = (rows[:, :width] != rows[:, width:]).any(axis=1)

    def by_sums() -> Interval:
        summary = Summary.of(count_rows(both).tolist(), clusters, None)
        return interval_of_aggregate(summary, difference_of, scale=wide, confidence=confidence, extremes=extremes)

    return _paired(difference, of_halves, wide, differ, 1 - confidence, _method(clusters), by_sums)


def detectable(differences: Sequence[float], *, clusters: Clusters = None, tests: int = 1) -> float | None:
    """The smallest true difference that a comparison of this size detects with a power of 80 %.

    By Student's t, from the variance of `differences`, one per sample. Where the test takes differences of one sign in
    all samples, as with six samples and one test, it is the mean at which normal differences are so in 80 % of cases.

    Args:
        differences, clusters: as in `paired_mean`.
        tests: how many differences are tested together: p must be below 0.05 / tests, as in the first step of `holm`.

    Returns:
        The difference; None where fewer samples (or clusters) differ than any test needs, or where all differences are
        equal.

    Raises:
        BadParameter: The numbers of differences and clusters do not agree, or `tests` is below 1.
    """
    check_parameters(len(differences), clusters)
    if tests < 1:
        raise BadParameter(f"tests={tests!r} must be at least 1, the number of differences that are tested together")
    rows = sums_by_cluster(np.column_stack([differences, np.ones(len(differences))]), clusters)
    level, units = (1 - CONFIDENCE) / tests, len(rows)
    if np.count_nonzero(rows[:, 0]) < fewest_differing(level):
        return None
    sums, sizes = rows.T
    residuals = sums - sums.sum() / sizes.sum() * sizes
    error = sqrt(float(residuals @ residuals) * units / (units - 1)) / float(sizes.sum())
    if error <= ROUNDING * float(np.abs(sums).max()):
        return None
    if units == fewest_differing(level):
        return NormalDist().inv_cdf(POWER ** (1 / units)) * sqrt(units) * error
    return (_student_quantile(1 - level / 2, units - 1) + _student_quantile(POWER, units - 1)) * error


def fewest_differing(level: float = 1 - CONFIDENCE) -> int:
    """How many samples or clusters must differ for a sign test to reach p < `level`."""
    return floor(1 - log2(level)) + 1


def _student_quantile(share: float, degrees: int) -> float:
    """The quantile of Student's t by Abramowitz and Stegun (1964), 26.7.5.

    From 5 degrees of freedom on it is off by 0.2 % at most, for tails that a sign test of so many units can reach.
    """
    z = NormalDist().inv_cdf(share)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return fsum(term / degrees**power for power, term in enumerate(terms))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values, which control the family-wise error rate (Holm 1979)."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def halves(rows: Array, resamples: int) -> tuple[Array, Array]:
    """The sums of `rows` (units x columns) over both halves, for each division of the units in two.

    Up to 13 units all divisions are used; otherwise `resamples` random ones, and the one with an empty half.
    """
    total = rows.sum(axis=0)
    if len(rows) <= MAX_EXHAUSTIVE:
        divisions = np.arange(2 ** len(rows))
        half = (divisions[:, None] >> np.arange(len(rows)) & 1) @ rows
    else:
        half = np.concatenate([total[None], *_random_halves(rows, np.random.default_rng(0), resamples)])
    rest = total - half
    rest[np.abs(rest) <= CANCELLATION * np.abs(total)] = 0
    return half, rest


def _random_halves(rows: Array, random: np.random.Generator, resamples: int) -> Iterator[Array]:
    """The sums over one half of random divisions, in blocks; of k equal rows a binomial number is in it."""
    distinct, multiplicity = np.unique(rows, axis=0, return_counts=True)
    single, repeated = distinct[multiplicity == 1], distinct[multiplicity > 1]
    step = max(1, BLOCK_SIZE // len(distinct))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        of_repeated = random.binomial(multiplicity[multiplicity > 1], 0.5, (size, len(repeated)))
        bits = size * len(single)
        drawn = np.frombuffer(random.bytes(-(-bits // 8)), dtype=np.uint8)
        in_half = np.unpackbits(drawn, count=bits).reshape(size, len(single)).astype(np.float64)
        yield in_half @ single + of_repeated @ repeated


def _exact_p(sums: Array, slack: float) -> float | None:
    """The p-value of the sums of the units that differ, over all divisions; None where these are too many."""
    if len(sums) <= MAX_EXHAUSTIVE:
        half, rest = (of_half[:, 0] for of_half in halves(sums[:, None], 1))
        return float(((np.minimum(half, rest) <= slack) & (np.maximum(half, rest) >= -slack)).mean())
    if np.ptp(np.abs(sums)) > slack:
        return None
    units, fewer = len(sums), min(int((sums > 0).sum()), int((sums < 0).sum()))
    logs = (lgamma(units + 1) - lgamma(k + 1) - lgamma(units - k + 1) - units * log(2) for k in range(fewer + 1))
    return min(1.0, max(2 * fsum(map(exp, logs)), SMALLEST_P))


def _method(clusters: Clusters) -> str:
    return "halves" if clusters is None else "halves of clusters"


def _paired(
    value: float,
    halves: Sequence[Array],
    scale: tuple[float, float],
    differ: NDArray[np.bool_],
    level: float,
    method: str,
    otherwise: Callable[[], Interval],
    p: float | None = None,
) -> Paired:
    """A difference with what lies between the differences of the two halves in more than a share `level` of divisions.

    halves: for each division the difference of either half, NaN where it has none and could have any. otherwise: the
    interval where too few samples or clusters `differ` to reject anything, or where the other has no width; it is
    widened to contain 0 where the test does not reject that. p: that of all divisions, where `halves` has some; the
    interval agrees with it.
    """
    slack = ROUNDING * (scale[1] - scale[0])
    lows, highs = np.minimum(*halves), np.maximum(*halves)
    lows = np.where(np.isnan(lows), -inf, np.minimum(lows, value))
    highs = np.where(np.isnan(highs), inf, np.maximum(highs, value))
    around_0 = int(((lows <= slack) & (highs >= -slack)).sum())
    p = around_0 / len(lows) if p is None else p
    rank = int(level * len(lows))
    if p < level:
        rank = max(rank, around_0)
    low, high = float(np.partition(lows, rank)[rank]), -float(np.partition(-highs, rank)[rank])
    can_reject = np.count_nonzero(differ) >= fewest_differing(level)
    if can_reject and isfinite(low) and isfinite(high) and high - low > slack:
        interval = Interval(value, max(low, scale[0]), min(high, scale[1]), method)
    else:
        interval = otherwise()
    if p >= level and interval.low is not None and interval.high is not None:
        interval = msgspec.structs.replace(interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0))
    return Paired(interval, p)
