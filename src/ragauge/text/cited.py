"""A text as cited pieces: each sentence, or each item of a list, with what it cites and without the marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ragauge.nouns.statements import Span
from ragauge.text.citations import Citation, Style, citations, unmarked
from ragauge.text.sentences import sentences

_BETWEEN_ITEMS = re.compile(r"[,;\n]")
_BULLET = re.compile(r"[-*•]\s+")
_SPACE = re.compile(r"\s*")
_EDGES = " \t\r\n.,;•*-"


class CitedPiece(NamedTuple):
    """A sentence or an item. text: without its citations. span: with them, in the whole text."""

    text: str
    span: Span
    citations: tuple[Citation, ...]


def cited_sentences(text: str, labels: Sequence[str], style: Style = "brackets") -> list[CitedPiece]:
    """The sentences of a text with what each cites; labels and style as in `citations`.

    A mark behind the full stop belongs to the sentence before it, also where nothing else stands in its paragraph.
    Bracketed years are text.
    """
    return _pieces(text, sentences(text), citations(text, labels, style))


def cited_items(text: str, labels: Sequence[str], style: Style = "brackets") -> list[CitedPiece]:
    """The items of a list, parted by commas, semicolons or line breaks outside of marks, with what each cites."""
    cites = citations(text, labels, style)
    inside = {at for citation in cites for at in range(*citation.span)}
    cuts = [found.start() for found in _BETWEEN_ITEMS.finditer(text) if found.start() not in inside]
    spans = [_trimmed(text, span) for span in zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(text)], strict=True)]
    return _pieces(text, [span for span in spans if span[0] < span[1]], cites)


def without_citations(text: str, labels: Sequence[str], style: Style = "brackets") -> str:
    """The text without its citations; names that are part of the sentence stay, and so do bracketed years."""
    return unmarked(text, (0, len(text)), _removable(text, citations(text, labels, style)))


def _trimmed(text: str, span: Span) -> Span:
    piece = text[slice(*span)]
    start = span[0] + len(piece) - len(piece.lstrip(_EDGES))
    return start, max(start, span[0] + len(piece.rstrip(_EDGES)))


def _removable(text: str, cites: Sequence[Citation]) -> list[Span]:
    """The marks that are no part of what is said."""
    return list(dict.fromkeys(one.span for one in cites if one.reach != "year" and text[one.span[0]] in "[(【"))


def _pieces(text: str, spans: Sequence[Span], cites: Sequence[Citation]) -> list[CitedPiece]:
    marks = _removable(text, cites)
    pieces: list[CitedPiece] = []
    for span in _with_leading_marks(text, spans, marks):
        mine = tuple(one for one in cites if one.reach != "year" and span[0] <= one.span[0] < span[1])
        pieces.append(CitedPiece(_BULLET.sub("", unmarked(text, span, marks).strip()), span, mine))
    return pieces


def _with_leading_marks(text: str, spans: Sequence[Span], marks: Sequence[Span]) -> Iterator[Span]:
    """The spans that say something; marks before one go to the one before on its line, marks alone to it anyhow.

    Marks alone before anything is said go to the first span that says something.
    """
    ends = dict(marks)
    pending: Span | None = None
    alone: int | None = None
    for start, end in spans:
        behind = _behind_marks(text, start, ends)
        if not any(map(str.isalnum, unmarked(text, (start, end), marks))):
            pending, alone = (pending[0], end) if pending else None, start if alone is None else alone
            continue
        if pending:
            if start < behind and "\n" not in text[pending[1] : start]:
                pending, start = (pending[0], behind), _past_space(text, behind)
            yield pending
        pending = start if pending or alone is None else alone, end
    if pending:
        yield pending


def _behind_marks(text: str, start: int, ends: Mapping[int, int]) -> int:
    """Where the marks end that a span begins with."""
    while (at := _past_space(text, start)) in ends:
        start = ends[at]
    return start


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
