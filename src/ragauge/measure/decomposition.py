"""How well a text was taken apart, against how a person took it apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_ALIKE = 0.7


class Matched(NamedTuple):
    """How many statements of two decompositions say the same: `pairs` of them, among those `found` and `expected`.

    The counts of several texts may be added up before their shares are taken.
    """

    pairs: int
    found: int
    expected: int

    @property
    def precision(self) -> float | None:
        """Share of the statements found that match one expected, in 0..1; None where none was found."""
        return self.pairs / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """Share of the statements expected that match one found, in 0..1; None where none was expected."""
        return self.pairs / self.expected if self.expected else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, 0 where both are; None where nothing was found or expected."""
        total = self.found + self.expected
        return 2 * self.pairs / total if total else None


def matched(found: Sequence[str], expected: Sequence[str]) -> Matched:
    """The statements of a decomposition matched with those of a person.

    Two statements are alike where their words (runs of letters and digits in lower case, each as often as it occurs)
    overlap by Dice's measure, 2 * common / (words of one + words of the other), to 0.7 or more. Each statement is
    matched with at most one that is alike, so that as many as possible are matched (a maximum matching); neither
    their order nor the degree of likeness counts beyond that. A statement without words matches none.
    """
    theirs = [_words(statement) for statement in expected]
    alike = [[place for place, other in enumerate(theirs) if _alike(_words(one), other)] for one in found]
    return Matched(_most_pairs(alike), len(found), len(expected))


def _words(statement: str) -> Counter[str]:
    return Counter(_WORD.findall(statement.lower()))


def _alike(one: Counter[str], other: Counter[str]) -> bool:
    total = one.total() + other.total()
    return total > 0 and 2 * (one & other).total() / total >= _ALIKE


def _most_pairs(alike: Sequence[Sequence[int]]) -> int:
    """The size of a maximum matching, by augmenting paths; `alike` lists for each on the left those on the right."""
    partner: dict[int, int] = {}

    def place(left: int, tried: set[int]) -> bool:
        for right in alike[left]:
            if right not in tried:
                tried.add(right)
                if right not in partner or place(partner[right], tried):
                    partner[right] = left
                    return True
        return False

    return sum(place(left, set()) for left in range(len(alike)))
