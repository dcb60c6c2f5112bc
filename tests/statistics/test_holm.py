"""P-values adjusted for several metrics."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.statistics.paired import holm


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
