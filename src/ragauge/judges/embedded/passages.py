"""A passage as sentences with an index of their words, built once a text and kept."""

from __future__ import annotations

import math
from functools import lru_cache

from ragauge.judges.embedded.words import Kind, words
from ragauge.text.sentences import sentences

_TITLE = 15  # words at most
_PREFIX = 5  # letters that two words of one family share


class Sentence:
    """One sentence: its characters in the passage, its words, and the keys of these."""

    __slots__ = ("end", "keys", "start", "text", "words")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text[start:end], start, end
        self.words = words(self.text)
        self.keys = {word.key for word in self.words}


class Passage:
    """A text as sentences, and for each key the sentences that hold it."""

    __slots__ = ("families", "numbers", "postings", "sentences", "titled")

    def __init__(self, text: str) -> None:
        self.sentences = [Sentence(text, start, end) for start, end in sentences(text)]
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
        """Other keys of the passage that begin like `key`, where both are long enough: "invas" beside "invad"."""
        return [other for other in self.families.get(key[:_PREFIX], ()) if len(key) >= _PREFIX and other != key]


def _titled(text: str, found: list[Sentence]) -> bool:
    """Whether the first sentence is a title: a short line of its own that does not end like a sentence."""
    if len(found) < 2:
        return False
    title, rest = found[0], text[found[0].end : found[1].start]
    return "\n" in rest and len(title.words) <= _TITLE and title.text[-1] not in ".!?,;"


#: Passages that are kept, by the most characters they have: a passage takes some fifty times the memory of its text.
_KEPT = tuple((most, lru_cache(maxsize=kept)(Passage)) for most, kept in ((2_000, 1024), (20_000, 256), (math.inf, 16)))


def passage(text: str) -> Passage:
    """The passage of `text`; those of many short texts and of a few long ones are kept."""
    return next(kept for most, kept in _KEPT if len(text) <= most)(text)
