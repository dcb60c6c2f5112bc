"""What is left of a text without some of its spans, with the way back to the text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ragauge.types import Span


class Rest:
    """A text without some spans, in order and apart, and without the spaces before each. text: what is left."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._starts, self._origins = [0], [0]
        kept: list[str] = []
        position = size = 0
        for start, stop in spans:
            kept.append(text[position:start].rstrip(" "))
            size, position = size + len(kept[-1]), stop
            self._starts.append(size)
            self._origins.append(position)
        self.text = "".join([*kept, text[position:]])

    @property
    def seams(self) -> Sequence[int]:
        """Where in the rest something was left out."""
        return self._starts[1:]

    def origin(self, at: int) -> int:
        """Where in the whole text the character stands that is at `at` in the rest."""
        kept = bisect_right(self._starts, at) - 1
        return self._origins[kept] + at - self._starts[kept]
