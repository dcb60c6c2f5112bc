"""What of a short answer only narrows it.

"1965" answers when "1 August 1965" does, "Madison" where "Madison, Wisconsin" does, and "George Barnes" who
"George Warren Barnes" does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from ragauge.judges.embedded.lexical.binding import of_a_date
from ragauge.judges.embedded.lexical.eras import PARTS
from ragauge.judges.embedded.lexical.lexicon import MONTH_NAMES
from ragauge.judges.embedded.lexical.numbers import is_year
from ragauge.judges.embedded.lexical.words import TITLES, Kind, Word, key_of

_VAGUE = frozenset(map(key_of, "around about approximately roughly circa jr sr inc corp ltd llc plc gmbh".split()))
_NO_RIVALS = _VAGUE | TITLES
_PLACES = frozenset(map(key_of, "where capital place location birthplace hometown headquarters".split()))
_ASIDE = re.compile(r"\([^()]*\)")
_EXACT = frozenset(  # of a query that asks for all of it, or for what would be left out
    map(key_of, "day date month exact exactly full country state city town middle maiden".split())
)


def narrowing(text: str, found: Sequence[Word], asked: Sequence[Word]) -> list[Word]:
    """The words of an answer without which it is the same answer, if a coarser one.

    found: the words of the answer `text`. asked: those of the query, which may ask for all of it.
    """
    needless = [word for word in found if word.key in _VAGUE | PARTS.keys()]
    for aside in _ASIDE.finditer(text):
        needless += [word for word in found if aside.start() < word.start < aside.end()]
    asks = {word.key for word in asked}
    if _EXACT.isdisjoint(asks):
        needless += [*_within_a_year(found), *_middle_names(text, found), *_titles(found), *_subtitle(text, found)]
        needless += _place_around(text, found) if asks & _PLACES else ()
    needed = {word.key for word in found if word not in needless}
    return [word for word in needless if word.kind != Kind.FUNCTION and word.key not in needed]


def narrowed_otherwise(said: Sequence[Word], needless: Sequence[Word], known: Collection[str], *, bare: bool) -> bool:
    """Whether a text has, beside what is known, something of the sort of what is needless.

    A date, where a date is needless; a name, where one is. bare: the text is no sentence; any word may be a name.
    """
    sorts = {_is_date(word) for word in needless if word.key not in _VAGUE}
    return any(
        word.key not in known and word.key not in _NO_RIVALS and _is_date(word) in sorts
        for word in said
        if _is_date(word) or word.kind == Kind.NAME or (bare and word.kind != Kind.FUNCTION)
    )


def _is_date(word: Word) -> bool:
    return word.kind == Kind.NUMBER or word.key in MONTH_NAMES | PARTS.keys()


def _within_a_year(found: Sequence[Word]) -> Iterator[Word]:
    """Day and month, where a year stands with them."""
    if any(is_year(word.key) for word in found):
        for place, word in enumerate(found):
            if word.key in MONTH_NAMES or (word.kind == Kind.NUMBER and of_a_date(found, place) == "day"):
                yield word


def _middle_names(text: str, found: Sequence[Word]) -> Iterator[Word]:
    """Of three names or more with nothing between them those between the first and the last."""
    run: list[Word] = []
    for word in found:
        name = word.kind == Kind.NAME and word.key not in MONTH_NAMES
        if not name or (run and not _follows(text, run[-1], word)):
            yield from run[1:-1]
            run = []
        run += [word] if name else []
    yield from run[1:-1]


def _follows(text: str, one: Word, two: Word) -> bool:
    """Whether nothing stands between two words but a space, or the stop of an initial."""
    between = text[one.end : two.start]
    return between.isspace() or (between == ". " and one.end - one.start == 1)


def _titles(found: Sequence[Word]) -> list[Word]:
    """Titles before a name."""
    return [one for one, two in pairwise(found) if one.kind == two.kind == Kind.NAME and one.key in TITLES]


def _subtitle(text: str, found: Sequence[Word]) -> list[Word]:
    """What stands behind a colon, with a name of two words or more before it."""
    cut = text.find(": ")
    before = [word for word in found if word.start < cut and word.kind == Kind.NAME]
    return [word for word in found if word.start > cut] if len(before) > 1 else []


def _place_around(text: str, found: Sequence[Word]) -> list[Word]:
    """The names behind the one comma, or the one "in", of an answer that is nothing but names."""
    said = [word for word in found if word.kind != Kind.FUNCTION]
    cuts = [word.start for word in found if word.key == "in"]
    cuts += [two.start for one, two in pairwise(said) if text[one.end : two.start].strip() == ","]
    if len(cuts) != 1 or not all(text[word.start].isupper() for word in said):
        return []
    before, behind = ([word for word in said if (word.start >= cuts[0]) is later] for later in (False, True))
    return behind if {word.key for word in before}.isdisjoint(word.key for word in behind) else []
