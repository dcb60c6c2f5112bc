"""chrF: equal to sacreBLEU's sentence chrF and chrF++ to the last digit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from ragauge.text.overlap import chrf

TEXTS = st.one_of(st.text(max_size=40), st.text("ab .,(", max_size=25))
REFERENCES = st.lists(TEXTS, min_size=1, max_size=3)


@given(response=TEXTS, references=REFERENCES, words=st.integers(0, 3))
def test_values_are_those_of_sacrebleu(response: str, references: list[str], words: int) -> None:
    """100 times the value is sacreBLEU's score, for chrF, chrF++ and several references."""
    assert (
        100 * chrf(response, references, words=words)
        == CHRF(word_order=words).sentence_score(response, references).score
    )


@given(response=TEXTS, reference=TEXTS, order=st.integers(1, 8), beta=st.sampled_from([1, 2, 3]))
def test_order_and_beta_are_those_of_sacrebleu(response: str, reference: str, order: int, beta: int) -> None:
    """Other orders and weights of recall follow sacreBLEU too."""
    expected = CHRF(char_order=order, beta=beta).sentence_score(response, [reference]).score
    assert 100 * chrf(response, [reference], order=order, beta=beta) == expected


@given(response=TEXTS, references=REFERENCES, words=st.integers(0, 2))
def test_values_lie_between_zero_and_one(response: str, references: list[str], words: int) -> None:
    """The value is a fraction, and whitespace between characters does not change it where words do not count."""
    assert 0 <= chrf(response, references, words=words) <= 1
    assert chrf(response, references) == chrf(f"  {response}\n", references)


def test_texts_without_characters_score_zero() -> None:
    """Nothing is shared with nothing."""
    assert chrf("", ["a"]) == chrf("a", [" "]) == chrf("", [""]) == 0.0


@pytest.mark.parametrize("parameters", [{"order": 0}, {"words": -1}, {"beta": 0}, {"beta": float("nan")}])
def test_impossible_parameters_are_refused(parameters: dict[str, int]) -> None:
    """The error says what each parameter must be."""
    with pytest.raises(ValueError, match="chrF needs order >= 1, words >= 0 and a finite beta > 0"):
        chrf("a", ["a"], **parameters)


def test_references_must_be_there() -> None:
    """A comparison with nothing has no value."""
    with pytest.raises(ValueError, match="no references"):
        chrf("a", [])
