"""Paired differences: the test by signs, the interval of what it does not reject, and how both are described."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from math import comb
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.statistics.signs import FEW, MANY, SHARES, ends, p_by_signs, pooled

from ragauge.errors import BadParameter
from ragauge.statistics import paired
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.statistics.paired import Paired, paired_aggregate, paired_mean


@given(FEW)
@example([0.1, 0.2, -0.3])
@example([0.5, 0.25, -0.1, 0.3, 0.0, 0.2, -0.2, 0.4, 0.35])
def test_p_is_that_of_all_signs(differences: list[float]) -> None:
    """For few samples p is the share of all ways to swap systems that lead to a difference as large."""
    assert paired_mean(differences).p == pytest.approx(p_by_signs(differences), abs=1e-12)


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
    assert paired_mean(differences).p == pytest.approx(_mcnemar(up, down))


def _mcnemar(up: int, down: int) -> float:
    tail = sum(comb(up + down, k) for k in range(max(up, down), up + down + 1)) / 2 ** (up + down)
    return min(1.0, 2 * float(tail))


@settings(max_examples=30)
@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([0.5, 1.0]))
@example(33, 18, 1.0)
@example(22, 10, 1.0)
def test_many_samples_have_mcnemars_test(up: int, down: int, size: float) -> None:
    """Where all of many samples that differ do so equally, p is the exact one, and the interval agrees with it."""
    found = paired_mean([size] * up + [-size] * down + [0.0] * (100 - up - down), resamples=2000)
    assert found.p is not None
    assert found.p == pytest.approx(_mcnemar(up, down), rel=1e-9)
    low, high = ends(found)
    assert (not low <= 0 <= high) == (found.p < 0.05)


@given(FEW, st.integers(1, 30))
def test_samples_without_a_difference_leave_p_exact(differences: list[float], ties: int) -> None:
    """However many samples do not differ, p is that of all signs of the others."""
    assert paired_mean(differences + [0.0] * ties, resamples=200).p == pytest.approx(p_by_signs(differences), abs=1e-12)


def test_the_smallest_p_is_a_number() -> None:
    """Ten thousand samples that are all better have a p-value above 0."""
    assert 0 < (paired_mean([0.5] * 10_000, resamples=10).p or 0) < 1e-99


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


def test_random_ways_come_close_to_all_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve samples divided at random give nearly what all 4096 ways give."""
    differences = [0.5, 0.25, -0.1, 0.3, 0.0, 0.2, -0.2, 0.4, 0.35, 0.1, -0.05, 0.15]
    exact = paired_mean(differences)
    monkeypatch.setattr(paired, "MAX_EXHAUSTIVE", 5)
    random = paired_mean(differences, resamples=50_000)
    assert random.p == pytest.approx(exact.p, abs=0.005)
    assert ends(random) == pytest.approx(ends(exact), abs=0.01)


def test_the_same_differences_give_the_same_result() -> None:
    """The random divisions have a fixed seed."""
    differences = np.random.default_rng(0).normal(0.02, 0.2, 60).clip(-1, 1).tolist()
    assert paired_mean(differences) == paired_mean(differences)


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
    """Differences or settings that make no sense are errors that say how to fix them."""
    with pytest.raises(BadParameter, match=message):
        paired_mean(differences, **given)
