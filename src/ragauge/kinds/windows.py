"""Windows of long texts, and questions whose texts are too long for a model as several smaller ones.

Texts are split between sentences, where possible between paragraphs. Windows of evidence overlap, so that a fact stated
across a border is complete in one of them; texts to decompose do not, so that no statement is found twice. Neighbouring
chunks share a window where they fit, since a fact may need both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ragauge.text.sentences import sentences
from ragauge.types import Answer, ChunkVerdict, Failure, Label, Span, Verdict

if TYPE_CHECKING:
    from ragauge.kinds import Question

#: The share of a window that the previous one also contains, where windows overlap.
OVERLAP = 0.1

#: The priority of labels among chunks or windows of one text.
ACROSS_CHUNKS = {Label.CONTRADICTED: 2, Label.ENTAILED: 1, Label.YES: 1}

AnyVerdict = TypeVar("AnyVerdict", Verdict, ChunkVerdict)


class SplitQuestion(NamedTuple):
    """A question in parts, in the order of the text. merge: makes the whole answer from those to the parts."""

    parts: tuple[Question, ...]
    merge: Callable[[Sequence[Answer]], Answer]

    def answer(self, answers: Mapping[Question, Answer | Failure]) -> Answer | Failure:
        """The answer to the whole, or the failure of the first part that has one."""
        own: list[Answer] = []
        for part in self.parts:
            answer = answers[part]
            if isinstance(answer, Failure):
                return answer
            own.append(answer)
        return self.merge(own)


def strongest(verdicts: Sequence[AnyVerdict], priority: Mapping[Label, int]) -> AnyVerdict:
    """The verdict whose label has the highest priority, the most probable of these."""
    return max(verdicts, key=lambda verdict: (priority.get(verdict.label, 0), verdict.probability or 0.0))


def shifted(span: Span | None, by: int) -> Span | None:
    """A span of a window as one of the whole text. by: where the window starts."""
    return (span[0] + by, span[1] + by) if span else None


def windows(text: str, size: int, overlap: int) -> list[Span]:
    """Spans of at most `size` characters that together cover all of a text but white space, cut between sentences.

    A sentence longer than `size` is cut between words. A paragraph's end in the second half of a window ends it.

    overlap: each window after the first begins with the last sentences of the previous one that fit into this many
    characters; less than half of `size`.
    """
    units = [piece for span in sentences(text) for piece in _cut(text, span, size)]
    spans: list[Span] = []
    first = 0
    while first < len(units):
        start, last = units[first][0], first
        while last + 1 < len(units) and units[last + 1][1] - start <= size:
            last += 1
        if last + 1 < len(units):
            late = (unit for unit in range(last, first, -1) if units[unit][1] >= start + size / 2)
            last = next((unit for unit in late if "\n\n" in text[units[unit][1] : units[unit + 1][0]]), last)
        end = units[last][1]
        spans.append((start, end))
        if last + 1 == len(units):
            break
        before, following = first, units[last + 1][1]
        first = last + 1
        while first - 1 > before:  # begin with earlier units that fit together with the next one
            restart = units[first - 1][0]
            if end - restart > overlap or following - restart > size:
                break
            first -= 1
    return spans or [(0, 0)]


def _cut(text: str, span: Span, size: int) -> Iterable[Span]:
    """A span in pieces of at most `size` characters, cut at white space where there is some."""
    start, stop = span
    while stop - start > size:
        space = max((text.rfind(mark, start + 1, start + size + 1) for mark in " \n\t"), default=-1)
        cut = space if space > start else start + size
        yield start, cut
        start = cut
        while start < stop and text[start].isspace():
            start += 1
    if start < stop:
        yield start, stop
