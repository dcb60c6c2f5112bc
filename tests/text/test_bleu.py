"""BLEU: equal to NLTK's sentence BLEU to the last digit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from ragauge.text.overlap import bleu
from ragauge.text.tokens import valor_tokens

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "A", ".", "b,", "$5"]), max_size=15).map(" ".join)
REFERENCES = st.lists(TEXTS, min_size=1, max_size=4)
WEIGHTS = st.one_of(
    st.sampled_from([(0.25,) * 4, (1,), (0.5, 0.5), (0, 1), (0, 0), (0.9999, 0.0001)]),
    st.lists(st.floats(0, 2), min_size=1, max_size=6),
)


def nltk_bleu(references: Sequence[list[str]], response: list[str], weights: Sequence[float], method: str) -> float:
    """NLTK's value, without its warnings about orders that share nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smoothing = getattr(SmoothingFunction(), method)
        return float(sentence_bleu(references, response, weights, smoothing))


@given(response=TEXTS, references=REFERENCES, weights=WEIGHTS)
def test_unsmoothed_values_are_those_of_nltk(response: str, references: list[str], weights: list[float]) -> None:
    """Any weights and several references give NLTK's value, or 0 where that is below Valor's 1e-9."""
    golden = [valor_tokens(reference) for reference in references]
    expected = nltk_bleu(golden, valor_tokens(response), weights, "method0")
    assert bleu(response, references, weights) == (0.0 if expected < 1e-9 else expected)


@given(response=TEXTS, references=REFERENCES, weights=WEIGHTS)
def test_method_1_values_are_those_of_nltk(response: str, references: list[str], weights: list[float]) -> None:
    """Smoothing with epsilon 0.1 on whitespace tokens, as Dataworkz has it, gives NLTK's value."""
    golden = [reference.split() for reference in references]
    expected = nltk_bleu(golden, response.split(), weights, "method1")
    assert bleu(response, references, weights, tokenizer="whitespace", smoothing="method1") == expected


@given(response=TEXTS, references=REFERENCES, weights=WEIGHTS)
def test_values_lie_between_zero_and_one(response: str, references: list[str], weights: list[float]) -> None:
    """No admitted weights lead out of 0..1, and the order of the references does not matter."""
    value = bleu(response, references, weights)
    assert 0 <= value <= 1
    assert value == bleu(response, references[::-1], weights)


def test_an_order_without_a_match_makes_the_value_zero() -> None:
    """Three identical words have no 4-gram, so BLEU-4 is 0; a tiny weight on a missing order lets the rest count."""
    assert bleu("Mary loves Joe", ["Mary loves Joe"]) == 0.0
    assert bleu("a b", ["b a"], [0.9999, 0.0001]) == 0.931611271607192


def test_references_clip_jointly() -> None:
    """Each reference contributes the words that it has most; the value is not the best single reference's."""
    assert bleu("a b", ["a x", "b x"], [1]) == 1.0
    assert max(bleu("a b", [reference], [1]) for reference in ("a x", "b x")) == 0.5


def test_of_two_references_equally_close_in_length_the_shorter_counts() -> None:
    """Three words against references of two and four have no brevity penalty."""
    assert bleu("a b c", ["a b c d", "a b"], [1]) == 1.0


@pytest.mark.parametrize("weights", [[], [-1], [0.5, -0.1], [float("nan")], [float("inf")]])
def test_impossible_weights_are_refused(weights: list[float]) -> None:
    """Empty, negative and infinite weights and NaN are errors, where NLTK would leave 0..1."""
    with pytest.raises(ValueError, match="BLEU weights must be"):
        bleu("a", ["a"], weights)


def test_unknown_names_and_missing_references_are_refused() -> None:
    """Each error says what may be asked for."""
    with pytest.raises(ValueError, match="unknown BLEU smoothing 'method9'; use none or method1"):
        bleu("a", ["a"], smoothing="method9")
    with pytest.raises(ValueError, match="unknown tokenizer"):
        bleu("a", ["a"], tokenizer="words")
    with pytest.raises(ValueError, match="no references"):
        bleu("a", [])
