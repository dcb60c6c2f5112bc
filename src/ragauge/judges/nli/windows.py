"""Premises that are longer than a model's window, as several texts that each fit; nothing is left out.

The windows follow one another, and each begins with what the one before ended with, so that neighbours are seen
together. Two sentences that support a claim only together may still stand too far apart for any of them: so one more
text gathers, from the whole premise, the sentences that share most with the hypothesis.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from ragauge.text.sentences import sentences
from ragauge.types import Span

#: The share of a window that the one before holds too.
OVERLAP = 0.25

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class _Layout:
    """A text by its tokens. starts: where each token begins. units: sentences, those that are long in parts."""

    text: str
    starts: Sequence[int]
    units: Sequence[Span]

    def tokens(self, start: int, stop: int) -> int:
        """How many tokens begin between two characters."""
        return bisect_left(self.starts, stop) - bisect_left(self.starts, start)


class Windows:
    """Makes windows. starts_of: where in a text each of its tokens begins."""

    def __init__(self, starts_of: Callable[[str], Sequence[int]]) -> None:
        self._starts_of = starts_of
        self._layout = lru_cache(maxsize=64)(self._laid_out)

    def of(self, premise: str, hypothesis: str, room: int) -> list[str]:
        """Texts of at most `room` tokens that together hold all of the premise but white space."""
        runs = self.spans(premise, room)
        gathered = _gathered(self._layout(premise, room), hypothesis, room)
        texts = [premise[slice(*run)] for run in runs]
        if gathered and not any(start <= gathered[0][0] and gathered[-1][1] <= stop for start, stop in runs):
            texts.append("\n".join(premise[slice(*unit)] for unit in gathered))
        return texts

    def spans(self, premise: str, room: int) -> list[Span]:
        """The windows as spans of characters, without what is gathered."""
        return _runs(self._layout(premise, room), room)

    def _laid_out(self, text: str, room: int) -> _Layout:
        starts = self._starts_of(text)
        longest = max(1, int(room * OVERLAP))
        return _Layout(text, starts, [part for span in sentences(text) for part in _parts(starts, span, longest)])


def _parts(starts: Sequence[int], span: Span, longest: int) -> Iterator[Span]:
    """A span in parts of at most `longest` tokens."""
    start, stop = span
    while (cut := bisect_left(starts, start) + longest) < bisect_left(starts, stop) and starts[cut] > start:
        yield start, starts[cut]
        start = starts[cut]
    yield start, stop


def _runs(layout: _Layout, room: int) -> list[Span]:
    """Windows, as spans from the beginning of a unit to the end of one."""
    units, found = layout.units, []
    first = 0
    while first < len(units):
        last = first
        while last + 1 < len(units) and layout.tokens(units[first][0], units[last + 1][1]) <= room:
            last += 1
        found.append((units[first][0], units[last][1]))
        if last == len(units) - 1:
            break
        first = _again(layout, first, last, room)
    return found


def _again(layout: _Layout, first: int, last: int, room: int) -> int:
    """The unit that the next window begins with: as early as the overlap goes and the unit behind `last` still fits."""
    units, again = layout.units, last + 1
    while again - 1 > first:
        start = units[again - 1][0]
        if layout.tokens(start, units[last][1]) > room * OVERLAP or layout.tokens(start, units[last + 1][1]) > room:
            break
        again -= 1
    return again


def _gathered(layout: _Layout, hypothesis: str, room: int) -> list[Span]:
    """The units that share most with the hypothesis, rare words most, as many as fit, in their order."""
    wanted = set(_WORD.findall(hypothesis.lower()))
    shared = {unit: wanted.intersection(_WORD.findall(layout.text[slice(*unit)].lower())) for unit in layout.units}
    counts = Counter(word for words in shared.values() for word in words)
    weight = {word: log(1 + len(shared) / count) for word, count in counts.items()}
    ranked = sorted((unit for unit in shared if shared[unit]), key=lambda unit: -sum(weight[w] for w in shared[unit]))
    found: list[Span] = []
    for unit in ranked:
        size = layout.tokens(*unit) + 1
        if size <= room:
            found.append(unit)
            room -= size
    return sorted(found)
