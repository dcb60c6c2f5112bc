"""Ways to divide samples in two."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.statistics.paired import BLOCK_SIZE, MAX_EXHAUSTIVE, halves

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 2)), min_size=1, max_size=8)


@given(ROWS)
def test_few_rows_are_divided_in_every_way(rows: list[tuple[int, int]]) -> None:
    """Up to thirteen rows, each subset is the one side of one way, and the rest the other."""
    one, other = halves(np.array(rows, dtype=float), resamples=1)
    subsets = [subset for size in range(len(rows) + 1) for subset in combinations(rows, size)]
    assert sorted(map(tuple, one.tolist())) == sorted(tuple(map(float, np.sum([(0, 0), *s], axis=0))) for s in subsets)
    assert (one + other == np.sum(rows, axis=0)).all()


def test_many_rows_are_divided_at_random() -> None:
    """Beyond thirteen rows the divisions are random, plus the one that leaves a side empty."""
    rows = np.arange(40, dtype=float).reshape(20, 2)
    one, other = halves(rows, resamples=300)
    assert one.shape == (301, 2)
    assert (other[0] == 0).all()
    assert np.allclose(one + other, rows.sum(axis=0))
    assert len(np.unique(one, axis=0)) > 150


@pytest.mark.parametrize("rows", [np.arange(50.0)[:, None], np.repeat([[1.0], [5.0], [7.0]], [20, 29, 1], axis=0)])
def test_either_side_gets_its_share(rows: np.ndarray) -> None:
    """Over random ways the sum of a side has the mean and the spread of fair coins, for distinct and equal rows."""
    one, _ = halves(rows, resamples=20_000)
    assert one.mean() == pytest.approx(rows.sum() / 2, rel=0.01)
    assert one.std() == pytest.approx(np.sqrt((rows**2).sum()) / 2, rel=0.02)


def test_a_side_that_is_left_empty_sums_to_nothing() -> None:
    """Sums that rounding keeps from cancelling are no less 0 where one side has all rows."""
    for count in (12, 20):
        rows = np.random.default_rng(count).uniform(-1, 1, (count, 2))
        one, other = halves(rows, resamples=10)
        full = np.isclose(one, rows.sum(axis=0), rtol=0, atol=1e-12).all(axis=1)
        assert full.any()
        assert (other[full] == 0).all()


def test_the_order_of_rows_makes_no_difference() -> None:
    """The same rows in another order give exactly the same ways."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    rows[10:30] = rows[0]
    for mine, theirs in zip(halves(rows, 50), halves(rows[::-1], 50), strict=True):
        assert np.allclose(mine, theirs, rtol=0, atol=1e-12)


def test_more_rows_than_a_block_holds() -> None:
    """Ways are drawn in blocks of a bounded size, one way at a time where a single one is larger."""
    rows = np.random.default_rng(0).normal(size=(BLOCK_SIZE + 1, 1))
    one, _ = halves(rows, resamples=3)
    assert one.shape == (4, 1)
    assert len(set(one[:, 0])) == 4
    assert len(rows) > MAX_EXHAUSTIVE
