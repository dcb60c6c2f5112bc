"""A passage as sentences with an index of their words, and as windows short enough to be encoded at once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ragauge.judges.embedded.words import Kind, words
from ragauge.text.sentences import sentences

_MAX_TITLE_WORDS = 15
_PREFIX = 5  # letters that two words of one family share
_WINDOW_WORDS = 170  # some 230 tokens
_OVERLAP_WORDS = 40  # the most of a last sentence that also opens the next window, and of a part of a long sentence


class Sentence:
    """One sentence: its characters in the passage, and its words."""

    __slots__ = ("end", "start", "text", "words")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text[start:end], start, end
        self.words = words(self.text)


def _sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text; one that is longer than a window, as a transcript without full stops is, in parts."""
    for start, end in sentences(text):
        words = list(re.finditer(r"\S+", text[start:end]))
        size = _OVERLAP_WORDS if len(words) > _WINDOW_WORDS else len(words)
        for first in range(0, len(words), size):
            part = words[first : first + size]
            yield Sentence(text, start + part[0].start(), start + part[-1].end())


class Passage:
    """A text as sentences, and for each key the sentences that hold it."""

    __slots__ = ("families", "numbers", "postings", "sentences", "titled")

    def __init__(self, text: str) -> None:
        self.sentences = list(_sentences(text))
        self.titled = _titled(text, self.sentences)
        self.postings: dict[str, list[int]] = {}
        self.families: dict[str, list[str]] = {}
        self.numbers: set[str] = set()
        for number, sentence in enumerate(self.sentences):
            for word in {word.key: word for word in sentence.words}.values():
                if word.kind == Kind.NUMBER:
                    self.numbers.add(word.key)
                elif word.key not in self.postings and len(word.key) >= _PREFIX:
                    self.families.setdefault(word.key[:_PREFIX], []).append(word.key)
                self.postings.setdefault(word.key, []).append(number)

    def family(self, key: str) -> list[str]:
        """Other keys of the passage that begin like `key`, where both are long enough, as "invas" and "invad"."""
        return [other for other in self.families.get(key[:_PREFIX], ()) if len(key) >= _PREFIX and other != key]


def _titled(text: str, sentences: list[Sentence]) -> bool:
    """Whether the first sentence is a title: a short line of its own that does not end like a sentence."""
    if len(sentences) < 2:
        return False
    title, rest = sentences[0], text[sentences[0].end : sentences[1].start]
    return "\n" in rest and len(title.words) <= _MAX_TITLE_WORDS and title.text[-1] not in ".!?,;"


#: Caches of passages, by the characters that these have at most: a passage takes some 50 times the memory of its text.
_CACHES = tuple(
    (most, lru_cache(maxsize=size)(Passage)) for most, size in ((2_000, 1024), (20_000, 256), (math.inf, 16))
)


def passage(text: str) -> Passage:
    """The passage of `text`; those of many short texts and of a few long ones are cached."""
    return next(cached for most, cached in _CACHES if len(text) <= most)(text)


class Window(NamedTuple):
    """Sentences `first` up to `last` of a passage, and their text."""

    first: int
    last: int
    text: str


@lru_cache(maxsize=1024)
def windows(text: str) -> tuple[Window, ...]:
    """The windows of a text in its order: each sentence is in one of them, and the last of one may open the next.

    A title is repeated at the start of each. () for a blank text.
    """
    source = passage(text)
    pieces = source.sentences
    lengths = [len(piece.text.split()) for piece in pieces]
    bounds: list[tuple[int, int]] = []
    first = size = 0
    for place, length in enumerate(lengths):
        if place > first and size + length > _WINDOW_WORDS:
            bounds.append((first, place))
            last = lengths[place - 1]
            first = place - (place - 1 > first and last <= _OVERLAP_WORDS and last + length <= _WINDOW_WORDS)
            size = sum(lengths[first:place])
        size += length
    if lengths:
        bounds.append((first, len(lengths)))
    title = f"{pieces[0].text}\n" if source.titled else ""
    return tuple(
        Window(start, end, (title if start else "") + text[pieces[start].start : pieces[end - 1].end])
        for start, end in bounds
    )
