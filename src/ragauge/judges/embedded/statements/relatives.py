"""Relative clauses: "Ann, who was born in Oslo, died" as two statements; so too where "who was" is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.appositions import head_of, is_thing
from ragauge.judges.embedded.statements.asides import Aside, copula
from ragauge.judges.embedded.statements.drafts import Token, added, within_name
from ragauge.judges.embedded.statements.predicates import behind_adverbs, finite, predicate

_PLACING = frozenset("in at from near to on into around".split())
_DESCRIBING = frozenset("located situated known based called named".split())
_ENDING = frozenset("until before between during till".split())
_YEAR = re.compile(r"1\d{3}|20\d\d")
_BEHIND_PARTICIPLE = grammar.PREPOSITIONS | grammar.DETERMINERS


def relative(aside: Aside) -> tuple[Token, ...] | None:
    """What an aside says of its antecedent as a clause of its own; None where it is no relative clause, or doubtful.

    A last "which" is one only where it plainly speaks of the name before it ("which is a city", "which is located"),
    and not of all that was said; a last "who" only where no place may stand before it; a participle only beside the
    subject.
    """
    if len(aside.words) < 3 or _holds_clauses(aside.words):
        return None
    pronoun, rest = aside.words[0].lower, aside.words[1:]
    if pronoun not in ("who", "which", "whose"):
        return _participle(aside)
    if aside.last and not _tells(aside, pronoun, rest):
        return None
    if pronoun == "whose":
        owned = predicate(rest)
        return (*aside.antecedent, added("'s"), *rest) if owned and not owned.begin else None
    verb = 0 if finite(rest, 0) else behind_adverbs(rest, -1)
    return (*aside.antecedent, *rest) if verb < len(rest) - 1 and finite(rest, verb) else None


def _holds_clauses(rest: Sequence[Token]) -> bool:
    """Is there a comma that may end the clause before its end?"""
    return any(word.raw == "," and not within_name(rest, place) for place, word in enumerate(rest))


def _tells(aside: Aside, pronoun: str, rest: Sequence[Token]) -> bool:
    """Does a relative clause at the end speak of the name before it?"""
    if pronoun == "which":
        described = rest[1].lower in _DESCRIBING or is_thing(rest[1 + head_of(rest[1:])].lower)
        return rest[0].lower in grammar.BE and described
    before = aside.main[aside.main.index(aside.antecedent[0]) - 1].lower
    return before not in _PLACING


def _participle(aside: Aside) -> tuple[Token, ...] | None:
    """The clause that a participle leaves out "was" of, such as "founded in 1976"."""
    words = aside.words
    place = 0 if words[0].lower in grammar.TELLING else behind_adverbs(words, -1)
    if aside.last or place > len(words) - 2 or words[place].lower not in grammar.TELLING:
        return None
    after = words[place + 1]
    if not (after.lower in _BEHIND_PARTICIPLE or after.name or after.number) or _leaves_open(words):
        return None
    over = any(word.lower in _ENDING or _YEAR.fullmatch(word.raw) for word in words)
    past = None if words[place].lower in grammar.LASTING and not over else True
    return (*aside.antecedent, added(copula(aside, past=past)), added(words[0].lower), *words[1:])


def _leaves_open(words: Sequence[Token]) -> bool:
    """Does a preposition wait for what "and" brings only later: "built as and still called"?"""
    return any(word.lower in grammar.PREPOSITIONS and after.lower in ("and", "or") for word, after in pairwise(words))
