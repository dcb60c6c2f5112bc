"""Agreement with people's labels: AUC, balanced accuracy and their intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.statistics.agreement import auc, balanced_accuracy, group_interval

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


def test_no_rows_give_no_interval() -> None:
    """Without rows, or with one label only, there is nothing to say."""
    assert group_interval([], [], []) is None
    assert group_interval([1, 1], [0.2, 0.3], [0, 1], resamples=20) is None
