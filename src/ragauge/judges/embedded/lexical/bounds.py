"""Bounds: "over 20,000 people" is true where 22,000 are told, and "almost 70 per cent" where 69 are.

Not where 45,000 are: who says "over 20,000" has rounded to the last digit that is not 0. A share or a great number is
taken to be rounded without such a word: "3.1 %" is true where 3.14 % are told, "7.4 million" where 7,382,000 are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple, cast

from ragauge.judges.embedded.lexical.numbers import is_year, value_of
from ragauge.judges.embedded.lexical.words import Kind, Word, key_of

Keeps = Callable[[float, float], bool]
_BEFORE = 3  # words before a number in which its bound stands
_GREAT, _SHARE = 1e6, key_of("percent")


class Bound(NamedTuple):
    """A number with a bound before it. keeps: how another may stand to its value. counted: the words beside it."""

    keeps: Keeps
    value: float
    counted: frozenset[str]

    def is_told(self, sentence: Sequence[Word]) -> bool:
        """Whether a sentence counts the same thing within the bound; anything, where nothing is said to be counted.

        Not if the sentence has a bound itself ("at least 8 letters").
        """
        numbers = (at for at, word in enumerate(sentence) if word.kind == Kind.NUMBER)
        alike = [at for at in numbers if not self.counted or self.counted & _beside(sentence, at)]
        values = [_value(sentence[at]) for at in alike]
        bounded = any(_keeps(sentence, at) for at in alike)
        return not bounded and any(value is not None and self.keeps(value, self.value) for value in values)


def bound(found: Sequence[Word], place: int) -> Bound | None:
    """The bound of the number at a place; None where it has none, or may be a year."""
    value, counted = _value(found[place]), _beside(found, place)
    if value is None:
        return None
    rounded = _about if value >= _GREAT or _SHARE in counted else None
    keeps = _keeps(found, place) or rounded
    return Bound(keeps, value, counted) if keeps else None


def _beside(found: Sequence[Word], place: int) -> frozenset[str]:
    """The words of content right before and behind a number: what it counts."""
    near = (*found[max(place - 1, 0) : place], *found[place + 1 : place + 2])
    return frozenset(word.key for word in near if word.kind != Kind.FUNCTION)


def _keeps(found: Sequence[Word], place: int) -> Keeps | None:
    """How a number may stand to the one at a place; None where no bound stands before it, or a negated one."""
    before = [word.key for word in found[max(place - _BEFORE, 0) : place]]
    if not {"no", "not"}.isdisjoint(before):
        return None
    ways = ((_BEFORE_THAN if before[at + 1 : at + 2] == ["than"] else _ALONE).get(key) for at, key in enumerate(before))
    return next(filter(None, ways), None)


def _at_least(other: float, value: float) -> bool:
    return value <= other < value + step(value)


def _at_most(other: float, value: float) -> bool:
    return value - step(value) < other <= value


def _about(other: float, value: float) -> bool:
    return abs(other - value) <= step(value) / 2


def step(value: float) -> float:
    """What the last digit of a number that is not 0 counts: people round to it. 10 for 70, 0.1 for 3.1."""
    return 10.0 ** cast("int", Decimal(f"{value:.12g}").normalize().as_tuple().exponent)


def _value(number: Word) -> float | None:
    return None if is_year(number.key) else value_of(number.key)


def _keyed(listed: str, keeps: Keeps) -> dict[str, Keeps]:
    return {key_of(word): keeps for word in listed.split()}


_ALONE = (
    _keyed("over above exceeding exceeds exceeded exceed beyond least", _at_least)
    | _keyed("under below most maximum", _at_most)
    | _keyed("about around approximately roughly nearly almost some circa estimated", _about)
)
_BEFORE_THAN = _keyed("more greater higher", _at_least) | _keyed("less fewer lower", _at_most)
