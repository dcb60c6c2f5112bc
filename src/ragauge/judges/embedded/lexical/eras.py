"""Eras: a claim of "the late 19th century" or "the 1890s" is held by a text that says 1895."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.judges.embedded.lexical.numbers import is_year
from ragauge.judges.embedded.lexical.words import Word, key_of

_CENTURY = key_of("century")
_BEFORE_CHRIST = "bc"
_ONES_OWN = frozenset(map(key_of, "my your his her its our their".split()))  # "in her nineties"

PARTS = {key_of(word): part for word, part in (("early", (0.0, 0.4)), ("mid", (0.3, 0.7)), ("late", (0.6, 1.0)))}
"""Of an era the part that a word before it leaves."""


class Era(NamedTuple):
    """The years from since until before until. first, behind: the places of its first word, and behind its last."""

    first: int
    behind: int
    since: float
    until: float

    def is_told(self, sentence: Sequence[Word]) -> bool:
        """Whether a sentence names a year, or a shorter era, that lies within this one."""
        return any(self.since <= told.since and told.until <= self.until for told in times(sentence))


def eras(found: Sequence[Word]) -> Iterator[Era]:
    """The decades and centuries among words; none where years before Christ are told."""
    return (one for one in times(found) if one.until - one.since > 1)


def times(found: Sequence[Word]) -> Iterator[Era]:
    """The years, decades and centuries among words, in their order."""
    if any(word.key == _BEFORE_CHRIST for word in found):
        return
    for at, word in enumerate(found):
        century = at + 1 < len(found) and found[at + 1].key == _CENTURY
        years = _span(word.key, century=century)
        if years is not None:
            part = PARTS.get(found[at - 1].key) if at else None
            era = _narrowed(Era(at, at + 1 + century, *years), part)
            if not era.first or found[era.first - 1].key not in _ONES_OWN:
                yield era


def _span(key: str, *, century: bool) -> tuple[float, float] | None:
    """The first year that a number means, and the year behind its last: "#1895", "#90s", "#19" of a century."""
    if key[:1] != "#":
        return None
    if is_year(key):
        return float(key[1:]), float(key[1:]) + 1
    number = key[1:].removesuffix("s")
    if not number.isdecimal():
        return None
    value = int(number)
    if century:
        return 100.0 * (value - 1), 100.0 * value
    if key.endswith("s"):
        decade = value + 1900 * (value < 100)
        return float(decade), decade + 10.0
    return None


def _narrowed(era: Era, part: tuple[float, float] | None) -> Era:
    """An era less what "early", "mid" or "late" before it leaves out; a year stays as it is."""
    years = era.until - era.since
    if part is None or years == 1:
        return era
    return Era(era.first - 1, era.behind, era.since + part[0] * years, era.since + part[1] * years)
