"""Trust-Eval's reading of texts: on its vectors, and on cases of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.text import trust_eval
from ragauge.text.tokens import squad_normalise
from ragauge.text.trust_eval import partial_ratio

FLAG = squad_normalise(trust_eval.REFUSAL)


@pytest.fixture
def vectors(golden: Path) -> list[dict[str, Any]]:
    """The rows recorded from Trust-Eval's helpers."""
    rows = json.loads((golden / "systems" / "trust_eval_and_ragas.json").read_text("utf-8"))
    return [row for row in rows if row["system"] == "trust_eval"]


def test_refusals_of_the_vectors(vectors: list[dict[str, Any]]) -> None:
    """The same decision and the same score on every recorded output."""
    rows = [row for row in vectors if row["metric"] == "refusal"]
    for row in rows:
        output, expected = row["inputs"]["output"], row["expected"]
        assert trust_eval.is_refusal(output) == expected["refused"], output
        assert partial_ratio(FLAG, squad_normalise(output)) == expected["partial_ratio_fuzzywuzzy_levenshtein"], output
    assert len(rows) >= 18


def test_helpers_of_the_vectors(vectors: list[dict[str, Any]]) -> None:
    """Normalising, removing and reading citations, and looking for strings do what was recorded."""
    seen = 0
    for row in vectors:
        given, expected = row["inputs"], row["expected"]
        if row["metric"] == "normalize_answer":
            assert squad_normalise(given["text"]) == expected
        elif row["metric"] == "exact_presence":
            assert trust_eval.contains(given["context"], given["short_answers"]) is expected
        elif row["metric"].startswith("remove_citations"):
            assert trust_eval.without_citations(given["text"]) == expected["removed"]
            numbers = [number for number, _ in trust_eval.citations(given["text"])]
            assert numbers == expected["refs_one_based"]
        else:
            continue
        seen += 1
    assert seen >= 20


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("", "abc", 0),
        ("abc", "", 0),
        ("abc", "abc", 100),
        ("abc", "xxabcxx", 100),
        ("abc", "xxabdxx", 67),
        ("abcd", "zzzz", 0),
    ],
)
def test_partial_ratio(one: str, other: str, ratio: int) -> None:
    """The shorter text is held against the most similar part of the longer, whichever comes first."""
    assert partial_ratio(one, other) == ratio
    assert partial_ratio(other, one) == ratio


@given(one=st.text("abc ", max_size=12), other=st.text("abcd ", max_size=40))
def test_partial_ratio_is_a_percentage(one: str, other: str) -> None:
    """It lies from 0 to 100, and is 100 where a text is held against itself."""
    assert 0 <= partial_ratio(one, other) <= 100
    assert partial_ratio(one, one) == (100 if one else 0)


def test_items_and_their_places() -> None:
    """A list is parted at every comma, and each piece is where its span says."""
    text = " Jaws [1],  Alien,, Heat., "
    assert [text[a:b] for a, b in trust_eval.list_items(text)] == ["Jaws [1]", "Alien", "", "Heat."]
    assert trust_eval.list_items("") == [(0, 0)]


def test_spans_of_citations() -> None:
    """Each citation is where its span says, with its bracket where that follows at once."""
    text = "Bees hum [1][2, 3]."
    assert [text[a:b] for _, (a, b) in trust_eval.citations(text)] == ["[1]", "[2"]
