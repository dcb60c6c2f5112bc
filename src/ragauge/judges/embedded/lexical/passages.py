"""A passage as sentences with an index of their words, built once a text and kept."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from ragauge.judges.embedded.lexical.words import Kind, Word, key_of, words
from ragauge.text.sentences import sentences

_TITLE = 15  # words at most
_PREFIX = 5  # letters that two words of one family share


class Sentence:
    """One sentence: its characters in the passage, its words, and the places of each key among them."""

    __slots__ = ("end", "places", "start", "text", "words")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text[start:end], start, end
        self.words: tuple[Word, ...] = words(self.text)
        self.places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            self.places.setdefault(word.key, []).append(place)


class Passage:
    """A text as sentences, and for each key the sentences that hold it. numbered: the sentences with a number."""

    __slots__ = ("families", "numbered", "postings", "sentences", "titled")

    def __init__(self, text: str) -> None:
        self.sentences = [Sentence(text, start, end) for start, end in sentences(text)]
        self.titled = _titled(text, self.sentences)
        self.postings: dict[str, list[int]] = {}
        self.families: dict[str, list[str]] = {}
        for number, sentence in enumerate(self.sentences):
            for key in sentence.places:
                self.postings.setdefault(key, []).append(number)
            for key in _compounds(sentence):
                self.postings.setdefault(key, []).append(number)
        self.numbered = {at for key, places in self.postings.items() if key[0] == "#" for at in places}
        for key in self.postings:
            if len(key) >= _PREFIX and key[0] != "#":
                self.families.setdefault(key[:_PREFIX], []).append(key)

    def family(self, key: str) -> list[str]:
        """Keys of the passage that begin like `key`: "invas" beside "invad"... where both are long enough."""
        return self.families.get(key[:_PREFIX], []) if len(key) >= _PREFIX and key[0] != "#" else []


def _compounds(sentence: Sentence) -> set[str]:
    """The keys of words written in parts, as if they were written in one: "e-mail", "DataFrame", "time_stamp"."""
    joined = set()
    for one, two in pairwise(sentence.words):
        if sentence.text[one.end : two.start] in ("", "-", "_") and Kind.NUMBER not in (one.kind, two.kind):
            raw = sentence.text[one.start : one.end] + sentence.text[two.start : two.end]
            joined.add(key_of(raw.lower()))
    return joined - sentence.places.keys()


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
