"""Claims for training that repeat their text."""

from __future__ import annotations

import random
import re
from importlib import import_module
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

copies: Any = import_module("copies")

TEXT = (
    "However, the bridge (opened in 1932) is 330 metres long. In 1998, Anna Berg closed it to lorries, which weigh too "
    "much. Tolls are due only if a car has more than five seats, because the council said so."
)
CLAIM = {"text": "The bridge is long.", "label": "entailment", "source": "own", "wrong": None}
seeds = st.integers(0, 100_000).map(random.Random)


@given(seeds)
def test_copies_are_made_of_the_words_of_the_text_and_wrong_ones_differ_by_a_number(chance: random.Random) -> None:
    """Every true copy has words of the text alone, every false one a number that stood elsewhere or nowhere."""
    group = copies.with_copies({"premise": TEXT, "claims": [CLAIM] * 6, "held": ""}, chance)
    for claim in (claim for claim in group["claims"] if claim["source"].startswith("copy")):
        missing = set(_words(claim["text"])) - set(_words(TEXT)) - {"and"}
        assert (claim["label"] == "entailment") == (claim["source"] == "copy")
        assert not missing or (claim["label"] == "contradiction" and all(word.isdigit() for word in missing))


@given(seeds)
def test_a_condition_is_not_left_out(chance: random.Random) -> None:
    """A sentence with a condition is not cut, since what is left might be false."""
    sentence = TEXT.rsplit(". ", 1)[1]
    assert copies.shortened(sentence, chance).rstrip(".") == sentence.rstrip(".")


@given(seeds)
def test_what_is_kept_aside_gets_no_copies(chance: random.Random) -> None:
    """Groups that are held keep their claims."""
    group = {"premise": TEXT, "claims": [CLAIM] * 6, "held": "dev"}
    assert copies.with_copies(group, chance) == group


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
