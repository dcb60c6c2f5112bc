"""Pronouns: "She won it in 1903" with the name that opens the sentence before, where nothing else can be meant."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.judges.embedded.lexical.lexicon import nationalities
from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.antecedents import is_name
from ragauge.judges.embedded.statements.drafts import Token, within_name
from ragauge.judges.embedded.statements.predicates import Form, Predicate, joins_on, predicate, resumes
from ragauge.judges.embedded.statements.times import is_day

_PRONOUNS = frozenset("he she it they".split())
_BEFORE_THINGS = frozenset("in at near into across the a an his her its".split())
_GOING_ON = frozenset("of the for de la".split())
_MOVING = frozenset("moved returned went came fled travelled traveled emigrated immigrated relocated".split())
_EXPLETIVE = frozenset(
    """to whether how why when if as important possible likely clear worth said raining snowing time late hard
    easy""".split()
)
_LIVING = frozenset(
    """born died married studied graduated wrote attended retired resigned served enrolled emigrated taught starred
    buried knighted educated""".split()
)
_SIGHT = 7
_LONGEST = 6


def resolved(words: tuple[Token, ...], previous: Sequence[Sequence[Token]]) -> tuple[Token, ...]:
    """A clause with what "he", "she", "it" or "they" at its beginning means; as it is where that is open.

    previous: the statements of the clause before it, themselves resolved, which must all be about the same subject.

    "He" and "she" mean the name that is that subject, if it is told what is told of people ("was born", "was a
    painter") and no other name stands there that could be a person's, nor another word for a person. "It" and "they"
    mean the subject, a name or a bare noun, if it is only told what that is ("Python is a language").
    """
    if words and joins_on(words[0]):
        if words[1:] and joins_on(words[1]):
            return words
        rest = resolved(words[1:], previous)
        return words if rest[:1] == words[1:2] else (words[0], *rest)
    if not previous or not _opens_with_pronoun(words):
        return words
    found = [predicate(clause) for clause in previous]
    told = [(clause, one) for clause, one in zip(previous, found, strict=True) if one is not None]
    if len(told) < len(previous) or not _is_meant(told, words[0].lower):
        return words
    return (*(word._replace(place=-1) for word in told[0][1].subject), *words[1:])


def _opens_with_pronoun(words: Sequence[Token]) -> bool:
    """Is the first word a pronoun, and the subject by itself? "It" must stand for a thing ("It is clear that")."""
    if not words or words[0].lower not in _PRONOUNS:
        return False
    found = predicate(words)
    if found is None or found.begin or len(found.subject) > 1:
        return False
    if words[0].lower != "it":
        return True
    return _EXPLETIVE.isdisjoint(word.lower for word in words[:_SIGHT]) and "that" not in {word.lower for word in words}


def _is_meant(told: Sequence[tuple[Sequence[Token], Predicate]], pronoun: str) -> bool:
    """Can the pronoun mean nothing but the one subject of which all this is told?"""
    subject = told[0][1].subject
    same = all([word.raw for word in found.subject] == [word.raw for word in subject] for _, found in told)
    if not same or len(subject) > _LONGEST:
        return False
    if pronoun in ("he", "she"):
        known = subject[0].place < 0 or any(_is_life(clause, found) for clause, found in told)
        rivalled = any(_rivals(clause, found) for clause, found in told)
        return is_name(subject) and all(word.name for word in subject) and known and not rivalled
    plural = told[0][1].verb.helpers[0].lower in grammar.PLURAL_AUXILIARIES
    named = is_name(subject[subject[0].lower == "the" :]) or len(subject) == 1
    thing = all(_says_what_it_is(clause, found) for clause, found in told)
    return named and plural == (pronoun == "they") and thing


def _says_what_it_is(clause: Sequence[Token], found: Predicate) -> bool:
    """Does a clause say what thing its subject is, and nothing of another subject?"""
    rest = clause[found.verb.head + 1 :]
    if found.verb.form is not Form.COPULA or found.subject[0].lower in grammar.PRONOUNS or not rest:
        return False
    described = rest[0].lower in grammar.DETERMINERS or found.verb.helpers[0].lower in grammar.PLURAL_AUXILIARIES
    person = any(grammar.is_person(word.lower) for word in rest)
    return described and not rest[0].lower.endswith("ing") and not person and not resumes(rest)


def _is_life(clause: Sequence[Token], found: Predicate) -> bool:
    """Does a clause tell of its subject what is told of people?"""
    if _describes(clause, found):
        return any(grammar.is_person(word.lower) for word in _complement(clause, found))
    return clause[found.verb.head].lower in _LIVING


def _describes(clause: Sequence[Token], found: Predicate) -> bool:
    return found.verb.form is Form.COPULA or clause[found.verb.head].lower == "became"


def _complement(clause: Sequence[Token], found: Predicate) -> Sequence[Token]:
    """What the subject is said to be: up to a preposition or a relative clause."""
    begin = found.verb.head + 1
    for place in range(begin, len(clause)):
        if clause[place].lower in grammar.PREPOSITIONS or clause[place].lower in grammar.SUBORDINATE:
            return clause[begin:place]
    return clause[begin:]


def _rivals(clause: Sequence[Token], found: Predicate) -> bool:
    """Does a clause name, behind its verb, somebody else whom a pronoun may mean?"""
    begin = found.verb.head + 1
    before_things = _BEFORE_THINGS
    if _describes(clause, found):
        begin += len(_complement(clause, found))
    if clause[found.verb.head].lower in _MOVING:
        before_things |= {"to", "from"}
    thing = False
    for place in range(begin, len(clause)):
        word, before = clause[place], clause[place - 1]
        going_on = before.name or before.lower in _GOING_ON or within_name(clause, place - 1)
        thing = before.lower in before_things or (thing and going_on)
        named = word.name and not is_day(word) and word.lower not in nationalities()
        if (named and not thing) or (not word.name and grammar.is_person(word.lower)):
            return True
    return False
