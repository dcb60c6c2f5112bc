"""Predicatives: "Ann was a physicist and the first woman to win the prize" as two statements of what she was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.coordination import may_part
from ragauge.judges.embedded.statements.drafts import Draft, Token
from ragauge.judges.embedded.statements.predicates import Form, Predicate, predicate, resumes

_ARTICLES = frozenset(("a", "an", "the", "one"))
_FOREMOST = frozenset("first second third fourth fifth only main most least best worst last youngest oldest".split())
_LONGEST = 8


def told_apart(draft: Draft) -> list[Draft]:
    """The draft as one for each noun phrase that its subject is said to be; itself where that is doubtful.

    Each noun phrase has an article. All but the last are without a preposition, behind which "and" could join
    something else, unless what follows is told by its rank: "the capital of Peru and the largest city there". One with
    "the" and nothing more is not parted from one with a preposition: "the capital and the seat of the king".
    """
    words = draft.words
    found = predicate(words) if any(word.lower == "and" for word in words) else None
    if found is None or not _is_predicative(words, found) or not may_part(words, found):
        return [draft]
    cuts = _cuts(words, found.verb.head + 1)
    if not cuts:
        return [draft]
    base = (*words[: found.begin], *found.subject, *found.verb.helpers)
    spans = pairwise([draft.span[0], *(words[opens].start for _, opens, _ in cuts), draft.span[1]])
    ends = [*(end for end, _, _ in cuts[1:]), len(words)]
    later = [(*base, *words[begin:end]) for (_, _, begin), end in zip(cuts, ends, strict=True)]
    return [Draft(span, said) for span, said in zip(spans, [words[: cuts[0][0]], *later], strict=True)]


def _is_predicative(words: Sequence[Token], found: Predicate) -> bool:
    verb = found.verb
    first = words[verb.head + 1] if verb.head + 1 < len(words) else None
    singular = verb.helpers[0].lower in ("is", "was") and len(verb.helpers) == 1
    cleft = words[found.begin].lower == "it" and not grammar.SUBORDINATE.isdisjoint(word.lower for word in words)
    if cleft:
        return False
    return verb.form is Form.COPULA and singular and first is not None and first.lower in _ARTICLES


def _cuts(words: Sequence[Token], begin: int) -> list[tuple[int, int, int]]:
    """For each further noun phrase: where the words before it end, where its span begins, and its first word."""
    cuts: list[tuple[int, int, int]] = []
    start, place = begin, begin + 1
    while place < len(words) - 2:
        joined = words[place].lower == "and" or (words[place].raw == "," and words[place + 1].lower == "and")
        opens = place + (words[place].raw == ",")
        first = opens + (words[opens].lower == "and")
        if (joined or words[place].raw == ",") and words[first].lower in _ARTICLES:
            if _leans(words[start:place], words[first:]) or not (
                _is_bare(words[start:place]) or _by_rank(words, first)
            ):
                return []
            cuts.append((place, opens, first))
            start = first
            if joined:
                return [] if _goes_on(words[first:]) else cuts
            place = first
        place += 1
    return []


def _is_bare(phrase: Sequence[Token]) -> bool:
    return len(phrase) <= _LONGEST and all(
        word.word and word.lower not in grammar.PREPOSITIONS | grammar.SUBORDINATE | {"to", "and"} for word in phrase
    )


def _leans(phrase: Sequence[Token], later: Sequence[Token]) -> bool:
    """Whether what a later phrase ends with may belong to this one too: "the capital and the seat of the king"."""
    goes_on = not grammar.PREPOSITIONS.isdisjoint(word.lower for word in later if word.lower != "to")
    return phrase[0].lower == "the" and _is_bare(phrase) and goes_on


def _by_rank(words: Sequence[Token], place: int) -> bool:
    lower = words[place + 1].lower
    return words[place].lower == "the" and (lower in _FOREMOST or (lower.endswith("est") and len(lower) > 5))


def _goes_on(last: Sequence[Token]) -> bool:
    """Does more follow the last noun phrase than belongs to it?"""
    return resumes(last) or any(word.raw == "," for word in last)
