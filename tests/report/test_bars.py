"""Bars next to numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragauge.report.wording import bar, difference_bar


def test_bars_by_hand() -> None:
    """Half the scale is four of eight cells; a difference points to its side and is cut off at 0.5."""
    assert (bar(0.5), bar(1.0), bar(0.0), bar(None), bar(4.0)) == ("████", "████████", "", "", "")
    assert (difference_bar(0.25), difference_bar(-0.25)) == ("    │██", "  ██│")
    assert (difference_bar(0.9), difference_bar(-0.9), difference_bar(None)) == ("    │████", "████│", "")


@given(st.floats(-1, 1))
def test_a_bar_fits_its_column(value: float) -> None:
    """A bar has at most eight cells; that of a difference starts at the fifth of nine."""
    assert len(bar(abs(value))) <= 8
    assert difference_bar(value).ljust(9)[4] == "│"
    assert len(difference_bar(value)) <= 9
