"""A text as sentences, with their characters. Markdown is taken apart first, then each paragraph by itself."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from ragauge.text.boundaries import sentence_starts, splitter
from ragauge.text.citations import citation_marks
from ragauge.text.markdown import blocks
from ragauge.types import Span

__all__ = ["citation_marks", "sentences", "sentences_within", "splitter"]


def sentences(text: str, marks: Sequence[Span] | None = None) -> list[Span]:
    """The sentences of a text as spans of characters, in order and apart, over all that is not white space.

    marks: what cites something and is no part of what is said, in order; `citation_marks` where it is not given.

    A heading, a table row and a fenced block of code are one sentence each. List markers and citation marks belong to
    the sentence they stand with, those behind a full stop to the sentence before.
    """
    marks = citation_marks(text) if marks is None else marks
    found: list[Span] = []
    for block in blocks(text):
        if block.kind in ("prose", "item"):
            inner = sentences_within(text, (block.body, block.end), marks)
            inner[0] = (block.start, inner[0][1])
            found += inner
        else:
            found.append((block.start, block.end))
    return found


def sentences_within(text: str, span: Span, marks: Sequence[Span] | None = None) -> list[Span]:
    """The sentences of one passage of running text, without regard to its lines; none where it is blank."""
    passage = text[slice(*span)]
    begin = span[0] + len(passage) - len(passage.lstrip())
    passage = passage.strip()
    mine = citation_marks(passage) if marks is None else _within(marks, begin, begin + len(passage))
    found: list[Span] = []
    for start, stop in pairwise([0, *sentence_starts(passage, mine), len(passage)]):
        sentence = passage[start:stop].rstrip()
        if found and not any(map(str.isalnum, sentence)):
            start = found.pop()[0] - begin
            sentence = passage[start:stop].rstrip()
        if sentence:
            found.append((begin + start, begin + start + len(sentence)))
    return found


def _within(marks: Sequence[Span], start: int, end: int) -> list[Span]:
    """The marks that lie in a part of a text, as spans of that part."""
    first, last = bisect_left(marks, (start, 0)), bisect_left(marks, (end, 0))
    return [(one - start, min(other, end) - start) for one, other in marks[first:last]]
