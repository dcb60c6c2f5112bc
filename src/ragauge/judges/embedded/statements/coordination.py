"""Coordination: "Ann moved to Paris and became a doctor" as two statements that share their subject."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.continuations import helpers_of
from ragauge.judges.embedded.statements.drafts import Draft, Token, within_name
from ragauge.judges.embedded.statements.predicates import (
    Form,
    Predicate,
    Verb,
    behind_adverbs,
    finite,
    predicate,
    resumes,
    surely_finite,
    verb_group,
)

_JOINING = frozenset(("and", "but"))
_CONNECTING = grammar.CONNECTIVES | grammar.JOINING
_UNSPLIT = frozenset("if unless only respectively either neither both whether or than rather ? !".split())
_CONDITIONS = frozenset("when whenever once while".split())
_SIGNS = frozenset('" “ ” « » : ; — – ` |'.split())
_SUBJECTS = frozenset("he she they we i you".split())
_LEANING = frozenset("it them him there this these those such so latter former ones".split())
_OWN_TIME = frozenset("later then now subsequently eventually today currently".split())
_PARTICLES = frozenset("up down out off back over away around through".split())
_GOING = frozenset("came fell went ran got grew stood sat moved flew rose".split())
_NOT_ENDING = (
    grammar.CONNECTIVES | grammar.PREPOSITIONS | grammar.DETERMINERS | grammar.POSSESSIVES | {"to", "and", "but", ","}
)


class Joint(NamedTuple):
    """A place where a verb phrase is joined on.

    end: where the words before it end. opens: the word with which its span begins, the joining word if there is one.
    begin: its first word. helpers: the auxiliaries that it takes over from the verb phrase before it.
    """

    end: int
    opens: int
    begin: int
    helpers: tuple[Token, ...]


def coordinated(draft: Draft) -> list[Draft]:
    """The draft as one for each verb phrase that is joined to its first; itself where none surely is.

    The subject goes before each, and so does what is said before it ("In the novel,"), unless that merely connects
    ("However,") or is a time and the phrase has one of its own.
    """
    words = draft.words
    found = predicate(words) if any(word.lower in _JOINING for word in words) else None
    joints = _joints(words, found) if found and may_part(words, found) else []
    if found is None or not joints:
        return [draft]
    ends = [*(joint.end for joint in joints[1:]), len(words)]
    later = [_phrase(words, found, joint, end) for joint, end in zip(joints, ends, strict=True)]
    cuts = [draft.span[0], *(words[joint.opens].start for joint in joints), draft.span[1]]
    said = [words[: joints[0].end], *later]
    return [Draft(span, phrase) for span, phrase in zip(pairwise(cuts), said, strict=True)]


def _phrase(words: Sequence[Token], found: Predicate, joint: Joint, end: int) -> tuple[Token, ...]:
    """The words of a statement whose verb phrase goes from a joint to `end`."""
    said = tuple(words[joint.begin : end])
    opening = tuple(words[: found.begin])
    connects = all(word.lower in _CONNECTING or not word.word for word in opening)
    timed = any(word.number for word in opening) and any(word.number or word.lower in _OWN_TIME for word in said)
    return (*(() if connects or timed else opening), *found.subject, *joint.helpers, *said)


def may_part(words: Sequence[Token], found: Predicate) -> bool:
    """Whether nothing in the clause reaches over its verb phrases: no condition, comparison, choice or quotation."""
    lowers = {word.lower for word in words}
    conditional = not found.verb.past and not _CONDITIONS.isdisjoint(lowers)
    return _UNSPLIT.isdisjoint(lowers) and _SIGNS.isdisjoint(lowers) and not conditional


def _joints(words: Sequence[Token], found: Predicate) -> list[Joint]:
    """Where verb phrases are joined; commas alone join only on the way to an "and"."""
    joints: list[Joint] = []
    verb = found.verb
    for at in range(verb.head + 1, len(words) - 2):
        if at <= verb.head or words[at].lower not in (*_JOINING, ","):
            continue
        begin = behind_adverbs(words, at)
        helpers = helpers_of(words, verb, begin)
        if helpers is None or not _parts(words, verb, at, begin):
            continue
        comma = words[at].raw == ","
        end = at - 1 if not comma and words[at - 1].raw == "," else at
        joints.append(Joint(end, at + 1 if comma else at, at + 1, helpers))
        verb = _next_verb(words, verb, begin, helpers)
    while joints and words[joints[-1].opens].lower not in _JOINING:
        joints.pop()
    return joints


def _next_verb(words: Sequence[Token], verb: Verb, begin: int, helpers: tuple[Token, ...]) -> Verb:
    if not helpers:
        return verb_group(words, begin)
    return verb._replace(first=begin, head=begin, helpers=helpers)


def _parts(words: Sequence[Token], verb: Verb, at: int, begin: int) -> bool:
    """Do the verb phrase before a joining word and what follows it each stand by themselves with the subject?"""
    before = words[verb.head + 1 : at - 1 if words[at - 1].raw == "," else at]
    sure = surely_finite(words, begin)
    return (
        _stands(words, verb, before, begin)
        and _closed(words, verb.head + 1, verb.head + 1 + len(before), sure=sure and verb.sure)
        and not _leans(words, begin)
        and (sure or verb.sure or not resumes(words[begin + 1 :]))
    )


def _stands(words: Sequence[Token], verb: Verb, before: Sequence[Token], begin: int) -> bool:
    """Is the first verb phrase complete, so that it shares no object with the second, and not negated?"""
    head = words[verb.head].lower
    if any(word.lower in grammar.NEGATIVE or word.lower.endswith("n't") for word in words[verb.first : begin]):
        return False
    if before:
        bare = len(before) == 1 and (grammar.is_adverb(before[0].lower) or _shares(words, head, before[0], begin))
        return before[-1].lower not in _NOT_ENDING and not bare
    return head in grammar.INTRANSITIVE or (words[begin].lower in grammar.AUXILIARIES and verb.form is not Form.COPULA)


def _shares(words: Sequence[Token], head: str, particle: Token, begin: int) -> bool:
    """Do two verbs share an object that stands behind the second: "picked up and threw the ball"?"""
    return particle.lower in _PARTICLES and head not in _GOING and _has_object(words, begin)


def _closed(words: Sequence[Token], begin: int, end: int, *, sure: bool) -> bool:
    """Does a verb phrase hold no clause of its own, and no comma but within a name, a place or a date?

    sure: both its verb and the next are finite, so that a participle without an object between them is no verb.
    """
    depth = 0
    for place in range(begin, end):
        word = words[place]
        depth += (word.raw in "([") - (word.raw in ")]")
        if word.lower in grammar.SUBORDINATE or word.lower in _SUBJECTS or surely_finite(words, place):
            return False
        if word.raw == "," and not within_name(words, place):
            return False
        if finite(words, place) and not (sure and not _has_object(words, place)):
            return False
    return depth == 0


def _has_object(words: Sequence[Token], place: int) -> bool:
    after = words[place + 1]
    return after.lower in grammar.DETERMINERS or after.lower in grammar.POSSESSIVES or after.name or after.number


def _leans(words: Sequence[Token], begin: int) -> bool:
    """Does a verb phrase speak of something by a pronoun, which the words before it would have to explain?"""
    for place in range(begin, len(words)):
        lower = words[place].lower
        if lower in _LEANING:
            return True
        if lower == "her" and not (place + 1 < len(words) and _begins_noun(words[place + 1])):
            return True
    return False


def _begins_noun(word: Token) -> bool:
    return word.word and not (word.lower in grammar.PREPOSITIONS or word.lower in ("to", "and", "but", "when"))
