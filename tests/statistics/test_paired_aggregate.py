"""Differences of a value over the data set: the test and the interval by dividing the samples."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.statistics.signs import all_signs, ends, pooled

from ragauge.errors import BadParameter
from ragauge.scores import F1Counts
from ragauge.statistics.intervals import Interval
from ragauge.statistics.paired import Paired, paired_aggregate, paired_mean


def f1(sums: Sequence[float]) -> float | None:
    """F1 of true positives, false positives and false negatives."""
    return F1Counts(*sums).value


HITS = st.integers(0, 4).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))
OVERLAPS = st.tuples(*[st.integers(0, 3)] * 3)


@settings(max_examples=25)
@given(st.lists(st.tuples(HITS, HITS), min_size=1, max_size=6))
def test_over_the_data_set_by_trying_all_parts(rows: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """p is the share of ways to divide the samples in which 0 lies between the differences of the two parts."""
    firsts, seconds = zip(*rows, strict=True)
    found = paired_aggregate(firsts, seconds, pooled)
    whole = _apart(rows)
    if whole is None:
        assert found == Paired(Interval(None, None, None, "halves"), None)
        return
    around = []
    for signs in all_signs(len(rows)):
        parts = [_apart([row for row, sign in zip(rows, signs, strict=True) if sign == side]) for side in (1, -1)]
        known = [whole, *(one for one in parts if one is not None)]
        around.append(None in parts or (min(known) <= 1e-9 and max(known) >= -1e-9))
    assert found.interval.value == pytest.approx(whole)
    assert found.p == pytest.approx(fmean(around))


def _apart(rows: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> float | None:
    """The second less the first share over the samples of a part."""
    shares = [pooled([sum(row[run][column] for row in rows) for column in (0, 1)]) for run in (0, 1)]
    return None if shares[0] is None or shares[1] is None else shares[1] - shares[0]


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=10))
def test_a_pooled_value_of_equal_totals_is_a_mean(rows: list[tuple[bool, bool]]) -> None:
    """Where every sample counts one, the pooled difference has the p and the interval of the mean difference."""
    found = paired_aggregate([(one, 1) for one, _ in rows], [(other, 1) for _, other in rows], pooled)
    expected = paired_mean([float(other) - float(one) for one, other in rows])
    assert found.p == expected.p
    assert found.interval.value == pytest.approx(expected.interval.value)
    if expected.interval.method == "halves":
        assert ends(found) == pytest.approx(ends(expected))


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


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([(1, 2), (1, -1)], [(1, 2), (1, 1)], "counts are finite and not negative"),
        ([(1, 2), (1, 2)], [(1, 2), (1,)], r"counts\[1\] has 3 numbers, counts\[0\] has 4"),
        ([(1, inf)], [(1, 2)], "counts are finite"),
    ],
)
def test_bad_counts_are_named(first: list[tuple[float, ...]], second: list[tuple[float, ...]], message: str) -> None:
    """Counts that make no sense are errors that say how to fix them."""
    with pytest.raises(BadParameter, match=message):
        paired_aggregate(first, second, pooled)
