"""Kappa: agreement beyond chance."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.statistics.agreement import kappa, kappa_interval

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
    for reply, count in patterns.items():
        moved[tuple(reply[at] for at in order)] += count
    value = kappa(patterns)
    assert kappa(moved) == (None if value is None else pytest.approx(value))
    assert value is None or value <= 1


@given(PATTERNS)
def test_three_raters_have_the_figures_of_their_pairs(patterns: dict[tuple[str, ...], int]) -> None:
    """Agreement and chance agreement of three raters are the means over their three pairs."""
    total = sum(patterns.values())
    agreed, chance = [], []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        agreed.append(sum(n for reply, n in patterns.items() if reply[a] == reply[b]) / total)
        rates = [{c: sum(n for reply, n in patterns.items() if reply[r] == c) / total for c in "abc"} for r in (a, b)]
        chance.append(sum(rates[0][c] * rates[1][c] for c in "abc"))
    observed, expected = sum(agreed) / 3, sum(chance) / 3
    value = kappa(patterns)
    assert value == (None if expected == pytest.approx(1) else pytest.approx((observed - expected) / (1 - expected)))


def test_an_interval_of_kappa_has_a_width() -> None:
    """The interval holds kappa and shrinks with the number of things; raters that always agree are no exception."""
    agreed = [("yes", "yes"), ("no", "no")]
    few, many = (kappa_interval(agreed * n, ("yes", "no")) for n in (5, 100))
    assert few.value == many.value == 1
    assert few.low is not None
    assert many.low is not None
    assert few.low < many.low < 1
    mixed = kappa_interval([*agreed * 10, ("yes", "no"), ("no", "yes")], ("yes", "no"))
    assert mixed.low is not None
    assert mixed.high is not None
    assert mixed.low < (mixed.value or 0) < mixed.high


def test_an_interval_of_kappa_is_undefined_where_kappa_is() -> None:
    """Without anything rated, and where all was given one label, there is neither kappa nor interval."""
    assert kappa_interval([], ("yes", "no")).value is None
    alike = kappa_interval([("yes", "yes")] * 9, ("yes", "no"))
    assert (alike.value, alike.low, alike.high) == (None, None, None)


def test_clusters_widen_the_interval_of_kappa() -> None:
    """Things of one cluster count as one draw."""
    pairs = [("yes", "yes"), ("no", "no"), ("no", "yes")] * 8
    alone = kappa_interval(pairs, ("yes", "no"))
    together = kappa_interval(pairs, ("yes", "no"), clusters=[str(at % 6) for at in range(24)])
    assert alone.value == together.value
    assert (together.high or 0) - (together.low or 0) > (alone.high or 0) - (alone.low or 0)
