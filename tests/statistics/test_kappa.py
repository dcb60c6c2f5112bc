"""Kappa: agreement beyond chance."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.statistics.kappa import kappa

PATTERNS = st.dictionaries(st.tuples(*[st.sampled_from("abc")] * 3), st.integers(1, 50), min_size=1)


def test_cohens_kappa_of_two_raters() -> None:
    """A table of Cohen's form, 20 and 15 agreed of 50, with base rates 0.5 and 0.6, has the kappa 0.4."""
    table: dict[tuple[str, ...], int] = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
    assert kappa(table) == pytest.approx(0.4)


def test_full_agreement_is_one_and_opposition_is_below_nothing() -> None:
    """Raters who always agree have a kappa of 1, raters who always contradict each other at equal rates one of -1."""
    assert kappa({("a", "a", "a"): 3, ("b", "b", "b"): 4}) == 1
    assert kappa({("a", "b"): 5, ("b", "a"): 5}) == -1


@pytest.mark.parametrize("table", [{}, {("a", "a"): 9}])
def test_without_anything_to_tell_it_is_undefined(table: dict[tuple[str, ...], int]) -> None:
    """Nothing rated, or one label throughout, gives no kappa."""
    assert kappa(table) is None


@given(PATTERNS, st.permutations(range(3)))
def test_raters_have_no_order(patterns: dict[tuple[str, ...], int], order: list[int]) -> None:
    """Kappa stays the same when the raters change places, and is never above 1."""
    moved: Counter[tuple[str, ...]] = Counter()
    for said, count in patterns.items():
        moved[tuple(said[at] for at in order)] += count
    value = kappa(patterns)
    assert kappa(moved) == (None if value is None else pytest.approx(value))
    assert value is None or value <= 1


@given(PATTERNS)
def test_three_raters_have_the_figures_of_their_pairs(patterns: dict[tuple[str, ...], int]) -> None:
    """Agreement and chance agreement of three raters are the means over their three pairs."""
    total = sum(patterns.values())
    agreed, chance = [], []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        agreed.append(sum(n for said, n in patterns.items() if said[a] == said[b]) / total)
        rates = [{c: sum(n for said, n in patterns.items() if said[r] == c) / total for c in "abc"} for r in (a, b)]
        chance.append(sum(rates[0][c] * rates[1][c] for c in "abc"))
    observed, expected = sum(agreed) / 3, sum(chance) / 3
    value = kappa(patterns)
    assert value == (None if expected == pytest.approx(1) else pytest.approx((observed - expected) / (1 - expected)))
