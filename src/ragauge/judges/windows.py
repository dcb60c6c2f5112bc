"""Windows of long texts, and questions whose texts are too long for a model as several smaller ones.

Texts are split between sentences, where possible between paragraphs. Windows of evidence overlap, so that a fact stated
across a border is complete in one of them; texts to decompose do not, so that no statement is found twice. Neighbouring
chunks share a window where they fit, since a fact may need both.

Where windows of one chunk differ, support outweighs contradiction: it is likelier that a window shows too little to
judge by than that the text contradicts itself. Where chunks differ, contradiction outweighs support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from ragauge.questions import Decompose, Entail, Question, Relevant
from ragauge.text.sentences import sentences
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Label, Span, Verdict

#: The share of a window that the previous one also contains, where windows overlap.
OVERLAP = 0.1

#: The share of the limit that a window may fill. The rest is for the other texts of a question, which many questions
#: with the same windows may then put into one call; a question whose other texts need more than that is not split.
WINDOW_SHARE = 0.75

#: Characters below which a question is not halved any further, however long a server finds it.
MIN_SPLIT_CHARS = 4000

#: The priority of labels: among windows of one chunk, and among chunks or windows of one text.
_WITHIN_CHUNK = {Label.ENTAILED: 2, Label.CONTRADICTED: 1}
_ACROSS_CHUNKS = {Label.CONTRADICTED: 2, Label.ENTAILED: 1, Label.YES: 1}

AnyVerdict = TypeVar("AnyVerdict", Verdict, ChunkVerdict)


class SplitQuestion(NamedTuple):
    """A question in parts, in the order of the text. merge: makes the answer to the whole from those to the parts."""

    parts: tuple[Question, ...]
    merge: Callable[[Sequence[Answer]], Answer]

    def answer(self, answers: Mapping[Question, Answer | Failure]) -> Answer | Failure:
        """The answer to the whole, or the failure of the first part that has one."""
        failure = next((one for part in self.parts if isinstance(one := answers[part], Failure)), None)
        return failure or self.merge([one for part in self.parts if not isinstance(one := answers[part], Failure)])


class _TextPiece(NamedTuple):
    """A window of one chunk: the chunk's index in the premise, where in the chunk it starts, and its text."""

    chunk: int
    start: int
    text: str


def split(question: Question, limit: int, support_outweighs: bool = False) -> SplitQuestion | None:
    """A question in parts whose texts have at most `limit` characters each.

    None where it fits as it is, and where it cannot be split: a trait and a grade are of a text as a whole, and a
    long hypothesis, query or reference leaves no room. support_outweighs: whether a claim that one chunk entails and
    another contradicts is entailed.
    """
    size = int(limit * WINDOW_SHARE)
    match question:
        case Entail(premise, hypothesis, query):
            length, repeated = sum(map(len, premise)), len(hypothesis) + len(query or "")
        case Relevant(query, text, reference):
            length, repeated = len(text), len(query) + len(reference or "")
        case Decompose(text, query):
            length, repeated = len(text), len(query or "")
        case _:
            return None
    if length + repeated <= limit or repeated > limit - size:
        return None
    if isinstance(question, Entail):
        return _split_premise(question, size, support_outweighs)
    return _split_text(question, size)


def halves(question: Question, support_outweighs: bool = False) -> SplitQuestion | None:
    """A question that a model found too long, in parts of half its size; None where it cannot be split any further."""
    size = len(msgspec.json.encode(question).decode())
    return split(question, size // 2, support_outweighs) if size > MIN_SPLIT_CHARS else None


def split_at(question: Question, end: int) -> SplitQuestion:
    """A text to decompose in two parts: up to this character, and the rest."""
    assert isinstance(question, Decompose)
    parts = tuple(msgspec.structs.replace(question, text=text) for text in (question.text[:end], question.text[end:]))
    return SplitQuestion(parts, lambda answers: _merged_statements((0, end), answers))


def _split_text(question: Decompose | Relevant, size: int) -> SplitQuestion:
    text, decomposes = question.text, isinstance(question, Decompose)
    spans = windows(text, size, 0 if decomposes else int(size * OVERLAP))
    starts, merge = [start for start, _ in spans], _merged_statements if decomposes else _merged_relevance
    parts = tuple(msgspec.structs.replace(question, text=text[slice(*span)]) for span in spans)
    return SplitQuestion(parts, lambda answers: merge(starts, answers))


def _merged_statements(starts: Sequence[int], answers: Sequence[Answer]) -> Decomposition:
    """All statements, with their spans in the whole text."""
    statements = []
    for start, answer in zip(starts, answers, strict=True):
        assert isinstance(answer, Decomposition)
        statements += [msgspec.structs.replace(one, span=_shifted(one.span, start)) for one in answer.statements]
    return Decomposition(tuple(statements))


def _merged_relevance(starts: Sequence[int], answers: Sequence[Answer]) -> Verdict:
    """YES where any window is relevant."""
    pairs = zip(starts, _verdicts(answers), strict=True)
    shifted = [msgspec.structs.replace(answer, span=_shifted(answer.span, start)) for start, answer in pairs]
    return _strongest(shifted, _ACROSS_CHUNKS)


def _split_premise(question: Entail, size: int, support_outweighs: bool) -> SplitQuestion:
    """Chunks and windows of long chunks in their order, as many in a part as fit."""
    groups: list[list[_TextPiece]] = []
    left = 0
    for chunk, text in enumerate(question.premise):
        spans = [(0, len(text))] if len(text) <= size else windows(text, size, int(size * OVERLAP))
        for start, stop in spans:
            if not groups or stop - start > left:
                groups.append([])
                left = size
            groups[-1].append(_TextPiece(chunk, start, text[start:stop]))
            left -= stop - start
    parts = (msgspec.structs.replace(question, premise=tuple(piece.text for piece in group)) for group in groups)
    n_chunks = len(question.premise)
    return SplitQuestion(tuple(parts), lambda answers: _merged_entailment(n_chunks, groups, answers, support_outweighs))


def _merged_entailment(
    n_chunks: int, groups: Sequence[Sequence[_TextPiece]], answers: Sequence[Answer], support_outweighs: bool
) -> Verdict:
    """Each chunk by its windows together; the whole by the parts whose verdict no other window outweighs."""
    verdicts = _verdicts(answers)
    by_chunk: list[list[ChunkVerdict]] = [[] for _ in range(n_chunks)]
    for group, verdict in zip(groups, verdicts, strict=True):
        for piece, own in zip(group, _by_piece(verdict), strict=True):
            by_chunk[piece.chunk].append(msgspec.structs.replace(own, span=_shifted(own.span, piece.start)))
        if len(group) > 1 and len({piece.chunk for piece in group}) == 1:
            by_chunk[group[0].chunk].append(ChunkVerdict(verdict.label, verdict.probability))
    chunks = tuple(_strongest(own, _WITHIN_CHUNK) for own in by_chunk)
    pairs = zip(groups, verdicts, strict=True)
    counted = [verdict for group, verdict in pairs if not _outweighed(verdict, group, chunks)]
    priority = _WITHIN_CHUNK if support_outweighs else _ACROSS_CHUNKS
    whole = _strongest(counted or [Verdict(Label.ENTAILED)], priority)
    if support_outweighs and whole.label is Label.ENTAILED:
        chunks = tuple(ChunkVerdict(Label.NEUTRAL) if one.label is Label.CONTRADICTED else one for one in chunks)
    return msgspec.structs.replace(whole, chunks=chunks)


def _by_piece(verdict: Verdict) -> Sequence[ChunkVerdict]:
    return verdict.chunks or (ChunkVerdict(verdict.label, verdict.probability),)


def _outweighed(verdict: Verdict, group: Sequence[_TextPiece], chunks: Sequence[ChunkVerdict]) -> bool:
    """Whether a part is contradicted only by windows of chunks that entail as a whole."""
    if verdict.label is not Label.CONTRADICTED:
        return False
    pairs = zip(group, _by_piece(verdict), strict=True)
    contradicting = [piece for piece, own in pairs if own.label is Label.CONTRADICTED]
    return all(chunks[piece.chunk].label is Label.ENTAILED for piece in contradicting or group)


def _strongest(verdicts: Sequence[AnyVerdict], priority: Mapping[Label, int]) -> AnyVerdict:
    """The verdict whose label has the highest priority, the most probable of these."""
    return max(verdicts, key=lambda each: (priority.get(each.label, 0), each.probability or 0.0))


def _verdicts(answers: Iterable[Answer]) -> list[Verdict]:
    return [answer for answer in answers if isinstance(answer, Verdict)]


def _shifted(span: Span | None, by: int) -> Span | None:
    return (span[0] + by, span[1] + by) if span else None


def windows(text: str, size: int, overlap: int) -> list[Span]:
    """Spans of at most `size` characters that together cover all of a text but white space, cut between sentences.

    A sentence longer than `size` is cut between words. A paragraph's end in the second half of a window ends it.

    overlap: each window after the first begins with the last sentences of the previous one that fit into this many
    characters; less than half of `size`.
    """
    units = [piece for span in sentences(text) for piece in _cut(text, span, size)]
    return group_units(units, lambda start, stop: stop - start, size, overlap, text) or [(0, 0)]


def group_units(
    units: Sequence[Span], length: Callable[[int, int], int], size: int, overlap: float, text: str = ""
) -> list[Span]:
    """Windows of consecutive units, each at most `size` long, as spans from the start of a unit to the end of one.

    units: spans of sentences, or of parts of sentences, in order; one that is longer than `size` is a window by itself.
    length: that of the text between two characters, in characters or tokens. overlap: how long the units may be that a
    window shares with the previous one. text: where given, a paragraph's end in the second half of a window ends it.
    """
    found: list[Span] = []
    first = 0
    while first < len(units):
        start, last = units[first][0], first
        while last + 1 < len(units) and length(start, units[last + 1][1]) <= size:
            last += 1
        if text and last + 1 < len(units):
            late = (unit for unit in range(last, first, -1) if units[unit][1] >= start + size / 2)
            last = next((unit for unit in late if "\n\n" in text[units[unit][1] : units[unit + 1][0]]), last)
        end = units[last][1]
        found.append((start, end))
        if last + 1 == len(units):
            break
        before, following = first, units[last + 1][1]
        first = last + 1
        while first - 1 > before:  # begin with earlier units that fit together with the next one
            restart = units[first - 1][0]
            if length(restart, end) > overlap or length(restart, following) > size:
                break
            first -= 1
    return found


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
