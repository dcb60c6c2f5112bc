"""Numbers and dates of an answer that are others than those of its reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.embedded.answers import conflicts


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("It costs 15 euros.", "14 euros", True),
        ("It is €14 a month.", "14 euros", False),
        ("By 31 May.", "31 March", True),
        ("By May 31st, 2025.", "31 May 2025", False),
        ("In 1889 it had 20 cars.", "1890", True),
        ("On Sundays", "Monday", True),
        ("You may come on Mondays.", "Monday, from May on", False),
        ("Eight legs", "8", False),
        ("Six legs", "8", True),
        ("Two years", "24 months", False),
        ("2017", "In 2017, with a profit of 6.3 million", False),
        ("Late", "8 pm", False),
    ],
)
def test_values_of_one_sort_conflict(text: str, reference: str, expected: bool) -> None:
    """Another number of the same unit, year, month, day or weekday conflicts; another unit or none does not."""
    assert conflicts(text, reference) is expected


@given(st.text(alphabet="Maydue 0123456789.,€%", max_size=40))
def test_a_text_does_not_conflict_with_itself(text: str) -> None:
    """The same text has the same values."""
    assert not conflicts(text, text)
