"""Asides: what a comma sets apart behind a noun phrase and says something of it, "Ann, a painter, died"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.antecedents import leading, trailing
from ragauge.judges.embedded.statements.drafts import Token
from ragauge.judges.embedded.statements.predicates import Predicate, behind_adverbs, finite, opening, predicate

_SIGNS = frozenset('" “ ” « » : ; — – ` | [ ] ?'.split())
_FRONTED = frozenset(
    """born built constructed created designed developed directed discovered educated established founded headquartered
    known located named produced published raised released situated written""".split()
)


class Aside(NamedTuple):
    """What is set apart. antecedent: the noun phrase that it is about. words: its own, without the signs around. main:
    the clause without it, and its predicate. last: it ends the clause, and does not stand beside the subject."""

    antecedent: tuple[Token, ...]
    words: tuple[Token, ...]
    main: tuple[Token, ...]
    predicate: Predicate
    last: bool


def asides(words: Sequence[Token]) -> Iterator[Aside]:
    """What may be an aside of a clause: behind its subject, before it, and behind a name at its end."""
    raws = [word.raw for word in words]
    if _SIGNS.isdisjoint(raws) and ("," in raws or "(" in raws):
        yield from _behind_subject(words)
        yield from _at_the_end(words)
        yield from _in_front(words)


def copula(aside: Aside, *, past: bool | None = None) -> str:
    """The form of "be" that joins an antecedent and its aside, in the time of the clause where `past` does not say."""
    verb, noun = aside.predicate.verb, aside.antecedent[-1]
    several = not noun.name and noun.lower.endswith("s") and noun.lower not in grammar.SINGULAR
    auxiliary = verb.helpers[0].lower
    plural = several if auxiliary not in grammar.AUXILIARIES else auxiliary in grammar.PLURAL_AUXILIARIES
    plural = (plural or noun.lower == "they") and not aside.last
    if verb.past if past is None else past:
        return "were" if plural else "was"
    return "are" if plural else "is"


def _behind_subject(words: Sequence[Token]) -> Iterator[Aside]:
    """An aside in parentheses, or that the one comma closes behind which the verb of the clause follows."""
    begin = opening(words)
    first = next((place for place in range(begin, len(words) - 1) if words[place].raw in (",", "(")), None)
    if first is None:
        return
    closes = ")" if words[first].raw == "(" else ","
    found = [place for place in range(first + 1, len(words)) if words[place].raw == closes]
    closing = [place for place in found if _verb_follows(words, place)]
    antecedent = leading(words, first)
    told = closes == "," or (found == closing and _tells_something(words, first + 1))
    if antecedent and len(closing) == 1 and told:
        main = (*words[:first], *words[closing[0] + 1 :])
        yield from _aside(antecedent, words[first + 1 : closing[0]], main, last=False)


def _tells_something(words: Sequence[Token], begin: int) -> bool:
    """Does a parenthesis open as a clause or a description does, and not as another name or a date?"""
    first = words[begin].lower
    return first in grammar.TELLING or first in ("who", "which", "a", "an") or grammar.is_adverb(first)


def _verb_follows(words: Sequence[Token], comma: int) -> bool:
    place = behind_adverbs(words, comma)
    return place < len(words) - 1 and (finite(words, place) or words[place].raw in grammar.UNCHANGED_PAST)


def _at_the_end(words: Sequence[Token]) -> Iterator[Aside]:
    end = len(words) - (not words[-1].word)
    for first in range(1, end - 1):
        antecedent = trailing(words, first) if words[first].raw == "," else ()
        if antecedent:
            yield from _aside(antecedent, words[first + 1 : end], (*words[:first], *words[end:]), last=True)


def _in_front(words: Sequence[Token]) -> Iterator[Aside]:
    """A participle with what belongs to it, a comma, and the clause whose subject it is about."""
    if words[0].lower not in _FRONTED:
        return
    for first in range(2, len(words) - 2):
        found = predicate(words[first + 1 :]) if words[first].raw == "," else None
        if found and not found.begin and not _is_owned(found.subject):
            yield from _aside(found.subject, words[:first], tuple(words[first + 1 :]), last=False)
            return


def _is_owned(subject: Sequence[Token]) -> bool:
    """Does a subject name an owner, whom a participle before it may mean: "Born in Ulm, her father"?"""
    return any(word.lower in grammar.POSSESSIVES or word.lower.endswith("'s") for word in subject)


def _aside(
    antecedent: tuple[Token, ...], own: Sequence[Token], main: tuple[Token, ...], *, last: bool
) -> Iterator[Aside]:
    found = predicate(main)
    if found and (len(own) > 1 or own[0].name) and (last or found.subject == antecedent) and _is_balanced(own):
        yield Aside(antecedent, tuple(own), main, found, last)


def _is_balanced(words: Sequence[Token]) -> bool:
    raws = [word.raw for word in words]
    return raws.count("(") == raws.count(")")
