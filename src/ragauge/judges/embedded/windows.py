"""Windows: a passage as stretches of whole sentences that are short enough for the encoder."""

from __future__ import annotations

from functools import lru_cache

from ragauge.judges.embedded.words import content, idf, words
from ragauge.text.sentences import sentences

_WORDS = 170  # words of a window, some 230 tokens
_OVERLAP = 40  # words up to which the last sentence of a window also opens the next
_TITLE = 15  # words of a title at most
MOST = 4  # windows of one text that are read for a claim or a query


@lru_cache(maxsize=1024)
def windows(text: str) -> tuple[str, ...]:
    """The windows of a text in its order: each sentence is in one of them, and the last of one opens the next.

    A title, a short first line that does not end like a sentence, stands before each. A sentence longer than a window
    is one by itself. () for a blank text.
    """
    found = sentences(text)
    title = f"{text[slice(*found[0])]}\n" if len(found) > 1 and _is_title(text, found) else ""
    spans = _stretches([len(text[start:end].split()) for start, end in found])
    return tuple((title if first else "") + text[found[first][0] : found[last - 1][1]] for first, last in spans)


def best_windows(text: str, claim: str, most: int = MOST) -> tuple[str, ...]:
    """The few windows of a text, in its order, that hold most of a claim's words by weight; `most` at most."""
    found = windows(text)
    if len(found) <= most:
        return found
    wanted = content(words(claim)).keys()
    shares = [sum(map(idf, wanted & {word.key for word in words(window)})) for window in found]
    chosen = sorted(sorted(range(len(found)), key=shares.__getitem__, reverse=True)[:most])
    return tuple(found[at] for at in chosen)


def _is_title(text: str, found: list[tuple[int, int]]) -> bool:
    (start, end), (following, _) = found[:2]
    line = text[start:end]
    return "\n" in text[end:following] and len(line.split()) <= _TITLE and line[-1] not in ".!?,;"


def _stretches(lengths: list[int]) -> list[tuple[int, int]]:
    """Sentences, by their lengths in words, as stretches [first, last)."""
    found: list[tuple[int, int]] = []
    first = total = 0
    for place, length in enumerate(lengths):
        if place > first and total + length > _WORDS:
            found.append((first, place))
            again = place - 1 > first and lengths[place - 1] <= _OVERLAP and lengths[place - 1] + length <= _WORDS
            first = place - 1 if again else place
            total = sum(lengths[first:place])
        total += length
    return [*found, (first, len(lengths))] if lengths else []
