"""Exact match and token F1 as in SQuAD."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.text.overlap import exact_match, token_f1
from ragauge.text.tokens import squad_normalise

ANSWERS = st.lists(st.sampled_from(["a", "The", "cat", "Cat,", "sat", "-", "42"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Quick, brown fox!", "quick brown fox"),
        ("an apple a day", "apple day"),
        ("Theatre and anthem", "theatre and anthem"),
        ("U.S.A.", "usa"),
        ("a.", ""),
        ("the-end", "theend"),
        ("«Été» – the end", "«été» – end"),
        (" \n", ""),
    ],
)
def test_normalising(text: str, normal: str) -> None:
    """Case, ASCII punctuation, articles as whole words and extra space go; other characters stay."""
    assert squad_normalise(text) == normal


def test_punctuation_goes_before_articles() -> None:
    """SQuAD's order of steps: what is an article only once its punctuation is gone goes too."""
    assert squad_normalise("t.h.e end") == "end"


@given(ANSWERS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    """A normalised text is normal."""
    assert squad_normalise(squad_normalise(text)) == squad_normalise(text)


def test_any_reference_can_match_exactly() -> None:
    """One equal reference suffices."""
    assert exact_match("The Cat!", ["dog", "a cat"])
    assert not exact_match("cats", ["dog", "cat"])
    assert exact_match("the", [""])


@pytest.mark.parametrize(
    ("response", "references", "value"),
    [
        ("the cat sat", ["cat sat down"], 0.8),
        ("cat cat dog", ["cat bird"], 0.4),
        ("cat", ["dog", "a cat"], 1.0),
        ("cat", ["dog"], 0.0),
        ("", ["cat"], 0.0),
        ("cat", ["the"], 0.0),
        ("the", ["!"], 1.0),
    ],
)
def test_token_f1_of_known_answers(response: str, references: list[str], value: float) -> None:
    """Shared words count as often as both texts have them; two empty answers agree, one empty answer does not."""
    assert token_f1(response, references) == pytest.approx(value, abs=1e-15)


@given(left=ANSWERS, right=ANSWERS)
def test_token_f1_is_symmetric_and_one_for_equal_answers(left: str, right: str) -> None:
    """With one reference the two texts can change places, and an exact match has an F1 of 1."""
    value = token_f1(left, [right])
    assert 0 <= value <= 1
    assert value == token_f1(right, [left])
    assert value == 1.0 or not exact_match(left, [right])


def test_references_must_be_there() -> None:
    """A comparison with nothing has no value."""
    with pytest.raises(ValueError, match="no references"):
        exact_match("a", [])
    with pytest.raises(ValueError, match="no references"):
        token_f1("a", [])
