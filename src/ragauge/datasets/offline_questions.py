"""Questions that a corpus gives without a model: a sentence with a gap, and the heading of a section.

They share their words with the passage that they are about, and favour retrievers that go by words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ragauge.datasets.drawing import PassageMap
from ragauge.datasets.retrieval import words_of
from ragauge.datasets.samples import add_metadata
from ragauge.text.sentences import sentences
from ragauge.types import Chunk, Sample, Span

#: What stands for the words that are asked for.
GAP = "____"

_SENTENCE_WORDS = range(8, 41)
#: A word is rare that at most this share of the passages has; a sentence needs some beside its gap.
_RARE_SHARE, _RARE_WORDS = 0.05, 2
#: The most passages that a question may be about, and the fewest words of a heading.
_MOST_PASSAGES, _HEADING_WORDS = 5, 3

_TERM = re.compile(r"\w[\w'’.,:/-]*\w|\w")
_STOP = re.compile(r"[.!?。！？][\"'”’)\]]*\Z")

#: A sentence with a gap: whether that is a name or number, how rare the words are, and the characters of both.
_Cloze = tuple[bool, float, Span, Span]


class OfflineQuestions:
    """Makes questions of passages, each kind in a given order of the passages."""

    def __init__(self, passages: Sequence[Chunk], words: PassageMap) -> None:
        self._passages, self._frequency = passages, words.frequency
        self._rare = max(1.0, _RARE_SHARE * len(passages))
        self._sections: defaultdict[str, list[int]] = defaultdict(list)
        for position, passage in enumerate(passages):
            self._sections[passage.title].append(position)

    def heading(self, order: Iterable[int]) -> Iterator[Sample]:
        """The titles of sections of a few passages, each once; all of its passages are relevant."""
        for title in dict.fromkeys(self._passages[position].title for position in order):
            section = self._sections[title]
            if len(words_of(title)) >= _HEADING_WORDS and len(section) <= _MOST_PASSAGES:
                relevant = tuple(self._passages[position] for position in section)
                yield Sample("", title.replace(" – ", ": "), reference_contexts=relevant)

    def cloze(self, order: Iterable[int]) -> Iterator[Sample]:
        """The most telling sentence of each passage with a gap for a name, a number or a rare word."""
        for position in order:
            text = self._passages[position].text
            clozes = [cloze for span in sentences(text) if (cloze := self._cloze(text, span))]
            if not clozes:
                continue
            _, _, (start, end), (first, last) = max(clozes)
            holders = self._holders(text[start:end], position)
            if len(holders) <= _MOST_PASSAGES:
                relevant = tuple(self._passages[holder] for holder in holders)
                marked = (add_metadata(relevant[0], span=[start, end]), *relevant[1:])
                query, answer = f"{text[start:first]}{GAP}{text[last:end]}", text[first:last]
                yield Sample(
                    "", " ".join(query.split()), references=(answer,), reference_contexts=marked, answers=((answer,),)
                )

    def _cloze(self, text: str, span: Span) -> _Cloze | None:
        """A sentence as a question; None where it is none, or too little in it tells what it is about."""
        sentence = text[slice(*span)]
        words = words_of(sentence)
        if (
            len(words) not in _SENTENCE_WORDS
            or not _STOP.search(sentence)
            or sentence[0].islower()
            or sentence[0] in "|#"
        ):
            return None
        gaps = [gap for gap in self._gaps(text, span) if self._is_told(words, words_of(text[slice(*gap)]))]
        if not gaps:
            return None
        gap = min(gaps, key=lambda gap: (not _is_name(text[gap[0]]), self._lowest(text[slice(*gap)]), gap))
        telling = sum(1 / self._frequency.get(word, 1) for word in words) / len(words)
        return _is_name(text[gap[0]]), telling, span, gap

    def _gaps(self, text: str, span: Span) -> Iterator[Span]:
        """Names, numbers and long words but the first of the sentence; neighbouring names are one."""
        terms = [match.span() for match in _TERM.finditer(text, *span)]
        joined: list[Span] = []
        for before, term in pairwise(terms):
            name = text[term[0]].isupper() and joined and text[joined[-1][0]].isupper()
            if name and joined[-1] == before and text[before[1] : term[0]] == " ":
                joined[-1] = (before[0], term[1])
            elif _is_name(text[term[0]]) or term[1] - term[0] > 4:
                joined.append(term)
        yield from joined

    def _is_told(self, words: Sequence[str], gap: Sequence[str]) -> bool:
        """Whether the rest of a sentence does not hold the words of the gap, and has rare words of its own."""
        rest = list(words)
        for word in gap:
            if word in rest:
                rest.remove(word)
        rare = {word for word in rest if self._frequency.get(word, 1) <= self._rare}
        return bool(gap) and not set(gap) & set(rest) and len(rare) >= _RARE_WORDS

    def _lowest(self, term: str) -> int:
        return min(self._frequency.get(word, 1) for word in words_of(term))

    def _holders(self, sentence: str, position: int) -> list[int]:
        """The passages that have the sentence, the one that it was taken from first."""
        if any(self._frequency.get(word) == 1 for word in words_of(sentence)):
            return [position]
        others = (other for other, passage in enumerate(self._passages) if sentence in passage.text)
        return [position, *(other for other in others if other != position)]


def _is_name(first: str) -> bool:
    return first.isupper() or first.isdigit()
