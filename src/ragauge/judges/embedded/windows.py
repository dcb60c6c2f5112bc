"""Windows: a passage as stretches of whole sentences that are short enough to be read at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ragauge.judges.embedded.coverage import Evidence
from ragauge.judges.embedded.passages import passage

_WORDS = 170  # words of a window, some 230 tokens
_BEFORE = 40  # ... up to which the last sentence of a window also opens the next
MOST = 4  # windows of one text that are looked at for a claim or a query


class Window(NamedTuple):
    """Sentences `first` up to `last` of a passage, and their text."""

    first: int
    last: int
    text: str


@lru_cache(maxsize=1024)
def windows(text: str) -> tuple[Window, ...]:
    """The windows of a text in its order: each sentence is in one of them, and the last of one opens the next.

    A title stands before each. A sentence longer than a window is one by itself. () for a blank text.
    """
    source = passage(text)
    title = f"{source.sentences[0].text}\n" if source.titled else ""
    found: list[Window] = []
    for first, last in _stretches([len(sentence.text.split()) for sentence in source.sentences]):
        begin, end = source.sentences[first].start, source.sentences[last - 1].end
        found.append(Window(first, last, (title if first else "") + text[begin:end]))
    return tuple(found)


def telling(text: str, evidence: Iterable[Evidence], most: int = MOST) -> tuple[str, ...]:
    """The few windows of a text, in its order, whose sentences hold most by words; `most` at most."""
    shares = {one.at: one.share for one in evidence}

    def held(window: Window) -> float:
        return max(shares.get(place, 0.0) for place in range(window.first, window.last))

    chosen = sorted(sorted(windows(text), key=held, reverse=True)[:most])
    return tuple(window.text for window in chosen)


def _stretches(lengths: list[int]) -> list[tuple[int, int]]:
    """Sentences by their lengths in words, as stretches."""
    found: list[tuple[int, int]] = []
    first = words = 0
    for place, length in enumerate(lengths):
        if place > first and words + length > _WORDS:
            found.append((first, place))
            again = place - 1 > first and lengths[place - 1] <= _BEFORE and lengths[place - 1] + length <= _WORDS
            first = place - 1 if again else place
            words = sum(lengths[first:place])
        words += length
    return [*found, (first, len(lengths))] if lengths else []
