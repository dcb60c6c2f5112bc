"""Numbers and dates of an answer that are others than those of its reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.judges.embedded.answers import conflicting


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("It costs 15 euros.", "14 euros", ["euro"]),
        ("It is €14 a month.", "14 euros", []),
        ("By 31 May.", "31 March", ["Month"]),
        ("By May 31st, 2025.", "31 May 2025", []),
        ("In 1889 it had 20 cars.", "1890", ["Year"]),
        ("On Sundays", "Monday", ["Weekday"]),
        ("You may come on Mondays.", "Monday, from May on", []),
        ("Eight legs", "8", []),
        ("Six legs", "8", [""]),
        ("Two years", "24 months", []),
        ("2017", "In 2017, with a profit of 6.3 million", []),
        ("Late", "8 pm", []),
        ("In 1833", "the 1830s", []),
        ("In the 1830s", "1833", ["Year"]),
        ("The fourth month", "April", []),
    ],
)
def test_values_of_one_sort_conflict(text: str, reference: str, expected: list[str]) -> None:
    """Another number of the same unit, year, month, day or weekday conflicts; another unit or none does not."""
    assert conflicting(text, reference) == set(expected)


@given(st.text(alphabet="Maydue 0123456789.,€%", max_size=40))
def test_a_text_does_not_conflict_with_itself(text: str) -> None:
    """The same text has the same values."""
    assert not conflicting(text, text)


@pytest.mark.parametrize(
    ("response", "expected"), [("It was founded in May 1950.", 0.0), ("It was founded in March 1950.", 1.0)]
)
def test_an_answer_with_another_date_is_wrong(response: str, expected: float) -> None:
    """One month for another makes an answer wrong that has all other words of its reference."""
    row = {"query": "When was the club founded?", "response": response, "references": ["March 1950"]}
    run = rg.evaluate([row], ["correctness"])
    assert [record.scores["correctness"].value for record in run.records()] == [expected]
