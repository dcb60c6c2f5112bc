"""Paired differences: the test by signs, the interval of what it does not reject, and what is told of both."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from itertools import product
from math import comb, inf
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ragauge.errors import BadParameter
from ragauge.nouns.scores import Overlap, Share
from ragauge.statistics import halves
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.statistics.paired import Paired, detectable, holm, paired_aggregate, paired_mean

SHARES = st.sampled_from([-1.0, -2 / 3, -0.5, -1 / 3, 0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0])
FEW = st.lists(st.one_of(SHARES, st.floats(-1, 1)), min_size=1, max_size=9)
MANY = st.lists(st.one_of(SHARES, st.floats(-1, 1)), min_size=14, max_size=40)
GROUPED = st.lists(st.tuples(SHARES, st.sampled_from("abcdefgh")), min_size=1, max_size=16)


def ends(found: Paired) -> tuple[float, float]:
    """The low and the high end, which must be there."""
    assert found.interval.low is not None
    assert found.interval.high is not None
    return found.interval.low, found.interval.high


def p_by_signs(differences: Sequence[float], true: float = 0.0) -> float:
    """The share of all ways to change signs that leave |Σ (d - true)| as large, by trying them all."""
    apart = [difference - true for difference in differences]
    sums = [abs(sum(sign * one for sign, one in zip(signs, apart, strict=True))) for signs in _signs(len(apart))]
    return fmean(one >= abs(sum(apart)) - 1e-9 for one in sums)


def _signs(count: int) -> list[tuple[int, ...]]:
    return list(product((1, -1), repeat=count))


@settings(max_examples=60)
@given(FEW)
@example([0.1, 0.2, -0.3])
@example([0.5, 0.25, -0.1, 0.3, 0.0, 0.2, -0.2, 0.4, 0.35])
def test_p_is_that_of_all_signs(differences: list[float]) -> None:
    """For few samples p is the share of all ways to swap systems that lead to a difference as large."""
    assert paired_mean(differences).p == pytest.approx(p_by_signs(differences), abs=1e-12)


@settings(max_examples=40)
@given(st.lists(st.one_of(SHARES, st.floats(-1, 1)), min_size=6, max_size=8), st.sampled_from([0.8, 0.9, 0.95]))
def test_the_interval_holds_what_the_test_does_not_reject(differences: list[float], confidence: float) -> None:
    """A true difference a little inside of the ends is not rejected, and one a little outside is."""
    found = paired_mean(differences, confidence=confidence)
    assume(found.interval.method == "halves")
    low, high = ends(found)
    for end, inwards in ((low, 1), (high, -1)):
        assert p_by_signs(differences, end + inwards * 1e-7) > 1 - confidence
        assert p_by_signs(differences, end - inwards * 1e-7) < 1 - confidence or end in (-1, 1)


@given(st.integers(0, 13), st.integers(0, 13))
def test_yes_no_scores_have_mcnemars_test(up: int, down: int) -> None:
    """On differences of -1, 0 and 1 p is that of McNemar's exact test, which is binomial, whatever the ties."""
    assume(0 < up + down <= 13)
    differences = [1.0] * up + [-1.0] * down + [0.0] * (13 - up - down)
    tail = sum(comb(up + down, k) for k in range(max(up, down), up + down + 1)) / 2 ** (up + down)
    assert paired_mean(differences).p == pytest.approx(min(1.0, 2 * tail))


@settings(max_examples=20)
@given(st.integers(0, 20), st.integers(0, 20))
def test_many_samples_come_close_to_mcnemars_test(up: int, down: int) -> None:
    """With 200 samples random ways give the exact p but for the error of simulation."""
    tail = sum(comb(up + down, k) for k in range(max(up, down), up + down + 1)) / 2 ** (up + down)
    found = paired_mean([1.0] * up + [-1.0] * down + [0.0] * (200 - up - down))
    assert found.p == pytest.approx(min(1.0, 2 * tail), abs=0.025)


@settings(max_examples=80)
@given(st.one_of(FEW, MANY), st.sampled_from([0.9, 0.95, 0.99]))
def test_p_and_interval_agree(differences: list[float], confidence: float) -> None:
    """0 lies outside of the interval exactly where p is below 1 - confidence, but where all differ by the same."""
    assume(len(set(differences)) > 1)
    found = paired_mean(differences, confidence=confidence, resamples=500)
    assert found.p is not None
    low, high = ends(found)
    assert (found.p < 1 - confidence) == (not low <= 0 <= high)


@given(st.one_of(FEW, MANY))
def test_the_interval_contains_the_mean_within_the_scale(differences: list[float]) -> None:
    """-1 <= low <= mean <= high <= 1, low < high, and 0 < p <= 1."""
    found = paired_mean(differences, resamples=200)
    low, high = ends(found)
    assert found.interval.value == pytest.approx(fmean(differences))
    assert found.interval.value is not None
    assert found.p is not None
    assert -1 <= low <= found.interval.value <= high <= 1
    assert low < high
    assert 0 < found.p <= 1


@given(st.one_of(FEW, MANY), st.randoms(use_true_random=False))
def test_order_does_not_matter(differences: list[float], random: Any) -> None:
    """Permuted samples give the same p, and the same interval but for rounding."""
    permuted = list(differences)
    random.shuffle(permuted)
    found, again = (paired_mean(one, resamples=200) for one in (differences, permuted))
    assert found.p == again.p
    assert ends(found) == pytest.approx(ends(again), abs=1e-12)


@given(FEW)
def test_mirror(differences: list[float]) -> None:
    """Comparing A with B instead of B with A mirrors the interval and leaves p."""
    found, mirrored = paired_mean(differences), paired_mean([-one for one in differences])
    low, high = ends(mirrored)
    assert found.p == mirrored.p
    assert ends(found) == pytest.approx((-high, -low), abs=1e-9)


@given(FEW, st.floats(0.1, 100))
def test_change_of_scale(differences: list[float], width: float) -> None:
    """Differences on a wider scale have the same p, and an interval as much wider."""
    moved = paired_mean([width * one for one in differences], scale=(-width, width))
    found = paired_mean(differences)
    assert moved.p == found.p
    assert ends(moved) == pytest.approx([width * end for end in ends(found)], abs=1e-8 * width)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("ties", [0, 1, 30, 500])
def test_where_fewer_than_six_differ_nothing_is_shown(count: int, ties: int) -> None:
    """With up to five samples that differ p is 1/16 or more, and the interval is Gaffke's and holds 0."""
    differences = [0.9, 1.0, 0.8, 1.0, 0.7][:count] + [0.0] * ties
    found = paired_mean(differences)
    low, high = ends(found)
    assert found.p is not None
    assert found.p > 0.05
    assert found.interval.method == "Gaffke"
    assert low <= 0 < high
    assert high == mean_interval(differences, scale=(-1, 1)).high


def test_how_many_must_differ_depends_on_the_confidence() -> None:
    """At 99 % it takes eight samples, at 90 % five, until signs can reject anything."""
    for confidence, fewest in ((0.9, 5), (0.95, 6), (0.99, 8)):
        methods = [
            paired_mean([0.3, 0.2, 0.1, 0.4] * 3 + [0.0] * 9, confidence=confidence).interval.method,
            paired_mean(([0.3, 0.2, 0.1, 0.4] * 3)[:fewest], confidence=confidence).interval.method,
            paired_mean(([0.3, 0.2, 0.1, 0.4] * 3)[: fewest - 1], confidence=confidence).interval.method,
        ]
        assert methods == ["halves", "halves", "Gaffke"]


@pytest.mark.parametrize(("difference", "count"), [(0.0, 30), (0.5, 6), (0.02, 40), (-1.0, 12)])
def test_equal_differences_have_a_width(difference: float, count: int) -> None:
    """Where all samples differ by the same the interval is Gaffke's; p is still that of signs."""
    found = paired_mean([difference] * count)
    assert found.interval == mean_interval([difference] * count, scale=(-1, 1))
    assert found.p == pytest.approx(2.0 ** (1 - count) if difference else 1, abs=2e-4)


@given(MANY)
def test_every_sample_its_own_cluster(differences: list[float]) -> None:
    """Clusters of one sample, named or None, are no clusters."""
    expected = paired_mean(differences, resamples=200)
    for names in ([str(at) for at in range(len(differences))], [None] * len(differences)):
        found = paired_mean(differences, clusters=names, resamples=200)
        assert found.p == expected.p
        assert ends(found) == pytest.approx(ends(expected), abs=1e-9)


@given(FEW, st.integers(2, 4))
def test_copies_in_a_cluster_add_nothing(differences: list[float], copies: int) -> None:
    """Clusters of equal size whose samples are copies tell as much as the samples without copies."""
    names = [str(at) for at in range(len(differences))] * copies
    found, expected = paired_mean(differences * copies, clusters=names), paired_mean(differences)
    assert found.p == expected.p
    assert ends(found) == pytest.approx(ends(expected), abs=1e-9)


@settings(max_examples=60)
@given(GROUPED)
def test_the_samples_of_a_cluster_change_sign_together(rows: list[tuple[float, str]]) -> None:
    """With clusters p is the share of all ways to swap the systems on whole clusters."""
    differences, clusters = zip(*rows, strict=True)
    sums = [sum(one for one, name in rows if name == cluster) for cluster in sorted(set(clusters))]
    found = paired_mean(differences, clusters=clusters)
    assert found.p == pytest.approx(p_by_signs(sums), abs=1e-12)
    assert found.interval.method in ("halves of clusters", "Gaffke over clusters")
    assert found.interval.value == pytest.approx(fmean(differences))


@settings(max_examples=30)
@given(GROUPED, st.randoms(use_true_random=False))
def test_clusters_in_another_order(rows: list[tuple[float, str]], random: Any) -> None:
    """Permuted samples with their clusters give the same p, and the same interval but for rounding."""
    permuted = list(rows)
    random.shuffle(permuted)
    found, again = (
        paired_mean([one for one, _ in each], clusters=[name for _, name in each]) for each in (rows, permuted)
    )
    assert found.p == again.p
    assert ends(found) == pytest.approx(ends(again), abs=1e-12)


def test_clusters_widen() -> None:
    """Samples that agree within documents say less than independent ones."""
    chance = np.random.default_rng(0)
    shared = chance.normal(0.05, 0.2, 20)
    differences = (np.repeat(shared, 5) + chance.normal(0, 0.02, 100)).clip(-1, 1).tolist()
    low, high = ends(paired_mean(differences, clusters=[str(at // 5) for at in range(100)]))
    low_alone, high_alone = ends(paired_mean(differences))
    assert low < low_alone < high_alone < high


def test_random_ways_come_close_to_all_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve samples divided at random give nearly what all 4096 ways give."""
    differences = [0.5, 0.25, -0.1, 0.3, 0.0, 0.2, -0.2, 0.4, 0.35, 0.1, -0.05, 0.15]
    exact = paired_mean(differences)
    monkeypatch.setattr(halves, "ALL_WAYS", 5)
    random = paired_mean(differences, resamples=50_000)
    assert random.p == pytest.approx(exact.p, abs=0.005)
    assert ends(random) == pytest.approx(ends(exact), abs=0.01)


def test_the_seed_decides() -> None:
    """The same seed gives the same result, another one a p close by."""
    differences = np.random.default_rng(0).normal(0.02, 0.2, 60).clip(-1, 1).tolist()
    assert paired_mean(differences, seed=1) == paired_mean(differences, seed=1)
    assert paired_mean(differences, seed=1).p == pytest.approx(paired_mean(differences, seed=2).p, abs=0.02)


def test_many_normal_differences_come_to_students_interval() -> None:
    """Where Student's t is right, the interval is as wide as t's within a twentieth."""
    differences = np.random.default_rng(0).normal(0.1, 0.2, 200).clip(-1, 1).tolist()
    low, high = ends(paired_mean(differences))
    half = 1.972 * stdev(differences) / 200**0.5
    assert high - low == pytest.approx(2 * half, rel=0.05)
    assert (low + high) / 2 == pytest.approx(fmean(differences), abs=0.1 * half)


@pytest.mark.parametrize(
    "draw", [lambda c: c.normal(0, 0.2, 20), lambda c: c.choice((-1, 0, 1), 20, p=(0.3, 0.4, 0.3))]
)
def test_false_alarms_are_rare(draw: Callable[[np.random.Generator], Any]) -> None:
    """Over 300 seeded data sets without a difference, no more than 7 % come to p < 0.05."""
    chance = np.random.default_rng(0)
    found = [paired_mean(draw(chance).clip(-1, 1).astype(float).tolist(), resamples=400) for _ in range(300)]
    assert sum(one.p is not None and one.p < 0.05 for one in found) <= 0.07 * len(found)


def test_memory_is_bounded() -> None:
    """10,000 distinct differences and 10,000 ways to divide them need some megabytes, not the gigabyte of all signs."""
    differences = np.random.default_rng(0).uniform(-1, 1, 10_000).tolist()
    tracemalloc.start()
    found = paired_mean(differences)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.interval.method == "halves"
    assert peak < 30e6


def test_nothing_to_compare_has_no_number() -> None:
    """Without a sample there is no value, no interval and no p."""
    assert paired_mean([]) == Paired(Interval(None, None, None, "halves"), None)
    assert paired_aggregate([], [], pooled) == Paired(Interval(None, None, None, "halves"), None)


@pytest.mark.parametrize(
    ("differences", "given", "message"),
    [
        ([0.5, 1.5], {}, r"values\[1\] = 1.5 is not on the scale \(-1.0, 1.0\)"),
        ([float("nan")], {}, "not on the scale"),
        ([0.5], {"scale": (1.0, -1.0)}, "the lower first"),
        ([0.5], {"clusters": ["a", "b"]}, "2 clusters for 1 samples"),
        ([0.5], {"confidence": 1.0}, "confidence=1.0"),
        ([0.5], {"resamples": 0}, "resamples=0"),
    ],
)
def test_bad_differences_are_named(differences: list[float], given: dict[str, Any], message: str) -> None:
    """Differences or settings that make no sense are errors that say how to mend them."""
    with pytest.raises(BadParameter, match=message):
        paired_mean(differences, **given)


def pooled(sums: Sequence[float]) -> float | None:
    """Hits over total."""
    return Share(*sums).value


def f1(sums: Sequence[float]) -> float | None:
    """F1 of true positives, false positives and false negatives."""
    return Overlap(*sums).value


HITS = st.integers(0, 4).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))
OVERLAPS = st.tuples(*[st.integers(0, 3)] * 3)


@settings(max_examples=40)
@given(st.lists(st.tuples(HITS, HITS), min_size=1, max_size=7))
def test_over_the_data_set_by_trying_all_parts(rows: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """p is the share of ways to divide the samples in which 0 lies between the differences of the two parts."""
    firsts, seconds = zip(*rows, strict=True)
    found = paired_aggregate(firsts, seconds, pooled)
    whole = _apart(rows)
    if whole is None:
        assert found == Paired(Interval(None, None, None, "halves"), None)
        return
    around = []
    for signs in _signs(len(rows)):
        parts = [_apart([row for row, sign in zip(rows, signs, strict=True) if sign == side]) for side in (1, -1)]
        known = [whole, *(one for one in parts if one is not None)]
        around.append(None in parts or (min(known) <= 1e-9 and max(known) >= -1e-9))
    assert found.interval.value == pytest.approx(whole)
    assert found.p == pytest.approx(fmean(around))


def _apart(rows: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> float | None:
    """The second less the first share over the samples of a part."""
    shares = [pooled([sum(row[run][column] for row in rows) for column in (0, 1)]) for run in (0, 1)]
    return None if shares[0] is None or shares[1] is None else shares[1] - shares[0]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=10))
def test_a_pooled_value_of_equal_totals_is_a_mean(rows: list[tuple[bool, bool]]) -> None:
    """Where every sample counts one, the pooled difference has the p and the interval of the mean difference."""
    found = paired_aggregate([(one, 1) for one, _ in rows], [(other, 1) for _, other in rows], pooled)
    expected = paired_mean([float(other) - float(one) for one, other in rows])
    assert found.p == expected.p
    assert found.interval.value == pytest.approx(expected.interval.value)
    if expected.interval.method == "halves":
        assert ends(found) == pytest.approx(ends(expected))


@settings(max_examples=60)
@given(st.lists(st.tuples(OVERLAPS, OVERLAPS), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_an_f1_of_the_data_set(rows: list[tuple[tuple[int, ...], tuple[int, ...]]], random: Any) -> None:
    """-1 <= low <= difference <= high <= 1 with 0 outside only where p < 0.05; the order makes no difference."""
    firsts, seconds = ([row[run] for row in rows] for run in (0, 1))
    found = paired_aggregate(firsts, seconds, f1, resamples=200)
    low, high = ends(found)
    assert found.interval.value is not None
    assert found.p is not None
    assert -1 <= low <= found.interval.value <= high <= 1
    assert low < high
    assert found.p < 0.05 or low <= 0 <= high
    order = list(range(len(rows)))
    random.shuffle(order)
    again = paired_aggregate([firsts[at] for at in order], [seconds[at] for at in order], f1, resamples=200)
    assert again.p == found.p
    assert ends(again) == pytest.approx(ends(found), abs=1e-12)


def test_equal_runs_differ_by_nothing() -> None:
    """A run compared with itself differs by 0 with p = 1, and an interval that is not of zero width."""
    counts = [(2, 3), (1, 1), (0, 4), (5, 5)] * 5
    found = paired_aggregate(counts, counts, pooled)
    low, high = ends(found)
    assert (found.interval.value, found.p) == (0, 1)
    assert found.interval.method == "Bayesian bootstrap"
    assert low < 0 < high


def test_where_few_counts_differ_nothing_is_shown() -> None:
    """With five samples that differ p stays above 0.05 and the interval holds 0, however large the difference."""
    found = paired_aggregate([(0, 9)] * 5 + [(1, 1)] * 9, [(9, 9)] * 5 + [(1, 1)] * 9, pooled)
    low, high = ends(found)
    assert found.p is not None
    assert found.p > 0.05
    assert low <= 0 < high


def test_a_recall_of_few_samples_is_as_uncertain_as_they_are() -> None:
    """Five unanswerable queries among 300 cannot show a difference of refusals; eight can."""
    for unanswerable, shown in ((5, False), (8, True)):
        rest = [(0, 0)] * (300 - unanswerable)
        found = paired_aggregate([(0, 1)] * unanswerable + rest, [(1, 1)] * unanswerable + rest, pooled)
        low, high = ends(found)
        assert found.interval.value == 1
        assert found.p is not None
        assert (found.p < 0.05) is shown
        assert (low > 0) is shown
        assert high == 1


def test_systems_of_unequal_length_raise_no_more_false_alarms() -> None:
    """Where one system makes three times as many claims, equally good ones come to p < 0.05 in 7 of 100 or fewer."""
    chance = np.random.default_rng(0)
    alarms = 0
    for _ in range(200):
        quality, totals = chance.beta(0.9, 0.1, (2, 10)), (chance.integers(1, 7, 10), chance.integers(1, 21, 10))
        first, second = (
            [(float(hits), float(total)) for hits, total in zip(chance.binomial(n, q), n, strict=True)]
            for n, q in zip(totals, quality, strict=True)
        )
        p = paired_aggregate(first, second, pooled).p
        alarms += p is not None and p < 0.05
    assert alarms <= 14


def test_clusters_widen_over_the_data_set() -> None:
    """Counts that agree within documents say less than independent ones."""
    first = [(1, 4)] * 30 + [(2, 4)] * 30
    second = [(2, 4)] * 30 + [(1, 4)] * 20 + [(4, 4)] * 10
    clustered = paired_aggregate(first, second, pooled, clusters=[str(at // 5) for at in range(60)])
    alone = paired_aggregate(first, second, pooled)
    assert clustered.interval.method == "halves of clusters"
    assert clustered.interval.value == alone.interval.value
    assert ends(clustered)[0] < ends(alone)[0] < ends(alone)[1] < ends(clustered)[1]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([(1, 2), (1, -1)], [(1, 2), (1, 1)], "counts are finite and not negative"),
        ([(1, 2), (1, 2)], [(1, 2), (1,)], r"counts\[1\] has 3 numbers, counts\[0\] has 4"),
        ([(1, inf)], [(1, 2)], "counts are finite"),
    ],
)
def test_bad_counts_are_named(first: list[tuple[float, ...]], second: list[tuple[float, ...]], message: str) -> None:
    """Counts that make no sense are errors that say how to mend them."""
    with pytest.raises(BadParameter, match=message):
        paired_aggregate(first, second, pooled)


def test_the_detectable_difference_is_found_four_times_in_five() -> None:
    """A true difference of that size comes to p < 0.05 in about 80 of 100 comparisons of that size."""
    chance = np.random.default_rng(0)
    size = detectable(chance.normal(0, 0.2, 20_000).tolist())
    assert size is not None
    size *= (20_000 / 60) ** 0.5
    found = [paired_mean(chance.normal(size, 0.2, 60).clip(-1, 1).tolist(), resamples=400) for _ in range(200)]
    assert 0.7 <= fmean(one.p is not None and one.p < 0.05 for one in found) <= 0.9


def test_the_detectable_difference_shrinks_with_the_root_of_n() -> None:
    """Four times the samples detect half the difference, nearly; copies within clusters detect no more."""
    differences = [0.5, -0.25, 0.1, 0.0, 0.4, -0.3, 0.2, 0.05] * 5
    one, four = detectable(differences), detectable(differences * 4)
    copies = detectable(differences * 4, clusters=[str(at) for at in range(40)] * 4)
    assert one is not None
    assert four == pytest.approx(one / 2, rel=0.02)
    assert copies == pytest.approx(one)


@pytest.mark.parametrize("differences", [[], [0.5], [0.1, 0.2, 0.3, 0.4, 0.5], [0.5] * 20, [0.0] * 20 + [1.0] * 5])
def test_what_is_detectable_cannot_always_be_told(differences: list[float]) -> None:
    """None where fewer than six samples differ, and where all differ by the same."""
    assert detectable(differences) is None


def test_holm_by_hand() -> None:
    """The smallest of three p-values counts three times, the next twice, and no adjusted one lies below the last."""
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})
    assert holm({"a": 0.9, "b": 0.5}) == pytest.approx({"a": 1.0, "b": 1.0})
    assert holm({}) == {}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_holm_keeps_the_order(p_values: list[float], random: Any) -> None:
    """Adjusted p-values are no smaller, at most 1, in the same order, and do not depend on the order of metrics."""
    named = {str(at): p for at, p in enumerate(p_values)}
    adjusted = holm(named)
    assert list(adjusted) == list(named)
    assert all(named[key] <= adjusted[key] <= 1 for key in named)
    assert all(adjusted[a] <= adjusted[b] for a in named for b in named if named[a] < named[b])
    shuffled = list(named)
    random.shuffle(shuffled)
    assert holm({key: named[key] for key in shuffled}) == adjusted
