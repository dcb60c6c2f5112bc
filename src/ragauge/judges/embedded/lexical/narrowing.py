"""What of a short answer only narrows it.

"1965" answers when "1 August 1965" does, "Madison" where "Madison, Wisconsin" does, and "George Barnes" who
"George Warren Barnes" does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise

from ragauge.judges.embedded.lexical.comparison import is_year, number_sort
from ragauge.judges.embedded.lexical.lexicon import MONTHS
from ragauge.judges.embedded.lexical.words import Kind, Word, key_of

_MONTHS = frozenset(MONTHS.values())
_PARTS = frozenset(map(key_of, "early mid late".split()))
_VAGUE = _PARTS | frozenset(map(key_of, "around about approximately roughly circa nearly almost dr sir".split()))
_ASIDE = re.compile(r"\([^()]*\)")
_EXACT = frozenset(map(key_of, "day date month exact exactly full".split()))  # of a query that asks for all of it


def narrowing(text: str, found: Sequence[Word], asked: Collection[str]) -> frozenset[str]:
    """The keys of an answer's words without which it is the same answer, if a coarser one.

    found: the words of the answer `text`. asked: the keys of the query, which may ask for all of it.
    """
    vague = {word.key for word in found if word.key in _VAGUE}
    for aside in _ASIDE.finditer(text):
        vague |= {word.key for word in found if aside.start() < word.start < aside.end()}
    if not _EXACT.isdisjoint(asked):
        return frozenset(vague)
    return frozenset(vague | set(_within_a_year(found)) | set(_middle_names(found)) | set(_place_around(text, found)))


def narrowed_otherwise(said: Sequence[Word], needless: Sequence[Word], known: Collection[str]) -> bool:
    """Whether a text has, beside what is known, a name where a name is needless, or a number or month where one is."""
    sorts = {_is_date(word) for word in needless}
    return any(
        word.key not in known and _is_date(word) in sorts for word in said if word.kind in (Kind.NAME, Kind.NUMBER)
    )


def _is_date(word: Word) -> bool:
    return word.kind == Kind.NUMBER or word.key in _MONTHS | _PARTS


def _within_a_year(found: Sequence[Word]) -> Iterator[str]:
    """Day and month, where a year stands with them."""
    if any(is_year(word.key) for word in found):
        for place, word in enumerate(found):
            if word.key in _MONTHS or (word.kind == Kind.NUMBER and number_sort(tuple(found), place) == "day"):
                yield word.key


def _middle_names(found: Sequence[Word]) -> Iterator[str]:
    """Of three names or more in a row those between the first and the last."""
    for is_name, run in groupby(found, lambda word: word.kind == Kind.NAME and word.key not in _MONTHS):
        yield from (word.key for word in list(run)[1:-1] if is_name)


def _place_around(text: str, found: Sequence[Word]) -> Iterator[str]:
    """The names behind the one comma, or the one "in", of an answer that is nothing but names."""
    said = [word for word in found if word.kind != Kind.FUNCTION]
    cuts = [word.start for word in found if word.key == "in"]
    cuts += [two.start for one, two in pairwise(said) if text[one.end : two.start].strip() == ","]
    if len(cuts) == 1 and said[0].start < cuts[0] and all(text[word.start].isupper() for word in said):
        yield from (word.key for word in said if word.start >= cuts[0])
