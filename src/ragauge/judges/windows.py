"""Questions whose texts are too long for a model, as smaller questions; nothing of a text is left out.

Texts are split between sentences, where possible between paragraphs. What is only held against something else overlaps,
so that a fact told across a border stands whole in one of the windows; what is taken apart does not, so that nothing is
found twice. A fact that needs two chunks is seen where both lie in one window: neighbours, as many as fit, do.

Where windows of one chunk differ, support outweighs contradiction: it is likelier that a window shows too little to
judge by than that the text contradicts itself. Where chunks differ, contradiction outweighs support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.text.sentences import sentences
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Label, Span, Verdict

#: The share of a window that the one before holds too, where windows overlap.
OVERLAP = 0.1

#: The share of the limit that a window may fill. The rest is for what is held against it, which many questions with
#: the same windows may then put into one call; a question whose other texts need more than that is not split.
ROOM = 0.75

#: Characters of a question that is not halved any further, however long a server finds it.
LEAST = 4000

#: What outweighs what: among windows of one chunk, and among chunks or windows of one text.
_WITHIN = {Label.ENTAILED: 2, Label.CONTRADICTED: 1}
_AMONG = {Label.CONTRADICTED: 2, Label.ENTAILED: 1, Label.YES: 1}

PartAnswers = TypeVar("PartAnswers", Verdict, ChunkVerdict)


@dataclass(frozen=True)
class SplitQuestion:
    """A question in parts.

    parts: questions, in the order of the text. merge: makes the answer to the whole from one answer for each part.
    """

    parts: tuple[Question, ...]
    merge: Callable[[Sequence[Answer]], Answer]

    def answer(self, heard: Mapping[Question, Answer | Failure]) -> Answer | Failure:
        """The answer to the whole, or the failure of the first part that has one; what is behind that is not needed."""
        answers: list[Answer] = []
        for part in self.parts:
            said = heard[part]
            if isinstance(said, Failure):
                return said
            answers.append(said)
        return self.merge(answers)


@dataclass(frozen=True)
class _TextPiece:
    """A window of one chunk: `place` of the chunk in the premise, where in the chunk it starts, and its text."""

    place: int
    start: int
    text: str


def split(question: Question, limit: int) -> SplitQuestion | None:
    """A question in parts whose texts have at most `limit` characters each.

    None where it fits as it is, and where it cannot be split: a trait and a grade are of a text as a whole, and a
    hypothesis, query or reference that is long itself leaves no room.
    """
    room = int(limit * ROOM)
    size, other = _sizes(question)
    if size + other <= limit or other > limit - room or isinstance(question, Classify | Rate):
        return None
    return _split_premise(question, room) if isinstance(question, Entail) else _split_text(question, room)


def halves(question: Question) -> SplitQuestion | None:
    """A question that a model found too long, in parts of half its size.

    None where it cannot be split, and where it has no more than LEAST characters.
    """
    size = len(msgspec.json.encode(question).decode())
    return split(question, size // 2) if size > LEAST else None


def _sizes(question: Question) -> tuple[int, int]:
    """The characters that can be split, and those that go with each part."""
    match question:
        case Decompose(text, query):
            return len(text), len(query or "")
        case Relevant(query, text, reference):
            return len(text), len(query) + len(reference or "")
        case Entail(premise, hypothesis, query):
            return sum(map(len, premise)), len(hypothesis) + len(query or "")
    return 0, 0


def _split_text(question: Decompose | Relevant, room: int) -> SplitQuestion:
    text, apart = question.text, isinstance(question, Decompose)
    spans = windows(text, room, 0 if apart else int(room * OVERLAP))
    starts = [start for start, _ in spans]
    merge = _merged_statements if apart else _merged_relevance
    parts = tuple(msgspec.structs.replace(question, text=text[slice(*span)]) for span in spans)
    return SplitQuestion(parts, lambda answers: merge(starts, answers))


def _merged_statements(starts: Sequence[int], answers: Sequence[Answer]) -> Decomposition:
    """All statements, their spans those of the whole text."""
    found = []
    for start, answer in zip(starts, answers, strict=True):
        assert isinstance(answer, Decomposition)
        found += [msgspec.structs.replace(piece, span=_shifted(piece.span, start)) for piece in answer.statements]
    return Decomposition(tuple(found))


def _merged_relevance(starts: Sequence[int], answers: Sequence[Answer]) -> Verdict:
    """YES where any window has it."""
    verdicts = [
        msgspec.structs.replace(answer, span=_shifted(answer.span, start))
        for start, answer in zip(starts, _verdicts(answers), strict=True)
    ]
    return _weightiest(verdicts, _AMONG)


def _split_premise(question: Entail, room: int) -> SplitQuestion:
    """Chunks and windows of long chunks, in their order, together as many as fit."""
    groups: list[list[_TextPiece]] = []
    left = 0
    for piece in _pieces(question.premise, room):
        if not groups or len(piece.text) > left:
            groups.append([])
            left = room
        groups[-1].append(piece)
        left -= len(piece.text)
    parts = (msgspec.structs.replace(question, premise=tuple(piece.text for piece in group)) for group in groups)
    return SplitQuestion(tuple(parts), lambda answers: _merged_entailment(len(question.premise), groups, answers))


def _pieces(premise: Sequence[str], room: int) -> Iterable[_TextPiece]:
    for place, text in enumerate(premise):
        if len(text) <= room:
            yield _TextPiece(place, 0, text)
        else:
            for start, stop in windows(text, room, int(room * OVERLAP)):
                yield _TextPiece(place, start, text[start:stop])


def _merged_entailment(size: int, groups: Sequence[Sequence[_TextPiece]], answers: Sequence[Answer]) -> Verdict:
    """Each chunk as its windows together say; the whole as the parts say that no window outweighs."""
    verdicts = _verdicts(answers)
    by_chunk: list[list[ChunkVerdict]] = [[] for _ in range(size)]
    for group, verdict in zip(groups, verdicts, strict=True):
        for piece, said in zip(group, _by_piece(verdict), strict=True):
            by_chunk[piece.place].append(msgspec.structs.replace(said, span=_shifted(said.span, piece.start)))
        if len(group) > 1 and len({piece.place for piece in group}) == 1:
            by_chunk[group[0].place].append(ChunkVerdict(verdict.label, verdict.probability))
    chunks = tuple(_weightiest(said, _WITHIN) for said in by_chunk)
    standing = [
        verdict for group, verdict in zip(groups, verdicts, strict=True) if not _outweighed(verdict, group, chunks)
    ]
    whole = _weightiest(standing or [Verdict(Label.ENTAILED)], _AMONG)
    return msgspec.structs.replace(whole, chunks=chunks)


def _by_piece(verdict: Verdict) -> Sequence[ChunkVerdict]:
    return verdict.chunks or (ChunkVerdict(verdict.label, verdict.probability),)


def _outweighed(verdict: Verdict, group: Sequence[_TextPiece], chunks: Sequence[ChunkVerdict]) -> bool:
    """Whether a part contradicts only by windows of chunks that entail as a whole."""
    if verdict.label is not Label.CONTRADICTED:
        return False
    pairs = zip(group, _by_piece(verdict), strict=True)
    guilty = [piece for piece, said in pairs if said.label is Label.CONTRADICTED]
    return all(chunks[piece.place].label is Label.ENTAILED for piece in guilty or group)


def _weightiest(said: Sequence[PartAnswers], weights: Mapping[Label, int]) -> PartAnswers:
    """What decides: what weighs most, of this the most probable."""
    return max(said, key=lambda each: (weights.get(each.label, 0), each.probability or 0.0))


def _verdicts(answers: Iterable[Answer]) -> list[Verdict]:
    return [answer for answer in answers if isinstance(answer, Verdict)]


def _shifted(span: Span | None, by: int) -> Span | None:
    return (span[0] + by, span[1] + by) if span else None


def windows(text: str, room: int, overlap: int) -> list[Span]:
    """Spans of at most `room` characters that together hold all of a text but white space, cut between sentences.

    Each window after the first begins with those last sentences of the one before that fit into `overlap` characters.
    `overlap` is less than half of `room`. A paragraph's end in the second half of a window ends it. A sentence longer
    than `room` is cut between words.
    """
    units = [piece for span in sentences(text) for piece in _cut(text, span, room)]
    found: list[Span] = []
    first = 0
    while first < len(units):
        last = _last_fitting(text, units, first, room)
        found.append((units[first][0], units[last][1]))
        if last == len(units) - 1:
            break
        first = _first_again(units, last, max(units[last][1] - overlap, units[last + 1][1] - room))
    return found or [(0, 0)]


def _last_fitting(text: str, units: Sequence[Span], first: int, room: int) -> int:
    """The place of the last unit of the window that begins with `first`."""
    start, last = units[first][0], first
    while last + 1 < len(units) and units[last + 1][1] - start <= room:
        last += 1
    if last + 1 < len(units):
        for place in range(last, first, -1):
            if units[place][1] - start < room / 2:
                break
            if "\n\n" in text[units[place][1] : units[place + 1][0]]:
                return place
    return last


def _first_again(units: Sequence[Span], last: int, earliest: int) -> int:
    """The place of the unit that the window after `last` begins with, at the character `earliest` or behind."""
    again = last + 1
    while units[again - 1][0] >= earliest:
        again -= 1
    return again


def _cut(text: str, span: Span, room: int) -> Iterable[Span]:
    """A span in pieces of at most `room` characters, cut at white space where there is some."""
    start, stop = span
    while stop - start > room:
        space = max((text.rfind(mark, start + 1, start + room + 1) for mark in " \n\t"), default=-1)
        cut = space if space > start else start + room
        yield start, cut
        start = cut
        while start < stop and text[start].isspace():
            start += 1
    if start < stop:
        yield start, stop
