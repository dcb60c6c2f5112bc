"""The subject and the finite verb of a clause, found without a parser where both are plain."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.drafts import Token

_LONGEST_SUBJECT = 12
_LONGEST_OPENING = 10
_NO_SUBJECT = grammar.NEGATIVE | frozenset("there few little only what both either neither".split())
_FRONTED = grammar.PREPOSITIONS | grammar.CONNECTIVES


class Form(Enum):
    """What a verb group is: "wrote", "was written", "is old", "has written", "can write"."""

    PLAIN = "plain"
    PASSIVE = "passive"
    COPULA = "copula"
    PERFECT = "perfect"
    MODAL = "modal"


class Verb(NamedTuple):
    """A verb group. first: the place of its finite verb. head: that of its last verb. helpers: its auxiliaries, which
    may be repeated. past: it is in the past. sure: the finite verb cannot be anything else."""

    first: int
    head: int
    form: Form
    helpers: tuple[Token, ...]
    past: bool
    sure: bool


class Predicate(NamedTuple):
    """The plain clause that some words are. begin: where its subject begins, behind what is said before it."""

    begin: int
    subject: tuple[Token, ...]
    verb: Verb


def predicate(words: Sequence[Token]) -> Predicate | None:
    """The subject and verb of a clause; None where they are not plain."""
    begin = opening(words)
    first = words[begin] if begin < len(words) else None
    if first is None or first.lower in _NO_SUBJECT or first.lower in grammar.PREPOSITIONS or not first.word:
        return None
    for place in range(begin, min(begin + _LONGEST_SUBJECT, len(words) - 1)):
        if place > begin and finite(words, place):
            subject = _bare(words[begin:place])
            return Predicate(begin, subject, verb_group(words, place)) if _is_subject(subject) else None
        if not _in_subject(words, begin, place):
            return None
    return None


def opening(words: Sequence[Token]) -> int:
    """Where a clause begins behind what is said before it and a comma: "However,", "In 1903,"."""
    if not words or joins_on(words[0]):
        return min(len(words), 1)
    if words[0].lower not in _FRONTED and not words[0].lower.endswith("ly"):
        return 0
    for place, word in enumerate(words[:_LONGEST_OPENING]):
        if word.raw == ",":
            return place + 1
        if not word.word or word.lower in grammar.SUBORDINATE or (place and word.lower in grammar.AUXILIARIES):
            return 0
    return 0


def joins_on(first: Token) -> bool:
    """Whether the first word of a clause merely joins it to what went before: "And", "but", or a "while" within."""
    return first.lower in ("and", "but", "yet") or (first.raw in grammar.JOINING)


def finite(words: Sequence[Token], place: int) -> bool:
    """Whether a finite verb may stand here."""
    word = words[place]
    return surely_finite(words, place) or (
        word.lower == word.raw and grammar.is_past(word.lower) and not _qualifies(words, place)
    )


def surely_finite(words: Sequence[Token], place: int) -> bool:
    """Whether a form stands here that is nothing but a finite verb."""
    word = words[place]
    if word.raw != word.lower:
        return False
    if word.lower in grammar.AUXILIARIES:
        return not (place and words[place - 1].lower in ("to", "the", "a"))
    if word.lower in grammar.PAST or word.lower in grammar.THIRD:
        return True
    return _third(words, place) or (word.lower in grammar.PLURAL_VERBS and _behind_plural(words, place))


def resumes(words: Sequence[Token]) -> bool:
    """Does a finite verb stand in these words that is neither joined on by "and" nor in a subordinate clause?"""
    for place, word in enumerate(words):
        if word.lower in grammar.SUBORDINATE:
            return False
        if surely_finite(words, place) and not (place and words[place - 1].lower in grammar.JOINING):
            return True
    return False


def _third(words: Sequence[Token], place: int) -> bool:
    """Whether a form such as "plays" is a verb here: before an article or the like, not behind one."""
    if words[place].lower not in grammar.THIRD_OR_NOUN or not 0 < place < len(words) - 1:
        return False
    before, after = words[place - 1], words[place + 1]
    if before.lower in ("he", "she", "it", "who", "which"):
        return True
    known = before.lower in grammar.DETERMINERS | grammar.POSSESSIVES | grammar.PREPOSITIONS
    return not known and (after.lower in grammar.DETERMINERS or after.lower in grammar.POSSESSIVES or after.name)


def _behind_plural(words: Sequence[Token], place: int) -> bool:
    """Whether a plural noun or pronoun stands before this place and the adverbs there."""
    while place > 1 and grammar.is_adverb(words[place - 1].lower):
        place -= 1
    before = words[place - 1].lower if place else ""
    noun = len(before) > 3 and before.endswith("s") and not before.endswith(("ss", "us", "is", "'s"))
    return before in ("they", "we", "you", "i", "people") or (noun and before not in grammar.THIRD)


def _qualifies(words: Sequence[Token], place: int) -> bool:
    """Whether a participle stands before a noun: "the proposed law"."""
    before = words[place - 1].lower if place else ""
    return before in grammar.DETERMINERS or before in grammar.POSSESSIVES or before.endswith("'s")


def verb_group(words: Sequence[Token], first: int) -> Verb:
    """The verb group whose finite verb stands at `first`."""
    lower = words[first].lower
    past = lower in grammar.PAST or lower in grammar.PAST_AUXILIARIES or grammar.is_past(lower)
    helpers = [words[first]]
    head = behind_adverbs(words, first)
    while head < len(words) and words[head].lower in ("be", "been", "being") and lower in grammar.AUXILIARIES:
        helpers.append(words[head])
        head = behind_adverbs(words, head)
    form = _form(lower, helpers[1:], words[head].lower if head < len(words) else "")
    at = first if form in (Form.PLAIN, Form.COPULA) else head
    return Verb(first, at, form, tuple(helpers), past, surely_finite(words, first))


def _form(lower: str, more: Sequence[Token], after: str) -> Form:
    participle = after in grammar.PARTICIPLES or grammar.is_past(after)
    if lower in grammar.BE or more:
        return Form.PASSIVE if participle else Form.COPULA
    if lower in grammar.HAVE:
        return Form.PERFECT if participle else Form.PLAIN
    return Form.MODAL if lower in grammar.MODALS else Form.PLAIN


def behind_adverbs(words: Sequence[Token], place: int) -> int:
    """The place behind this one and the adverbs there."""
    place += 1
    while place < len(words) and grammar.is_adverb(words[place].lower):
        place += 1
    return place


def _in_subject(words: Sequence[Token], begin: int, place: int) -> bool:
    """Whether a word may be part of a plain subject."""
    word = words[place]
    if place == begin:
        return not (word.lower in grammar.SUBORDINATE or word.lower in grammar.BASES)
    return word.word and not (
        word.lower in grammar.SUBORDINATE
        or word.lower in grammar.PRONOUNS
        or word.lower in ("to", "or", "not", "than")
        or word.lower.endswith("n't")
    )


def _bare(subject: Sequence[Token]) -> tuple[Token, ...]:
    """A subject without the adverbs between it and its verb."""
    end = len(subject)
    while end > 1 and grammar.is_adverb(subject[end - 1].raw):
        end -= 1
    return tuple(subject[:end])


def _is_subject(subject: Sequence[Token]) -> bool:
    """Whether words can be a subject: they end in a noun, and "and" joins names or what has articles alone."""
    first, last = subject[0].lower, subject[-1].lower
    if len(subject) == 1:
        return not (grammar.is_adverb(first) or first in ("the", "a", "an"))
    if last in grammar.PREPOSITIONS or last in grammar.DETERMINERS or last in grammar.POSSESSIVES or last == "and":
        return False
    return all(_fits_in(before, word) for before, word in pairwise(subject))


def _fits_in(before: Token, word: Token) -> bool:
    """Whether a word may follow another in a subject: an article opens a phrase, as a name does behind "and"."""
    opens = word.lower in grammar.DETERMINERS or word.lower in grammar.POSSESSIVES
    if before.lower == "and":
        return word.name or opens
    return not opens or before.lower in grammar.PREPOSITIONS or before.lower in ("all", "both", "half")
