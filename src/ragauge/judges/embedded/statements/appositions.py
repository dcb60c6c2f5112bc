"""Appositions: "Marie Curie, a Polish physicist, won a prize" as two statements."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.antecedents import is_name, is_time
from ragauge.judges.embedded.statements.asides import Aside, copula
from ragauge.judges.embedded.statements.drafts import Token, added
from ragauge.judges.embedded.statements.predicates import finite, resumes

_ARTICLES = frozenset(("a", "an", "the", "one"))
_NOT_NAMING = frozenset("lot bit latter former same whole other others way fact rule result".split())
_LONGEST = 16
_PLACES = frozenset(
    """city town village capital suburb municipality neighborhood neighbourhood district region province county state
    country island port commune borough hamlet settlement resort kingdom republic""".split()
)
_BODIES = frozenset(
    """company firm organization organisation university college agency band group team club newspaper magazine bank
    corporation manufacturer subsidiary institute school startup charity publisher retailer network""".split()
)
_WHERE = frozenset("in at near to from".split())
_WITH_BODY = frozenset("at for by with joined founded acquired from bought".split())
_WITH_PERSON = frozenset("by with married met named against defeated hired succeeded replaced".split())


_WORKS = frozenset(
    """film novel book song album play poem opera painting series game magazine journal language river lake mountain
    volcano ocean sea park bridge tower building museum station airport castle church cathedral temple planet moon star
    ship""".split()
)


def apposition(aside: Aside) -> tuple[Token, ...] | None:
    """What an aside says of its antecedent, with "is" or "was" between; None where it is none, or doubtful.

    "Ann, a painter" and "the painter, Ann" in front of the verb; at the end only an article and a noun that fits what
    stands before the name: a place behind "in", a person behind "by".
    """
    if not _names(aside) or (aside.last and not _fits(aside)):
        return None
    return (*aside.antecedent, added(copula(aside)), *aside.words)


def _names(aside: Aside) -> bool:
    """Is the aside a noun phrase that can be what its antecedent is?"""
    words = aside.words
    if any(word.raw == "," for word in words) or len(words) > _LONGEST or is_time(words[: head_of(words) + 1]):
        return False
    if words[0].lower in _ARTICLES:
        return len(words) > 1 and _NOT_NAMING.isdisjoint(word.lower for word in words) and not resumes(words)
    return is_name(words) and not aside.last and not aside.antecedent[-1].name


def _fits(aside: Aside) -> bool:
    """At the end of a clause: is it of the kind that what stands before the name leads to expect?"""
    head = aside.words[head_of(aside.words)].lower
    before = aside.main[aside.main.index(aside.antecedent[0]) - 1].lower
    if any(word.lower == "and" for word in aside.words):
        return False
    if head in _PLACES:
        return before in _WHERE
    if head in _BODIES:
        return before in _WITH_BODY
    return before in _WITH_PERSON and grammar.is_person(head)


def is_thing(noun: str) -> bool:
    """Whether a noun names a kind of place, body or work, such as "city", "company", "novel"."""
    return noun in _PLACES or noun in _BODIES or noun in _WORKS


def head_of(words: Sequence[Token]) -> int:
    """The place of the noun that a phrase is about: the last before a preposition, participle or relative clause."""
    for place, word in enumerate(words[1:], 1):
        ends = word.lower in grammar.PREPOSITIONS or word.lower in grammar.SUBORDINATE or finite(words, place)
        if ends or not word.word:
            return place - 1
    return len(words) - 1
