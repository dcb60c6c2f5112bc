from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragauge.errors import BadParameter
from ragauge.scores import F1Counts, PrecisionRecall, Share
from ragauge.statistics.intervals import Interval, aggregate_interval, mean_interval


def pooled(sums: Sequence[float]) -> float | None:
    """Hits over total."""
    return Share(*sums).value


def f1(sums: Sequence[float]) -> float | None:
    """F1 of true positives, false positives and false negatives."""
    return F1Counts(*sums).value


def harmonic(sums: Sequence[float]) -> float | None:
    """Harmonic mean of a precision and a recall with totals of their own."""
    return PrecisionRecall(*sums).value


def ends(interval: Interval) -> tuple[float, float]:
    """The low and the high end, which must be there."""
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


overlaps = st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=20)
parts = st.integers(1, 6).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(overlaps)
def test_contains_the_value_within_the_scale(counts: list[tuple[int, int, int]]) -> None:
    """0 <= low <= F1 of the sums <= high <= 1, and low < high, whatever the counts."""
    interval = aggregate_interval(counts, f1, resamples=200)
    low, high = ends(interval)
    assert interval.value == f1([sum(column) for column in zip(*counts, strict=True)])
    assert interval.value is not None
    assert 0 <= low <= interval.value <= high <= 1
    assert low < high


@given(overlaps, st.randoms(use_true_random=False))
def test_order_does_not_matter(counts: list[tuple[int, int, int]], random: object) -> None:
    """Permuted samples give exactly the same interval."""
    permuted = list(counts)
    random.shuffle(permuted)  # type: ignore[attr-defined]
    assert aggregate_interval(permuted, f1, resamples=100) == aggregate_interval(counts, f1, resamples=100)


@given(overlaps)
def test_every_sample_its_own_cluster(counts: list[tuple[int, int, int]]) -> None:
    """Clusters of one sample give exactly the interval without clusters."""
    clusters = [str(at) for at in range(len(counts))]
    clustered = aggregate_interval(counts, f1, clusters=clusters, resamples=100)
    assert ends(clustered) == ends(aggregate_interval(counts, f1, resamples=100))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_agrees_with_the_mean(values: list[float]) -> None:
    """For a mean, simulation and closed form are the same interval."""
    simulated = aggregate_interval([(value, 1) for value in values], pooled, resamples=4000)
    assert simulated.value == pytest.approx(mean_interval(values).value)
    assert ends(simulated) == pytest.approx(ends(mean_interval(values)), abs=0.03)


@given(st.lists(st.tuples(parts, parts), min_size=1, max_size=20))
@example([((0, 1), (5, 5))])
def test_more_of_the_same_is_narrower(rows: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """Nine times the same data give a narrower interval."""
    counts = [first + second for first, second in rows]
    low, high = ends(aggregate_interval(counts, harmonic, resamples=400))
    low_of_more, high_of_more = ends(aggregate_interval(counts * 9, harmonic, resamples=400))
    assert high_of_more - low_of_more < high - low


@pytest.mark.parametrize(
    ("row", "value"), [((1, 1), pooled), ((2, 0, 0), f1), ((3, 3, 2, 2), harmonic)], ids=["share", "F1", "harmonic"]
)
def test_perfect_samples_leave_room_below(row: tuple[int, ...], value: object) -> None:
    """Five perfect samples prove little: the low end is near that of five hits in five, 0.478."""
    interval = aggregate_interval([row] * 5, value)  # type: ignore[arg-type]
    assert (interval.value, interval.high) == (1, 1)
    assert interval.low == pytest.approx(0.48, abs=0.06)


def test_samples_that_do_not_count_do_not_narrow() -> None:
    """A recall over 5 unanswerable queries among 300 is as uncertain as over 5 alone."""
    alone = aggregate_interval([(1, 1)] * 4 + [(0, 1)], pooled)
    among = aggregate_interval([(1, 1)] * 4 + [(0, 1)] + [(0, 0)] * 295, pooled)
    assert among == alone


def test_a_large_number_of_columns_that_are_rarely_set_stays_uncertain() -> None:
    """The mean of two recalls is as uncertain as the rarer one makes it, though the commoner has 295 samples."""

    def both(sums: Sequence[float]) -> float | None:
        first, second = pooled(sums[:2]), pooled(sums[2:])
        return None if first is None or second is None else (first + second) / 2

    interval = aggregate_interval([(1, 1, 0, 0)] * 5 + [(0, 0, 1, 1)] * 295, both)
    assert interval.value == 1
    assert interval.low == pytest.approx(0.74, abs=0.03)


def test_clusters_widen() -> None:
    """Samples that agree within documents say less than independent ones."""
    counts = [(1, 1)] * 50 + [(0, 1)] * 50
    low, high = ends(aggregate_interval(counts, pooled, clusters=[str(at // 10) for at in range(100)]))
    low_alone, high_alone = ends(aggregate_interval(counts, pooled))
    assert low < low_alone < high_alone < high


def test_the_same_counts_give_the_same_interval() -> None:
    """The random weightings have a fixed seed."""
    counts = [(1, 2, 0), (3, 0, 1), (0, 1, 1), (2, 2, 2)]
    assert aggregate_interval(counts, f1) == aggregate_interval(counts, f1)


def test_undefined_has_no_number() -> None:
    """No samples, or a value that is undefined on the sums, gives None and no ends."""
    assert aggregate_interval([], pooled) == Interval(None, None, None, "Bayesian bootstrap")
    assert aggregate_interval([(0, 0)] * 3, pooled) == Interval(None, None, None, "Bayesian bootstrap")


def test_samples_without_counts_leave_the_scale_open() -> None:
    """Where the value is defined but nothing was counted, the interval is the whole scale, nearly."""
    low, high = ends(aggregate_interval([(0, 0, 0)] * 3, f1))
    assert (low, high) == (0, 1)


def test_an_undefined_resample_counts_as_the_end_of_the_scale() -> None:
    """A value that most resamples leave undefined has an interval that reaches the ends of its scale."""

    def fussy(sums: Sequence[float]) -> float | None:
        return sums[0] / sums[1] if sums in ([6.0, 12.0], (0.0, 2.0), (2.0, 2.0)) else None

    assert ends(aggregate_interval([(1, 2)] * 6, fussy, scale=(-1, 2))) == (-1, 2)


@pytest.mark.parametrize(
    ("counts", "given", "message"),
    [
        ([(1, 2), (1, -1)], {}, r"counts\[1\] = \(1, -1\)"),
        ([(1, float("nan"))], {}, "counts are finite"),
        ([(1, 2), (1,)], {}, r"counts\[1\] has 1 numbers, counts\[0\] has 2"),
        ([()], {}, r"counts\[0\] has 0 numbers"),
        ([(2, 1)], {}, "not on the scale"),
        ([(1, 2)], {"clusters": ["a", "b"]}, "2 clusters for 1 samples"),
        ([(1, 2)], {"resamples": 0}, "resamples=0"),
    ],
)
def test_bad_input_is_named(counts: list[tuple[float, ...]], given: dict[str, object], message: str) -> None:
    """Counts or values that make no sense are errors that say how to fix them."""
    with pytest.raises(BadParameter, match=message):
        aggregate_interval(counts, pooled, **given)  # type: ignore[arg-type]


def test_too_many_columns() -> None:
    """More than sixteen counts a sample is an error before any resampling."""
    with pytest.raises(BadParameter, match="17 counts per sample"):
        aggregate_interval([(1,) * 17], lambda sums: sums[0] / sum(sums))


def test_a_value_that_gives_nan_is_an_error() -> None:
    """NaN never becomes an end of an interval."""
    with pytest.raises(BadParameter, match="other than a finite number"):
        aggregate_interval([(1, 2)], lambda sums: 0.5 if sums[1] in (2, 4) else float("nan"))
