"""Spearman's rank correlation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.statistics.agreement import average_ranks, spearman

PAIRS = st.lists(st.tuples(st.sampled_from([0, 0.25, 0.5, 1]), st.sampled_from([0, 1, 2, 3])), max_size=20)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),  # 1 - 6 * 4 / (5 * 24)
        ([1, 1, 2], [1, 2, 3], 3**0.5 / 2),  # ranks 1.5 1.5 3 and 1 2 3
    ],
)
def test_worked_by_hand(one: list[float], other: list[float], expected: float) -> None:
    """Small cases agree with the definition, ties among them."""
    assert spearman(one, other) == pytest.approx(expected)


@pytest.mark.parametrize(("one", "other"), [([], []), ([1], [2]), ([1, 1], [1, 2]), ([1, 2], [3, 3])])
def test_without_an_order_there_is_no_correlation(one: list[float], other: list[float]) -> None:
    """Where a side has fewer than two different values the correlation is undefined, never 0 or NaN."""
    assert spearman(one, other) is None


@given(PAIRS)
def test_only_the_order_counts(pairs: list[tuple[float, float]]) -> None:
    """It is symmetric, in -1..1, changes its sign when one side is turned round, and no change of scale moves it."""
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    value = spearman(one, other)
    if value is not None:
        assert -1 <= value <= 1
        assert spearman(other, one) == pytest.approx(value)
        assert spearman([-a for a in one], other) == pytest.approx(-value)
        assert spearman([a**3 + 7 for a in one], other) == pytest.approx(value)


def test_equal_values_share_their_ranks() -> None:
    """Ranks count from 1, and the sum of all ranks is that of distinct values."""
    assert average_ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]
