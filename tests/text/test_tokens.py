"""Tokenizers: equal to the libraries they stand for, and fair to every script."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.tokenize import RegexpTokenizer
from rouge_score.tokenize import tokenize as rouge_score_tokens

from ragauge.text.tokens import (
    TOKENIZERS,
    rouge_tokens,
    stem_tokens,
    tokenizer_named,
    unicode_tokens,
    valor_tokens,
)

VALOR = RegexpTokenizer(r"\w+|\$\d+|[^\s.]+")
KNOWN_TO_BOTH = st.characters(exclude_categories=["Cn", "Co", "Cs"])
TRICKY = st.sampled_from(
    "aZ9_$.,'-\u0301\u093f\u200d\u00b2\u24d0\u203f\u0130\u1e9e\u4e2d\u0e31\n\r\t\x1c\x85\u00a0\u2028"
)
TEXTS = st.text(st.one_of(TRICKY, KNOWN_TO_BOTH), max_size=40)


@given(st.text(max_size=60))
def test_rouge_tokens_are_those_of_rouge_score(text: str) -> None:
    """Any text, stemmed or not, gives exactly rouge-score's tokens."""
    assert rouge_tokens(text) == rouge_score_tokens(text, None)
    assert stem_tokens(rouge_tokens(text)) == rouge_score_tokens(text, PorterStemmer())


@given(TEXTS)
def test_valor_tokens_are_those_of_nltk(text: str) -> None:
    """Any text of characters that both Unicode versions know gives exactly NLTK's tokens for Valor's pattern."""
    assert valor_tokens(text) == VALOR.tokenize(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It costs $25.50.", ["It", "costs", "$25", "50"]),
        ("don't e-mail (x),", ["don", "'t", "e", "-mail", "(x),"]),
        ("3.14 $5,000 $ $abc", ["3", "14", "$5", ",000", "$", "$abc"]),
        ("5 m² à Paris", ["5", "m", "²", "à", "Paris"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
    ],
)
def test_valor_tokens_of_known_texts(text: str, tokens: list[str]) -> None:
    """Money, apostrophes, superscripts and combining vowels are cut as Valor cuts them."""
    assert valor_tokens(text) == tokens


def test_whitespace_tokens_keep_case_and_punctuation() -> None:
    """Only whitespace separates."""
    assert tokenizer_named("whitespace")(" Yes, it\tis.\n") == ["Yes,", "it", "is."]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("我爱北京。", ["我", "爱", "北", "京"]),
        ("東京に３人", ["東", "京", "に", "3", "人"]),
        ("カタカナ・ｶﾞ", ["カ", "タ", "カ", "ナ", "ガ"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("Привет, МИР!", ["привет", "мир"]),
        ("مَرْحَبًا بالعالم", ["مَرْحَبًا", "بالعالم"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("สวัสดี ๑๒", ["ส", "วั", "ส", "ดี", "๑๒"]),
        ("Café ÉCOLE Straße STRASSE", ["café", "école", "strasse", "strasse"]),
        ("e\u0301te\u0301 été", ["été", "été"]),
        ("x\u0302y 中\u0301a", ["x\u0302y", "中\u0301", "a"]),
        ("ﬁne co\u00adoperate", ["fine", "cooperate"]),
        ("中文abc中", ["中", "文", "abc", "中"]),
        ("snake_case don't", ["snake", "case", "don", "t"]),
        ("🙂 … \u0301", []),
    ],
)
def test_unicode_tokens_of_many_scripts(text: str, tokens: list[str]) -> None:
    """Words of spaced scripts stay whole with their marks, unspaced scripts give a token a letter, symbols none."""
    assert unicode_tokens(text) == tokens


@given(TEXTS)
def test_unicode_tokens_are_folded_already(text: str) -> None:
    """Tokenising the tokens again, parted by spaces, changes nothing."""
    tokens = unicode_tokens(text)
    assert unicode_tokens(" ".join(tokens)) == tokens


@pytest.mark.parametrize("name", TOKENIZERS)
@given(lines=st.lists(TEXTS, max_size=4))
def test_a_line_break_is_a_gap(name: str, lines: list[str]) -> None:
    """For every tokenizer the tokens of a text are those of its lines, one after another."""
    tokenize = tokenizer_named(name)
    assert tokenize("\n".join(lines)) == [token for line in lines for token in tokenize(line)]


def test_an_unknown_tokenizer_is_refused_with_the_known_names() -> None:
    """The error lists what may be asked for."""
    with pytest.raises(ValueError, match="'words'; use one of rouge, unicode, valor, whitespace"):
        tokenizer_named("words")


def test_whole_texts_give_the_libraries_tokens() -> None:
    """Questions, contexts and answers of the demo, and the prose, tables and code of the docs, are cut as by both."""
    root = Path(__file__).parents[2]
    files = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("src/ragauge/demo/*.jsonl")]
    texts = [part for file in files for part in file.read_text(encoding="utf-8").splitlines()]
    assert len(texts) > 3000
    for text in texts:
        assert rouge_tokens(text) == rouge_score_tokens(text, None)
        assert valor_tokens(text) == VALOR.tokenize(text)
