"""ROUGE: equal to rouge-score to the last digit, whatever the ties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer, _union_lcs
from rouge_score.tokenizers import Tokenizer

from ragauge.text.overlap import DEFAULT_TYPES, bit_columns, lcs_length, rouge, union_lcs
from ragauge.text.tokens import unicode_tokens

TYPES = [*(f"rouge{order}" for order in range(1, 10)), "rougeL", "rougeLsum"]
PLAIN, STEMMING = RougeScorer(TYPES), RougeScorer(TYPES, use_stemmer=True)


def words(alphabet: str, longest: int) -> st.SearchStrategy[str]:
    """Lines of one-letter words: the smaller the alphabet, the more ties."""
    line = st.lists(st.sampled_from(alphabet), max_size=longest).map(" ".join)
    return st.lists(line, max_size=5).map("\n".join)


TIED_TEXTS = st.one_of(words("ab", 12), words("abc", 9), words("abcdef", 20))
LINES = st.lists(st.lists(st.sampled_from("abc"), max_size=12), max_size=6)


class UnicodeTokenizer(Tokenizer):  # type: ignore[misc]
    """Our Unicode tokenizer, as rouge-score wants one."""

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        return unicode_tokens(text)


@given(response=TIED_TEXTS, references=st.lists(TIED_TEXTS, min_size=1, max_size=3))
def test_tied_texts_score_as_in_rouge_score(response: str, references: list[str]) -> None:
    """Repetitive texts of several lines, against several references, give rouge-score's F-measures exactly."""
    expected = {name: score.fmeasure for name, score in PLAIN.score_multi(references, response).items()}
    assert rouge(response, references, TYPES) == expected


@given(response=st.text(max_size=80), reference=st.text(max_size=80))
def test_any_text_scores_as_in_rouge_score(response: str, reference: str) -> None:
    """Arbitrary Unicode, stemmed, gives rouge-score's F-measures exactly."""
    expected = {name: score.fmeasure for name, score in STEMMING.score(reference, response).items()}
    assert rouge(response, [reference], TYPES, stemmer=True) == expected


@given(reference=st.lists(st.sampled_from("abc"), max_size=12), lines=LINES)
def test_the_union_of_common_subsequences_is_that_of_rouge_score(reference: list[str], lines: list[list[str]]) -> None:
    """The bit vectors are read backwards with the tie-breaking of rouge-score's table."""
    assert sorted(union_lcs(reference, bit_columns(lines))) == sorted(_union_lcs(reference, lines))


@given(left=st.lists(st.sampled_from("abcd"), max_size=30), right=st.lists(st.sampled_from("abcd"), max_size=30))
def test_the_length_of_a_common_subsequence_is_symmetric(left: list[str], right: list[str]) -> None:
    """Which text is laid out as bits does not matter, and the union over one line has exactly that length."""
    length = lcs_length(left, bit_columns([right]))
    assert length == lcs_length(right, bit_columns([left])) == len(union_lcs(left, bit_columns([right])))


@given(st.lists(st.sampled_from(["中文", "привет", "école", "a", "."]), max_size=12).map(" ".join))
def test_the_unicode_tokenizer_scores_as_in_rouge_score_with_it(text: str) -> None:
    """Given the same tokens of any script, the values are rouge-score's."""
    scorer = RougeScorer(TYPES, tokenizer=UnicodeTokenizer())
    expected = {name: score.fmeasure for name, score in scorer.score("школа 中 école\na", text).items()}
    assert rouge(text, ["школа 中 école\na"], TYPES, tokenizer="unicode") == expected


def test_other_scripts_count_with_the_unicode_tokenizer_only() -> None:
    """The reference implementation's tokenizer sees nothing in Cyrillic; ours does."""
    assert rouge("Привет, мир", ["привет мир"], ["rouge1"]) == {"rouge1": 0.0}
    assert rouge("Привет, мир", ["привет мир"], ["rouge1"], tokenizer="unicode") == {"rouge1": 1.0}


def test_each_type_takes_its_own_best_reference() -> None:
    """The maximum over references is taken type by type, so two types can follow two references."""
    response, references = "a b c d", ["b a d c", "a b x y"]
    assert rouge(response, references, ["rouge1", "rouge2"]) == {
        "rouge1": rouge(response, references[:1], ["rouge1"])["rouge1"],
        "rouge2": rouge(response, references[1:], ["rouge2"])["rouge2"],
    }


@pytest.mark.parametrize(("response", "reference"), [("", "a"), ("a", ""), ("", ""), ("...", "..."), ("\n", "a\n")])
def test_a_text_without_tokens_scores_zero(response: str, reference: str) -> None:
    """Empty texts and texts of punctuation share nothing, not even with themselves."""
    assert rouge(response, [reference]) == dict.fromkeys(DEFAULT_TYPES, 0.0)


@pytest.mark.parametrize("name", ["rouge", "rouge0", "rouge10", "rougeX", "rougel", "rougeLs", "rouge1\n"])
def test_an_unknown_type_is_refused(name: str) -> None:
    """The error names the type and says which there are."""
    with pytest.raises(ValueError, match=r"unknown ROUGE type .*; use rouge1 to rouge9, rougeL or rougeLsum"):
        rouge("a", ["a"], [name])


def test_references_must_be_there() -> None:
    """No reference is an error, and so is a bare text that would be read letter by letter."""
    with pytest.raises(ValueError, match="no references"):
        rouge("a", [])
    with pytest.raises(TypeError, match="put it in a list"):
        rouge("a", "a")


def test_no_types_give_no_values() -> None:
    """An empty selection is an empty answer."""
    assert rouge("a", ["a"], []) == {}
