"""Bounds: "over 20,000 people" is true where 22,000 are told, and "almost 70 per cent" where 69 are.

Not where 45,000 are: who says "over 20,000" has rounded to the last digit that is not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import cast

from ragauge.judges.embedded.lexical.words import Kind, Word, key_of

_MORE = frozenset(map(key_of, "over above exceeding exceeds exceeded exceed beyond least".split()))
_LESS = frozenset(map(key_of, "under below most maximum".split()))
_NEAR = frozenset(map(key_of, "about around approximately roughly nearly almost some circa estimated".split()))
_THAN = {"more": True, "greater": True, "higher": True, "less": False, "fewer": False, "lower": False}
_MORE_OR_LESS = {key_of(word): more for word, more in _THAN.items()}
_BEFORE = 3  # words before a number in which its bound stands
_YEARS = range(1000, 2100)  # values that may be years, which have no bounds

Keeps = Callable[[float, float], bool]


def keeps_bound(claim: Sequence[Word], number: Word, sentence: Sequence[Word]) -> bool:
    """Whether a bound stands before a number of a claim, and a sentence counts the same thing within it.

    No sentence does that has a bound for it itself ("at least 8 letters").
    """
    place = next((at for at, word in enumerate(claim) if word.start == number.start), 0)
    keeps, value = _bound(claim, place), _value(number)
    if keeps is None or value is None:
        return False
    counted = _beside(claim, place)
    alike = [at for at, word in enumerate(sentence) if word.kind == Kind.NUMBER and counted & _beside(sentence, at)]
    others = [_value(sentence[at]) for at in alike]
    bounded = any(_bound(sentence, at) for at in alike)
    return not bounded and any(other is not None and keeps(other, value) for other in others)


def _beside(found: Sequence[Word], place: int) -> set[str]:
    """The words of content right before and behind a number: what it counts."""
    near = (*found[max(place - 1, 0) : place], *found[place + 1 : place + 2])
    return {word.key for word in near if word.kind != Kind.FUNCTION}


def _bound(found: Sequence[Word], place: int) -> Keeps | None:
    """How a number may stand to the one at a place; None where no bound stands before it, or a negated one."""
    before = [word.key for word in found[max(place - _BEFORE, 0) : place]]
    if not {"no", "not"}.isdisjoint(before):
        return None
    for at, key in enumerate(before):
        than = before[at + 1 : at + 2] == ["than"]
        more = _MORE_OR_LESS.get(key) if than else key in _MORE if key in _MORE | _LESS else None
        if more is not None:
            return _at_least if more else _at_most
        if key in _NEAR:
            return _about
    return None


def _at_least(other: float, value: float) -> bool:
    return value <= other < value + _step(value)


def _at_most(other: float, value: float) -> bool:
    return value - _step(value) < other <= value


def _about(other: float, value: float) -> bool:
    return abs(other - value) <= _step(value) / 2


def _step(value: float) -> float:
    """What the last digit of a number that is not 0 counts: people round to it. 10 for 70, 0.1 for 3.1."""
    return 10.0 ** cast("int", Decimal(f"{value:.12g}").normalize().as_tuple().exponent)


def _value(word: Word) -> float | None:
    """The value of a number; None for a fraction, a time of day and what may be a year."""
    try:
        value = float(word.key[1:])
    except ValueError:
        return None
    return None if value in _YEARS else value
