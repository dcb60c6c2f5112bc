"""Adjuncts: "Einstein was born in Germany on 14 March 1879" as one statement of the place and one of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragauge.judges.embedded.statements import grammar
from ragauge.judges.embedded.statements.drafts import Draft, Token, within_name
from ragauge.judges.embedded.statements.predicates import Form, Predicate, predicate, surely_finite
from ragauge.judges.embedded.statements.times import place_end, time_end

#: What happens once, so that its place and its time each hold without the other: as passives, with an object, alone.
_DONE = frozenset(
    """arrested assassinated awarded baptized beheaded born buried built christened completed constructed created
    crowned defeated demolished designed destroyed discovered dissolved elected established executed formed founded
    held imprisoned inaugurated incorporated invented killed murdered ordained painted ratified signed unveiled won
    wrote written""".split()
)
_HAPPENS = frozenset("died happened occurred formed won married crashed".split())
_REACHING = grammar.NEGATIVE | frozenset(
    """only if unless and or but not most many some several few all every each any dozens hundreds thousands millions
    one two three four five six seven eight nine ten both more less fewer as than""".split()
)
_MOST_WORDS = 10


def apart(draft: Draft) -> list[Draft]:
    """The draft as one of its place and one of its time; itself where they do not surely hold by themselves.

    Both stand at the end, in any order, or the time stands before the subject. The verb tells of a single event, and
    nothing that counts, negates or restricts stands beside it, whose reach would change.
    """
    words = draft.words
    found = predicate(words) if any(word.number for word in words) else None
    if found is None or not _is_event(words, found):
        return [draft]
    end = _end(words)
    opened = _opens_with_time(words, found)
    for begin in range(found.verb.head + 1, end):
        middle = _middle(words[:end], begin)
        if middle or (opened and _run(place_end, words[:end], begin) == end):
            core = words[found.verb.head + 1 : begin]
            if not _is_core(words, found, core):
                return [draft]
            return _at_the_end(draft, begin, middle, end) if middle else _around(draft, found, begin)
    return [draft]


def _end(words: Sequence[Token]) -> int:
    """Where place and time would end: before the full stop, and before a closing "by Ann Lee"."""
    end = len(words) - (not words[-1].word)
    by = end - 1
    while by > 0 and words[by].name:
        by -= 1
    return by if words[by].lower == "by" and by < end - 1 else end


def _run(phrase_end: Callable[[Sequence[Token], int], int], words: Sequence[Token], begin: int) -> int:
    """Where phrases of one kind that follow each other end."""
    end = begin
    while end < len(words) and (further := phrase_end(words, end)) > end:
        end = further
    return end


def _middle(words: Sequence[Token], begin: int) -> int:
    """Where the second begins of place and time, if these are all from `begin` on; 0 otherwise."""
    for one, other in ((place_end, time_end), (time_end, place_end)):
        first = _run(one, words, begin)
        second = first + (first < len(words) and words[first].raw == ",")
        if begin < first and second < len(words) and _run(other, words, second) == len(words):
            return second
    return 0


def _at_the_end(draft: Draft, begin: int, second: int, end: int) -> list[Draft]:
    words, (start, stop) = draft.words, draft.span
    cut, base, closing = words[second].start, words[:begin], words[end:]
    first = second - (words[second - 1].raw == ",")
    return [
        Draft((start, cut), (*base, *words[begin:first], *closing)),
        Draft((cut, stop), (*base, *words[second:end], *closing)),
    ]


def _opens_with_time(words: Sequence[Token], found: Predicate) -> bool:
    return found.begin > 1 and time_end(words[: found.begin - 1], 0) == found.begin - 1


def _around(draft: Draft, found: Predicate, begin: int) -> list[Draft]:
    words, (start, stop) = draft.words, draft.span
    cut = words[begin].start
    closing = words[_end(words) :]
    return [Draft((start, cut), (*words[:begin], *closing)), Draft((cut, stop), words[found.begin :])]


def _is_event(words: Sequence[Token], found: Predicate) -> bool:
    head = words[found.verb.head].lower
    if found.verb.form is Form.PASSIVE:
        return head in _DONE and found.verb.helpers[0].lower in grammar.BE
    return found.verb.form is Form.PLAIN and (head in _DONE or head in _HAPPENS)


def _is_core(words: Sequence[Token], found: Predicate, core: Sequence[Token]) -> bool:
    """Is what stands before place and time a clause by itself, in which nothing reaches over them?"""
    head = words[found.verb.head].lower
    complete = found.verb.form is Form.PASSIVE or core or head in _HAPPENS
    before = words[found.begin : found.verb.head + 1 + len(core)]
    return bool(complete) and len(core) <= _MOST_WORDS and not _reaches(before) and not _holds_clause(core)


def _reaches(before: Sequence[Token]) -> bool:
    """Does a word count, negate or restrict? A number counts unless it is part of a name or a year."""
    for place, word in enumerate(before):
        counts = word.number and not (place and before[place - 1].name) and len(word.raw) != 4
        if counts or word.lower in _REACHING or word.lower.endswith("n't"):
            return True
    return False


def _holds_clause(core: Sequence[Token]) -> bool:
    return any(
        word.lower in grammar.SUBORDINATE
        or word.lower == "to"
        or (word.raw == "," and not within_name(core, place))
        or surely_finite(core, place)
        for place, word in enumerate(core)
    )
