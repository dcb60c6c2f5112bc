"""Agreement with people's labels: AUC, balanced accuracy and their intervals."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.statistics.agreement import (
    Statistic,
    auc,
    balanced_accuracy,
    best_threshold,
    calibration_error,
    group_difference,
    group_interval,
)

SCORE = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9])
PAIRED = st.lists(st.tuples(st.integers(0, 1), SCORE, SCORE, st.integers(0, 9)), min_size=12, max_size=40)
ROWS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9])), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("labels", "scores", "expected"),
    [
        ([0, 1], [0.1, 0.9], 1.0),
        ([0, 1], [0.9, 0.1], 0.0),
        ([0, 1], [0.5, 0.5], 0.5),
        ([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.75),
    ],
)
def test_auc_of_small_sets(labels: list[int], scores: list[float], expected: float) -> None:
    """Worked by hand: the share of pairs in the right order, ties half."""
    assert auc(labels, scores) == pytest.approx(expected)


@given(ROWS)
def test_auc_counts_pairs(rows: list[tuple[int, float]]) -> None:
    """The ranks give what counting every pair of a 1 and a 0 gives."""
    ones = [score for label, score in rows if label]
    zeros = [score for label, score in rows if not label]
    value = auc([label for label, _ in rows], [score for _, score in rows])
    if not ones or not zeros:
        assert value is None
    else:
        wins = sum((one > zero) + (one == zero) / 2 for one in ones for zero in zeros)
        assert value == pytest.approx(wins / (len(ones) * len(zeros)))


@given(ROWS)
def test_balanced_accuracy_is_the_mean_of_both_recalls(rows: list[tuple[int, float]]) -> None:
    """Worked out from the definition: the share of ones found and the share of zeros found count alike."""
    ones = [score >= 0.5 for label, score in rows if label]
    zeros = [score < 0.5 for label, score in rows if not label]
    value = balanced_accuracy([label for label, _ in rows], [score >= 0.5 for _, score in rows])
    if not ones or not zeros:
        assert value is None
    else:
        assert value == pytest.approx((sum(ones) / len(ones) + sum(zeros) / len(zeros)) / 2)


def test_the_interval_holds_the_figure_and_repeats() -> None:
    """Resampling with one seed gives one interval, around the figure itself."""
    labels, scores = [0, 1] * 40, [(at * 7 % 13) / 13 + (at % 2) * 0.3 for at in range(80)]
    interval = group_interval(labels, scores, range(80), resamples=300)
    value = auc(labels, scores)
    assert interval is not None
    assert value is not None
    assert interval[0] <= value <= interval[1]
    assert interval == group_interval(labels, scores, range(80), resamples=300)


def test_rows_that_belong_together_widen_the_interval() -> None:
    """Eight copies of each row in one group say no more than the row alone."""
    labels, scores = [0, 1] * 10, [(at * 7 % 13) / 13 + (at % 2) * 0.3 for at in range(20)]
    copies = [at % 20 for at in range(160)]
    grouped = group_interval(labels * 8, scores * 8, copies, resamples=300)
    alone = group_interval(labels * 8, scores * 8, range(160), resamples=300)
    assert grouped is not None
    assert alone is not None
    assert grouped[1] - grouped[0] > alone[1] - alone[0]


@pytest.mark.parametrize("statistic", [auc, balanced_accuracy])
@pytest.mark.parametrize("ones", [2, 4, 10])
def test_a_few_right_rows_leave_room_for_mistakes(statistic: Statistic, ones: int) -> None:
    """Twenty rows that are all right reach to 1, and down to a share of ones right that could still give them."""
    labels = [1] * ones + [0] * (20 - ones)
    interval = group_interval(labels, labels, range(20), statistic, resamples=300)
    assert interval is not None
    assert interval[0] < (1 + 0.025 ** (1 / ones)) / 2 + 0.05  # Clopper and Pearson's end for the ones
    assert interval[1] == 1


def test_no_rows_give_no_interval() -> None:
    """Without rows, or with one label only, there is nothing to say."""
    assert group_interval([], [], []) is None
    assert group_interval([1, 1], [0.2, 0.3], [0, 1], resamples=20) is None


def _columns(rows: list[tuple[int, float, float, int]]) -> tuple[list[int], list[float], list[float], list[int]]:
    labels, one, other, groups = map(list, zip(*rows, strict=True))
    return labels, one, other, groups


@given(PAIRED)
def test_a_difference_turns_with_the_judges(rows: list[tuple[int, float, float, int]]) -> None:
    """The other way round it has the other sign, its interval too, and the same p."""
    labels, one, other, groups = _columns(rows)
    there = group_difference(labels, one, other, groups, resamples=100)
    back = group_difference(labels, other, one, groups, resamples=100)
    assert there.p == back.p
    if there.interval.value is None:
        assert auc(labels, one) is None
    else:
        ends = (there.interval.value, there.interval.low, there.interval.high)
        assert back.interval.low is not None
        assert back.interval.high is not None
        assert ends == (-(back.interval.value or 0.0), -back.interval.high, -back.interval.low)


@given(PAIRED)
def test_p_and_interval_tell_the_same(rows: list[tuple[int, float, float, int]]) -> None:
    """0 lies outside of the interval just where p is below 0.05; p is never 0, and never above 1."""
    found = group_difference(*_columns(rows), resamples=100)
    if found.p is not None:
        assert found.interval.low is not None
        assert found.interval.high is not None
        assert (not found.interval.low <= 0 <= found.interval.high) == (found.p < 0.05)
        assert 2 / 101 <= found.p <= 1


@given(PAIRED)
def test_only_the_order_of_scores_counts(rows: list[tuple[int, float, float, int]]) -> None:
    """Two judges that put all rows in the same order are equal, on whatever scale each of them scores."""
    labels, one, _, groups = _columns(rows)
    found = group_difference(labels, one, [score**3 - 7 for score in one], groups, resamples=100)
    assert found.interval.value in (None, 0.0)
    assert found.interval.low in (None, 0.0, -1.0)
    assert found.p in (None, 1.0)


def test_a_difference_is_drawn_as_all_resamples_would_have_it() -> None:
    """On six groups every resample can be worked out with its chance, which gives the exact p and interval."""
    groups = [at // 4 for at in range(24)]
    labels = [0, 1] * 12
    random = np.random.default_rng(3)
    one, other = (random.normal(np.array(labels) * shift, 1.0) for shift in (1.2, 0.3))
    exact: list[tuple[float, float]] = []
    for drawn in combinations_with_replacement(range(6), 6):
        rows = [4 * group + at for group in drawn for at in range(4)]
        chance = factorial(6) / prod(map(factorial, Counter(drawn).values())) / 6**6
        truth = [labels[row] for row in rows]
        exact.append(((auc(truth, one[rows]) or 0.0) - (auc(truth, other[rows]) or 0.0), chance))
    below = sum(chance for value, chance in exact if value <= 0)
    found = group_difference(labels, list(one), list(other), groups, resamples=4000)
    assert found.p == pytest.approx(2 * min(below, 1 - below), abs=0.02)
    for end, share in ((found.interval.low, 0.025), (found.interval.high, 0.975)):
        assert end is not None
        assert sum(chance for value, chance in exact if value < end) <= share + 0.01
        assert sum(chance for value, chance in exact if value <= end) >= share - 0.01


@pytest.mark.slow
def test_equally_good_judges_seldom_differ_significantly() -> None:
    """Of 100 pairs of judges that differ by chance alone, on 40 questions of three rows, about one in twenty is."""
    random = np.random.default_rng(0)
    groups, labels = np.repeat(np.arange(40), 3), np.tile([0, 1, 1], 40)
    false = 0
    for _ in range(100):
        shared = labels + random.normal(0, 1, 40).repeat(3)
        one, other = (shared + random.normal(0, 1, 120) for _ in range(2))
        found = group_difference(list(labels), list(one), list(other), list(groups), resamples=200)
        false += found.p is not None and found.p < 0.05
    assert 1 <= false <= 10


def test_a_difference_needs_groups_and_resamples() -> None:
    """Five groups are too few to tell anything, however large the difference; ten resamples have no 95 % interval."""
    labels, right, wrong = [0, 1] * 5, [0.1, 0.9] * 5, [0.9, 0.1] * 5
    few = group_difference(labels, right, wrong, [at // 2 for at in range(10)])
    assert (few.interval.value, few.interval.low, few.interval.high, few.p) == (1.0, -1.0, 1.0, 1.0)
    none = group_difference([1, 1], [0.1, 0.2], [0.3, 0.1], [1, 2])
    assert (none.interval.value, none.p) == (None, None)
    assert group_difference(labels, right, wrong, range(10), resamples=10) == few


def test_the_calibration_error_is_what_is_said_less_what_is_true() -> None:
    """Ten rows at .8 of which seven are true are .1 off, and ten at .2 of which two are true not at all."""
    labels, said = [1] * 7 + [0] * 3 + [1] * 2 + [0] * 8, [0.8] * 10 + [0.2] * 10
    assert calibration_error(labels, said) == pytest.approx(0.05)
    assert calibration_error([], []) is None


def test_the_best_threshold_is_that_of_the_best_balanced_accuracy() -> None:
    """It is the lowest probability from which rows are called 1; without both labels there is none."""
    at, balanced = best_threshold([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5]) or (0.0, 0.0)
    assert at == 0.3
    assert balanced == pytest.approx(5 / 6)
    assert best_threshold([1, 1], [0.1, 0.9]) is None
