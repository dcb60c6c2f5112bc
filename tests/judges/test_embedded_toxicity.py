"""Toxicity: what is looked for in a sentence, and how the sentences of a text are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.embedded.toxicity import CUES, combined, cues, pieces, toxicity


def same(texts: Sequence[str]) -> Any:
    """The same embedding for each text, so that the cues alone decide."""
    return np.full((len(texts), 384), 384**-0.5, dtype=np.float32)


PRESENT = [
    ("You are an idiot.", "attack"),
    ("Shut up, nobody asked.", "attack"),
    ("All those immigrants are just lazy.", "slant"),
    ("You lost the key.", "reader"),
    ("The paper said that he left.", "reported"),
    ("That remark was racist.", "condemned"),
]
ABSENT = [
    ("Holy cow, it works!", "attack"),
    ('She read "The Idiot" by Dostoevsky.', "attack"),
    ("The Idiot is a novel.", "attack"),
    ("My neighbour called her an idiot in the yard.", "attack"),
    ("Flame retardants kill all bacteria.", "attack"),
    ("The mayor opened the bridge.", "reader"),
]


@pytest.mark.parametrize(("text", "cue"), PRESENT)
def test_a_cue_is_found(text: str, cue: str) -> None:
    """A sentence that shows a cue has it."""
    assert cues(text)[CUES.index(cue)] == 1


@pytest.mark.parametrize(("text", "cue"), ABSENT)
def test_a_cue_is_not_found_where_there_is_none(text: str, cue: str) -> None:
    """A sentence that only looks like it does not have the cue."""
    assert cues(text)[CUES.index(cue)] == 0


def test_an_insult_in_the_middle_of_a_text_counts() -> None:
    """One hostile sentence among harmless ones makes a text more likely to be toxic, wherever it stands."""
    harmless, hostile = "The mayor opened the bridge.", "You are an idiot."
    texts = [" ".join([harmless] * 3), *(" ".join(text) for text in _placed(hostile, harmless))]
    plain, *attacked = (toxicity(text, same) for text in texts)
    assert len(attacked) == 3
    assert all(chance > plain for chance in attacked)


def _placed(one: str, other: str) -> list[list[str]]:
    return [[one if at == place else other for at in range(3)] for place in range(3)]


@pytest.mark.parametrize("text", ["", "  \n", "...", "!?", "—"])
def test_a_text_without_words_is_not_toxic(text: str) -> None:
    """Where nothing is said, nothing is toxic."""
    assert toxicity(text, same) == 0.0


def test_a_long_sentence_is_read_in_runs_of_words() -> None:
    """A hundred words without a stop become three pieces that hold them all, in order."""
    words = [f"word{number}" for number in range(100)]
    found = pieces(" ".join(words))
    assert [len(piece.split()) for piece in found] == [40, 40, 20]
    assert " ".join(found).split() == words


def test_the_strongest_piece_and_the_whole_are_combined() -> None:
    """The logits of a text are its strongest piece, the whole that stands last, and the log of the number of pieces."""
    assert combined(np.array([-2.0])) == (-2.0, -2.0, 0.0)
    assert combined(np.array([-2.0, 3.0, 1.0])) == pytest.approx((3.0, 1.0, np.log(2)))


@given(st.text(max_size=200))
def test_any_text_has_a_probability(text: str) -> None:
    """Whatever the text, each cue is there or not, and its probability lies in 0..1."""
    assert set(cues(text)) <= {0.0, 1.0}
    assert 0 <= toxicity(text, same) <= 1
