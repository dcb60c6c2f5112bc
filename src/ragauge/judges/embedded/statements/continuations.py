"""Continuations: whether a word behind "and" begins a verb phrase that goes on with the subject of the one before."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.drafts import Token
from ragauge.judges.embedded.statements.predicates import Form, Verb, surely_finite

_NOUN_AHEAD = grammar.DETERMINERS | grammar.POSSESSIVES
_ELLIPSES = frozenset("so not too n't it".split())


def helpers_of(words: Sequence[Token], verb: Verb, place: int) -> tuple[Token, ...] | None:
    """The auxiliaries that a verb phrase beginning at `place` takes over from the verb group before it.

    () where it has a finite verb of its own; None where it is no verb phrase, or not surely.
    """
    if place >= len(words) - 1 or words[place].raw != words[place].lower:
        return None
    lower = words[place].lower
    if surely_finite(words, place):
        return _of_finite(words, verb, place)
    if lower in grammar.PARTICIPLES:
        return verb.helpers if verb.form in (Form.PASSIVE, Form.PERFECT) else None
    if grammar.is_past(lower):
        return _of_past(words, verb, place)
    return _of_base(words, verb, place)


def _of_finite(words: Sequence[Token], verb: Verb, place: int) -> tuple[Token, ...] | None:
    lower, after = words[place].lower, words[place + 1].lower
    if lower in grammar.AUXILIARIES:
        if after in _ELLIPSES and place >= len(words) - 3:
            return None
        if verb.form is Form.MODAL and lower in ("have", "do"):
            return verb.helpers[:1]
    return () if _agree(verb, lower) else None


def _of_base(words: Sequence[Token], verb: Verb, place: int) -> tuple[Token, ...] | None:
    """For a base form, such as "eat", behind a modal or a plural verb; what follows shows that it is no noun."""
    lower, after = words[place].lower, words[place + 1]
    thing = after.lower in _NOUN_AHEAD
    surely = lower in grammar.PLURAL_VERBS and (thing or after.name or after.lower in grammar.PREPOSITIONS)
    if verb.form is Form.MODAL and (surely or (lower in grammar.BASES and thing)):
        return verb.helpers[:1]
    first = verb.helpers[0].lower
    plural = first in grammar.PLURAL_VERBS or (first in grammar.PLURAL_AUXILIARIES and not verb.past)
    return () if surely and plural and verb.form is not Form.PERFECT else None


def _agree(verb: Verb, lower: str) -> bool:
    """Whether two finite verbs can have the same subject."""
    first = verb.helpers[0].lower
    plural = lower in grammar.PLURAL_AUXILIARIES
    singular = lower in grammar.SINGULAR_AUXILIARIES or (lower.endswith("s") and lower not in grammar.AUXILIARIES)
    if verb.past and first not in ("was", "were"):
        return True
    if verb.form is Form.MODAL:
        return lower in grammar.AUXILIARIES or lower in grammar.THIRD
    several = first in grammar.PLURAL_AUXILIARIES or first in grammar.PLURAL_VERBS
    return not (singular if several else plural)


def _of_past(words: Sequence[Token], verb: Verb, place: int) -> tuple[Token, ...] | None:
    """For a form that is a past or a participle, such as "moved"; what follows tells which."""
    lower, after = words[place].lower, words[place + 1]
    thing = after.lower in _NOUN_AHEAD or after.name or after.number
    led = thing or after.lower in grammar.PREPOSITIONS or after.lower in ("to", "that", "how") or not after.word
    if not led and not grammar.is_adverb(after.lower):
        return None
    if verb.form is Form.PERFECT:
        return verb.helpers
    if verb.form is Form.PLAIN:
        return () if verb.past and after.lower != "by" and after.word else None
    if thing and verb.form is not Form.MODAL and lower not in grammar.NAMING:
        return () if verb.past else None
    if verb.past and lower in grammar.INTRANSITIVE and verb.form is not Form.MODAL:
        return ()
    dated = not verb.past and any(word.number for word in words[place:])
    return verb.helpers if verb.form is Form.PASSIVE and lower in grammar.PASSIVE and not (thing or dated) else None
