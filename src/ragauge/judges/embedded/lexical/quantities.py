"""Quantities: an amount with its unit, so that "two weeks" are found in "14 days", and "a quarter" in "25 %"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from ragauge.judges.embedded.lexical.bounds import step
from ragauge.judges.embedded.lexical.numbers import value_of
from ragauge.judges.embedded.lexical.units import UNITS, WHOLE, measuring
from ragauge.judges.embedded.lexical.words import Kind, Word, key_of

_ROUNDED = 0.02  # of a quantity that is put in another unit: "5 miles" where 8 km are told
_DEGREE = key_of("degrees")
_PARTS = {"half": 1 / 2, key_of("quarter"): 1 / 4}
_PLACES = {"#3": 1 / 3, "#4": 1 / 4, "#5": 1 / 5}  # of "a third"
_SHARES = {f"#{share}/{parts}" for parts in (2, 3, 4, 5) for share in range(1, parts)}
_SHARE_SIGNS = measuring("share") | _PARTS.keys() | _PLACES.keys() | _SHARES
_ARTICLES = ("a", "an")
_OPENINGS = {*_ARTICLES, *_PARTS}
_RATED = frozenset(map(key_of, "once times dollar euro pound percent".split()))  # "twice a day" is no day


class Quantity(NamedTuple):
    """So much of a unit. first, behind: the places of its first word, and behind its last. unit: the key of the unit,
    of the first where there are several ("6 feet 2 inches"). digit: what the last digit of the amount counts, endless
    where it is told in words as a part. said: the keys of all its words."""

    first: int
    behind: int
    unit: str
    amount: float
    digit: float
    said: tuple[str, ...] = ()

    @property
    def signs(self) -> frozenset[str]:
        """Keys of which each quantity of the same dimension has one."""
        dimension = UNITS[self.unit].dimension
        return _SHARE_SIGNS if dimension == "share" else measuring(dimension)

    def is_told(self, sentence: Sequence[Word]) -> bool:
        """Whether a sentence has the same quantity in other words, and in another unit as exactly as this is told."""
        return any(told.said != self.said and self._is(told) for told in quantities(sentence))

    def _is(self, told: Quantity) -> bool:
        unit, other = UNITS[self.unit], UNITS[told.unit]
        if unit.dimension != other.dimension:
            return False
        amount = (told.amount * other.factor + other.zero - unit.zero) / unit.factor
        roundness = min(self.digit / 2, _ROUNDED * abs(self.amount)) if unit != other else 0.0
        return abs(amount - self.amount) <= roundness + 1e-9


def quantities(found: Sequence[Word]) -> Iterator[Quantity]:
    """The quantities among words, in their order: "90 minutes", "an hour and a half", "half", "6 feet 2 inches"."""
    at = 0
    while at < len(found):
        begins = found[at].kind == Kind.NUMBER or found[at].key in _OPENINGS
        one = _quantity(found, at) if begins else None
        if one is not None:
            yield one._replace(said=tuple(word.key for word in found[one.first : one.behind]))
        at = one.behind if one else at + 1


def _quantity(found: Sequence[Word], at: int) -> Quantity | None:
    """The quantity that begins at a place, with what of smaller units follows: "1 hour and 30 minutes"."""
    whole = smallest = _plain(found, at)
    while whole and smallest:
        smallest = _finer(found, whole, smallest)
        if smallest:
            factor = UNITS[smallest.unit].factor / UNITS[whole.unit].factor
            amount, digit = whole.amount + smallest.amount * factor, smallest.digit * factor
            whole = whole._replace(behind=smallest.behind, amount=amount, digit=digit)
    return whole


def _finer(found: Sequence[Word], whole: Quantity, last: Quantity) -> Quantity | None:
    """What goes on with a quantity in a smaller unit, and is less than one of its last.

    Not what stands behind it in brackets or behind a comma, and tells the same again: "3 miles (4.8 km)".
    """
    joined = _key(found, whole.behind) == "and"
    more = _plain(found, whole.behind + joined)
    if more is None or found[more.first].clause != found[whole.behind - 1].clause + joined:
        return None
    unit, other = UNITS[last.unit], UNITS[more.unit]
    return more if unit.dimension == other.dimension and more.amount * other.factor < unit.factor else None


def _plain(found: Sequence[Word], at: int) -> Quantity | None:
    """One amount with its unit; a part of a whole without one."""
    amount, behind = _amount(found, at)
    if amount is None:
        return None
    is_part = _is_part(found[behind - 1])
    unit, after = _unit(found, _behind_of(found, behind) if is_part else behind)
    if unit is None:
        return Quantity(at, behind, WHOLE, amount, inf) if is_part else None
    more, after = _and_a_part(found, after)
    return Quantity(at, after, unit, amount + more, inf if is_part else step(amount + more))


def _amount(found: Sequence[Word], at: int) -> tuple[float | None, int]:
    """How much begins at a place, and the place behind it."""
    key, following = _key(found, at), _key(found, at + 1)
    if key in _PARTS:
        return _PARTS[key], at + 1
    if key in _ARTICLES:
        if following in _PARTS:
            return _PARTS[following], at + 2
        if following in _PLACES and found[at + 1].ordinal:
            return _PLACES[following], at + 2
        return (None if _is_rate(found, at) else 1.0), at + 1
    if key in _SHARES:
        share, parts = key[1:].split("/")
        return int(share) / int(parts), at + 1
    if not key or found[at].kind != Kind.NUMBER or found[at].ordinal:
        return None, at
    value, (more, behind) = value_of(key), _and_a_part(found, at + 1)
    return (None if value is None else value + more), behind


def _is_part(last: Word) -> bool:
    """Whether an amount that ends with a word is a part of something: "half", "two thirds", "a third"."""
    return last.key in _PARTS or last.key in _SHARES or last.ordinal


def _and_a_part(found: Sequence[Word], at: int) -> tuple[float, int]:
    """The part behind an amount or a unit, "and a half", and the place behind it; 0 for none."""
    keys = [_key(found, place) for place in (at, at + 1, at + 2)]
    return (_PARTS[keys[2]], at + 3) if keys[:2] == ["and", "a"] and keys[2] in _PARTS else (0.0, at)


def _is_rate(found: Sequence[Word], at: int) -> bool:
    """Whether the article at a place may mean "per", as in "twice a day" and "$5 a day"."""
    return at > 0 and (found[at - 1].kind == Kind.NUMBER or found[at - 1].key in _RATED)


def _behind_of(found: Sequence[Word], at: int) -> int:
    """The place behind the "of a" of "a quarter of a mile" and the "an" of "half an hour"."""
    at += _key(found, at) == "of"
    return at + (_key(found, at) in _ARTICLES)


def _unit(found: Sequence[Word], at: int) -> tuple[str | None, int]:
    """The unit at a place, and the place behind it; "degrees" only with a scale."""
    if _key(found, at) == _DEGREE:
        unit, behind = _unit(found, at + 1)
        return (unit, behind) if unit and UNITS[unit].dimension == "warmth" else (None, at)
    key = _key(found, at)
    return (key, at + 1) if key in UNITS and key != WHOLE else (None, at)


def _key(found: Sequence[Word], at: int) -> str:
    """The key at a place; "" behind the last."""
    return found[at].key if at < len(found) else ""
