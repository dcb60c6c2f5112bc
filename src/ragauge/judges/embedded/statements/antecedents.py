"""Antecedents: the noun phrase that a relative clause or an apposition behind a comma is about."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.drafts import Token
from ragauge.judges.embedded.statements.predicates import finite, opening
from ragauge.judges.embedded.statements.times import is_day

_PARTICLES = frozenset("of the de la le du des von van der den da di del el al bin ibn y for and &".split())
_DEFINITE = frozenset("the his her its their our my".split())
_TIMES = frozenset(
    """year years month months week weeks day days night morning evening afternoon time moment decade decades century
    season summer winter spring autumn fall hour hours minute minutes today yesterday tomorrow later earlier
    ago""".split()
)
_DOUBTFUL = grammar.SUBORDINATE | frozenset("and or of the than as like".split())
_LONGEST = 8


def is_time(words: Sequence[Token]) -> bool:
    """Do the words speak of a time, such as "the following year"?"""
    return any(word.lower in _TIMES or is_day(word) for word in words)


def is_name(words: Sequence[Token]) -> bool:
    """Are the words a proper name, with at most particles and numbers between its parts?"""
    if not words or (not words[-1].name and not words[-1].number):
        return False
    inner = all(word.name or word.number or word.lower in _PARTICLES for word in words)
    return inner and any(word.name for word in words) and not is_time(words)


def leading(words: Sequence[Token], comma: int) -> tuple[Token, ...]:
    """The noun phrase that opens a clause and ends at its comma; () where what stands there is more, or doubtful."""
    begin = opening(words[:comma])
    if _may_be_place(words, begin):
        return ()
    phrase = tuple(words[begin:comma])
    if not 0 < len(phrase) <= _LONGEST or is_time(phrase):
        return ()
    return phrase if _is_plain(phrase) else ()


def _may_be_place(words: Sequence[Token], begin: int) -> bool:
    """Does a name stand before the phrase, so that it may tell where that is: "In Ulm, Germany"?"""
    return begin > 1 and words[begin - 2].name and not is_day(words[begin - 2])


def _is_plain(phrase: Sequence[Token]) -> bool:
    """Is it a name, or an article and a noun with nothing behind?"""
    first = phrase[0]
    if is_name(phrase[1:] if first.lower == "the" else phrase):
        return "and" not in {word.lower for word in phrase} and not grammar.is_adverb(first.lower)
    if first.lower not in _DEFINITE or len(phrase) < 2:
        return False
    return all(_describes(phrase, place) for place in range(1, len(phrase)))


def _describes(phrase: Sequence[Token], place: int) -> bool:
    word = phrase[place]
    plain = word.word and not (
        word.lower in grammar.PREPOSITIONS
        or word.lower in grammar.SUBORDINATE
        or word.lower in grammar.PRONOUNS
        or word.lower in ("and", "or", "to")
    )
    return plain and not (finite(phrase, place) and place > 1)


def trailing(words: Sequence[Token], comma: int) -> tuple[Token, ...]:
    """The name that ends at a comma inside a clause; () where it may belong to a longer phrase or a list."""
    begin = comma
    while begin > 1 and (words[begin - 1].name or (begin < comma and _joins_name(words, begin - 1))):
        begin -= 1
    phrase = tuple(words[begin:comma])
    before = words[begin - 1]
    plain = before.lower not in _DOUBTFUL and before.raw[0].isalpha() and (begin == 1 or before.raw[0].islower())
    return phrase if is_name(phrase) and plain else ()


def _joins_name(words: Sequence[Token], place: int) -> bool:
    return words[place].lower in ("of", "the", "de", "von", "van", "der", "la", "du") and words[place - 1].name
