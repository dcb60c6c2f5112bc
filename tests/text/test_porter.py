"""The stemmer: equal to NLTK's default Porter stemmer on every word tried."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from ragauge.judges.embedded.encoder import vocabulary
from ragauge.text.tokens import rouge_tokens, stem

NLTK = PorterStemmer()
ENDINGS = (
    "s es ies sses ss ed ied eed ing at bl iz y ational tional enci anci izer abli bli alli entli eli ousli "
    "ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti "
    "ical ful ness al ance ence er ic able ible ant ement ment ent sion tion ou ism ate iti ous ive ize ll e "
    "ee ly "
).split()
BUILT_WORDS = st.builds(
    lambda root, endings: root + "".join(endings),
    st.text("aeiouybcdlstvwxz", max_size=6),
    st.lists(st.sampled_from(ENDINGS), max_size=3),
)


@given(BUILT_WORDS)
def test_words_built_of_endings_stem_as_in_nltk(word: str) -> None:
    """Random roots with up to three of the algorithm's own endings give NLTK's stem."""
    assert stem(word) == NLTK.stem(word)


@given(st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789é", max_size=12))
def test_any_word_stems_as_in_nltk(word: str) -> None:
    """Random letters of both cases, digits and an accented letter give NLTK's stem."""
    assert stem(word) == NLTK.stem(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("dies", "die"),
        ("died", "die"),
        ("spied", "spi"),
        ("skies", "sky"),
        ("dying", "die"),
        ("agreed", "agre"),
        ("feed", "feed"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("falling", "fall"),
        ("happy", "happi"),
        ("enjoy", "enjoy"),
        ("relational", "relat"),
        ("rationally", "ration"),
        ("theology", "theolog"),
        ("adoption", "adopt"),
        ("replacement", "replac"),
        ("controlling", "control"),
        ("Running", "run"),
    ],
)
def test_known_words(word: str, expected: str) -> None:
    """Examples for each step of the paper and each departure of NLTK."""
    assert stem(word) == expected == NLTK.stem(word)


def test_words_of_english_stem_as_in_nltk() -> None:
    """Tens of thousands of distinct words, those of the vocabulary of the model in the package, give NLTK's stems."""
    words = {word for piece in vocabulary() for word in rouge_tokens(piece)}
    assert len(words) > 20_000
    assert [word for word in sorted(words) if stem(word) != NLTK.stem(word)] == []
