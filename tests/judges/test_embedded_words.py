"""Words and numbers have one key each, whatever their form."""

from __future__ import annotations

import pytest

from ragauge.judges.embedded.layer import packaged
from ragauge.judges.embedded.words import idf, words

SAME = [
    ("1,000", "1000"),
    ("one thousand", "1000"),
    ("a thousand", "1000"),
    ("1.5 billion", "1,500 million"),
    ("$1.5 billion", "$1500000000"),
    ("10 %", "10 percent"),
    ("twenty-five", "25"),
    ("one thousand two hundred and five", "1205"),
    ("two-thirds", "two thirds"),
    ("20th", "20"),
    ("twentieth", "20th"),
    ("twenty-first", "21st"),
    ("14 March 1879", "14th March 1879"),
    ("didn't", "did not"),
    ("can't", "can not"),
    ("Röntgen", "Rontgen"),
    ("6:00", "6"),
    ("10km", "10 km"),
    ("travelling", "traveling"),
]
DIFFERENT = [("1990s", "1990"), ("1.5", "15"), ("twenty", "twelve"), ("2/3", "23"), ("May 5", "may")]
DIFFERENT += [("World War I", "World War II"), ("Elizabeth I", "Elizabeth II"), ("$5 m", "$5 meters"), ("m", "meter")]
DIFFERENT += [("1890s", "1990s"), ("1950s", "the sixties"), ("15:00", "3 a.m."), ("15:00", "5:00"), ("1990's", "1990")]


def keys(text: str) -> list[str]:
    """The keys of a text's words."""
    return [word.key for word in words(text)]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_forms_of_one_thing_share_a_key(one: str, other: str) -> None:
    """Two ways to write the same number, date, name or word read alike."""
    assert keys(one) == keys(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_things_have_different_keys(one: str, other: str) -> None:
    """What is not the same does not read alike."""
    assert keys(one) != keys(other)


def test_scripts_without_spaces_are_read_by_characters() -> None:
    """Chinese, Japanese and Thai have a word for each character, so that a part of a sentence can be found."""
    assert set(keys("中国的首都")) <= set(keys("北京是中国的首都。"))
    assert len(keys("東京は日本の首都です")) == 10
    assert len(keys("กรุงเทพ")) > 1


def test_places_are_those_of_the_text() -> None:
    """Each word gives the characters it was read from."""
    text = "It cost one thousand dollars."
    assert [text[word.start : word.end] for word in words(text)] == ["It", "cost", "one thousand", "dollars"]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    """Idf runs from words of every text to words never seen."""
    assert 0 <= idf("the") < idf("compani") < idf("antisemit") <= 1


def test_the_idf_table_is_small() -> None:
    """The packaged table stays under 300 KB."""
    assert len(packaged("idf.txt").encode()) < 300_000
