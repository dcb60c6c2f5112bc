"""Phrases of time and place: "on 14 March 1879", "from 1950 to 1960", "in the city of Ulm"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragauge.judges.embedded.lexical.lexicon import MONTHS
from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.drafts import Token, within_name

_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
_TIME_PREPOSITIONS = frozenset("in on during since until before after around by".split())
_PLACE_PREPOSITIONS = frozenset("in at near".split())
_RANGES = {"from": ("to", "until", "till", "through"), "between": ("and",)}
_NUMBER = re.compile(r"\d{1,2}(?:st|nd|rd|th)?|1\d{3}s?|20\d\ds?")
_YEAR = re.compile(r"(?:1\d|20)\d\ds?")
_PARTS = frozenset("the early late mid century centuries spring summer autumn winter of bc ad bce ce circa".split())
_AT_ENDS = frozenset(("the", "of", ",", "early", "late", "mid"))
_BEFORE_NAMES = frozenset(
    """the a an downtown central northern southern eastern western northeastern northwestern southeastern southwestern
    present-day modern-day ancient nearby rural""".split()
)
_PARTICLES = frozenset("of the de la le du von van der da el and".split())
_MOST_SMALL = 3


def time_end(words: Sequence[Token], begin: int) -> int:
    """Where the phrase of time that begins here ends; `begin` where there is none."""
    first = words[begin].lower
    if first in _RANGES:
        middle = _date_end(words, begin + 1)
        joined = middle > begin + 1 and middle < len(words) and words[middle].lower in _RANGES[first]
        end = _date_end(words, middle + 1) if joined else 0
        return end if end > middle + 1 else begin
    if first not in _TIME_PREPOSITIONS:
        return begin
    end = _date_end(words, begin + 1)
    return end if end > begin + 1 else begin


def _date_end(words: Sequence[Token], begin: int) -> int:
    """Where a date that begins here ends; `begin` where there is none."""
    end = begin
    while end < len(words) and _of_date(words, end):
        end += 1
    while end > begin and words[end - 1].lower in _AT_ENDS:
        end -= 1
    return end if any(map(_dates, words[begin:end])) else begin


def _of_date(words: Sequence[Token], place: int) -> bool:
    word = words[place]
    if word.raw == ",":
        return within_name(words, place) and (_of_date(words, place + 1))
    return _dates(word) or word.lower in _PARTS or bool(_NUMBER.fullmatch(word.lower))


def _dates(word: Token) -> bool:
    """Whether a word says when by itself: a month, a day of the week, a year, a century."""
    return is_day(word) or word.lower == "century" or bool(_YEAR.fullmatch(word.lower))


def is_day(word: Token) -> bool:
    """Whether a word is the name of a month or of a day of the week."""
    return word.raw[0].isupper() and (word.lower in MONTHS or word.lower in _WEEKDAYS)


def place_end(words: Sequence[Token], begin: int) -> int:
    """Where the phrase of place that begins here ends, which must hold a name; `begin` where there is none."""
    after = words[begin + 1] if begin + 1 < len(words) else None
    if words[begin].lower not in _PLACE_PREPOSITIONS or after is None:
        return begin
    if not after.name and after.lower not in _BEFORE_NAMES:
        return begin
    end = begin + 1
    while end < len(words) and _of_place(words, end):
        end += 1
    phrase = words[begin + 1 : end]
    small = sum(not word.name and word.lower not in _PARTICLES for word in phrase)
    known = any(word.name and not _dates(word) for word in phrase) and small <= _MOST_SMALL
    return end if known and phrase[-1].lower not in _PARTICLES else begin


def _of_place(words: Sequence[Token], place: int) -> bool:
    word = words[place]
    if word.raw == ",":
        return within_name(words, place) and not _dates(words[place + 1])
    if word.name or is_day(word) or word.lower in _PARTICLES:
        return not _dates(word)
    return word.word and not (
        word.number
        or word.lower in grammar.PREPOSITIONS
        or word.lower in grammar.SUBORDINATE
        or word.lower in grammar.PRONOUNS
        or word.lower in ("to", "or")
        or grammar.is_past(word.lower)
    )
