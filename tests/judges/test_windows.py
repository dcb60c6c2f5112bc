"""Windows: every sentence of a passage stands in one, and none is too long to be read."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.embedded.passages import passage, windows

LENGTHS = st.lists(st.integers(1, 60) | st.integers(150, 900), max_size=30)


def _text(lengths: list[int]) -> str:
    return " ".join(f"Sentence {place}" + " word" * (length - 1) + "." for place, length in enumerate(lengths))


@given(LENGTHS)
def test_every_sentence_is_in_a_window_in_order(lengths: list[int]) -> None:
    """Windows follow each other without a gap, and one sentence at most is in two of them."""
    text = _text(lengths)
    found = windows(text)
    sentences = passage(text).sentences
    assert {place for one in found for place in range(one.first, one.last)} == set(range(len(sentences)))
    assert all(two.first in (one.last, one.last - 1) and two.last > one.last for one, two in pairwise(found))


@given(LENGTHS)
def test_no_window_is_long(lengths: list[int]) -> None:
    """No window has more than 170 words, however long a sentence is, and none of them is lost."""
    text = _text(lengths)
    assert all(len(window.text.split()) <= 170 for window in windows(text))
    assert " ".join(sentence.text for sentence in passage(text).sentences) == text


def test_a_title_stands_before_each_window() -> None:
    """What a page is about is read with every part of it."""
    text = "The Lighthouse of Alexandria\n\n" + " ".join(f"Fact {place} is told {'here ' * 20}." for place in range(30))
    found = windows(text)
    assert len(found) > 2
    assert all(window.text.startswith("The Lighthouse of Alexandria\n") for window in found)


def test_a_blank_text_has_no_windows() -> None:
    """Where nothing stands nothing is read."""
    assert windows(" \n\t") == ()
