"""Sentences and list items with their citations; lists of sources are excluded."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.text.citations import MARK, Chunks, Citation, CitationStyle, TextWithoutSpans, citations_in, unmarked
from ragauge.text.markdown import Block, Kind, blocks
from ragauge.text.patterns import any_of
from ragauge.text.sentences import sentences
from ragauge.types import Span

_TITLE = any_of("""sources? references? citations? bibliography footnotes? works_cited sources_cited further_reading
    quellen(?:angaben|verzeichnis)? literatur(?:verzeichnis)? fuentes referencias références fonti bronnen""")
_ADDRESS = r"<?(?:https?://|www\.)\S+"
_HEADING = re.compile(rf"[*_]*{_TITLE}[*_]*:?[*_]*", re.IGNORECASE)
_BEGINNING = re.compile(rf"[*_]*{_TITLE}[*_]*:[*_]*\s*(?:{MARK}|{_ADDRESS}).*", re.IGNORECASE | re.DOTALL)
_ENTRY = re.compile(rf"\[\^\d+\]:\s.*|(?:{MARK}\s*)+[:,.]?\s*{_ADDRESS}[\s.,;]*", re.DOTALL)
_MARKED = re.compile(rf"{MARK}.*", re.DOTALL)
_ANYTHING = re.compile(r".*", re.DOTALL)


def bibliography(text: str, layout: Sequence[Block]) -> Iterator[Block]:
    """The blocks of a text that list its sources.

    After "Sources:" alone these are all up to the next heading; after "Sources: [1] Bee Journal", those that start with
    a mark. Elsewhere a block lists a source if it gives the URL of a mark, or is a footnote, "[^1]: ...".
    """
    expected = _ENTRY
    for block in layout:
        heading = _HEADING.fullmatch(text, block.body, block.end)
        if heading or _BEGINNING.fullmatch(text, block.body, block.end):
            expected = _ANYTHING if heading else _MARKED
            yield block
        elif block.kind == "heading" or not expected.fullmatch(text, block.body, block.end):
            expected = _ENTRY
        else:
            yield block


_BETWEEN_ITEMS = re.compile(r"[,;\n]")
_SPACE = re.compile(r"\s*")
_EDGES = " \t\r\n.,;•*-"


class CitedPiece(NamedTuple):
    """A sentence or an item. text: without its citations. span: in the whole text, with its citations.

    kind: that of the block which it begins.
    """

    text: str
    span: Span
    citations: tuple[Citation, ...]
    kind: Kind = "prose"


def cited_sentences(text: str, chunks: Chunks, style: CitationStyle = "brackets") -> list[CitedPiece]:
    """The sentences of a text with their citations.

    A mark after the full stop belongs to the preceding sentence, even in a paragraph of its own; one that starts a line
    belongs to the text that follows on it. If every mark precedes a sentence, including the first of the text, each
    belongs to the sentence after it. Bracketed years are text; lists of sources are excluded.
    """
    reading = _CitationReading(text, chunks, style)
    spans = map(reading.without_marker, sentences(text, reading.marks))
    return reading.pieces([reading.without_marks(span) for span in spans])


def cited_items(text: str, chunks: Chunks, style: CitationStyle = "brackets") -> list[CitedPiece]:
    """The items of a list, separated by commas, semicolons or line breaks outside marks, with their citations."""
    reading = _CitationReading(text, chunks, style)
    bare = TextWithoutSpans(text, reading.excluded)
    cuts = [bare.origin(match.start()) for match in _BETWEEN_ITEMS.finditer(bare.text)]
    spans = zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(text)], strict=True)
    return reading.pieces([reading.without_marker(_trimmed(text, span)) for span in spans])


def without_citations(text: str, chunks: Chunks, style: CitationStyle = "brackets") -> str:
    """The text without citations and sources; bracketed years stay."""
    return unmarked(text, (0, len(text)), _CitationReading(text, chunks, style).excluded)


def _trimmed(text: str, span: Span) -> Span:
    piece = text[slice(*span)]
    start = span[0] + len(piece) - len(piece.lstrip(_EDGES))
    return start, max(start, span[0] + len(piece.rstrip(_EDGES)))


class _CitationReading:
    """A text with its citations. excluded: their marks, and lists of sources."""

    def __init__(self, text: str, chunks: Chunks, style: CitationStyle) -> None:
        self._text = text
        layout = blocks(text)
        sources = [(block.start, block.end) for block in bibliography(text, layout)]
        self._citations = [
            citation for citation in citations_in(text, chunks, style) if not _within(citation.span[0], sources)
        ]
        self.marks = list(dict.fromkeys(citation.span for citation in self._citations))
        self.excluded = sorted([*self.marks, *sources])
        self._bodies = {block.start: block.body for block in layout}
        self._kinds = {block.body: block.kind for block in layout}
        self._ends, self._starts = dict(self.marks), {end: start for start, end in self.marks}
        self._breaks = [index for index, character in enumerate(text) if character == "\n"]

    def without_marker(self, span: Span) -> Span:
        """A span without its Markdown marker: "- ", "1. ", "## ", "> "."""
        return self._bodies.get(span[0], span[0]), span[1]

    def without_marks(self, span: Span) -> Span:
        """A span without leading and trailing marks."""
        start, end = span
        while start in self._ends:  # and past white space
            start = self._ends[start]
            start = match.end() if (match := _SPACE.match(self._text, start)) else start
        while end > start and (end in self._starts or self._text[end - 1].isspace()):
            end = self._starts.get(end, end - 1)
        return start, end

    def pieces(self, spans: Sequence[Span]) -> list[CitedPiece]:
        """The spans with words, each extended by its citations."""
        worded = [span for span in spans if any(map(str.isalnum, unmarked(self._text, span, self.excluded)))]
        if not worded:
            return []
        sites = {mark: self._site(mark, worded) for mark in self.marks}
        leading = bool(sites) and sites[self.marks[0]][0] < 0 and all(may_lead for _, may_lead, _ in sites.values())
        citations: list[list[Citation]] = [[] for _ in worded]
        for citation in self._citations:
            preceding, _, leads = sites[citation.span]
            citations[preceding + (leading or leads)].append(citation)
        return [self._piece(span, cited) for span, cited in zip(worded, citations, strict=True)]

    def _piece(self, span: Span, citations: Sequence[Citation]) -> CitedPiece:
        kind = self._kinds.get(span[0], "prose")
        ends = [end for boundary in (span, *(citation.span for citation in citations)) for end in boundary]
        span = min(ends), max(ends)
        return CitedPiece(unmarked(self._text, span, self.excluded).strip(), span, tuple(citations), kind)

    def _site(self, mark: Span, spans: Sequence[Span]) -> tuple[int, bool, bool]:
        """The last span that starts before a mark (-1 for none), and whether the mark may, or must, lead the next."""
        preceding = bisect_right(spans, mark[0], key=lambda span: span[0]) - 1
        if preceding >= 0 and mark[0] < spans[preceding][1]:
            return preceding, False, False
        last = preceding + 1 == len(spans)
        opens = preceding < 0 or self._line(spans[preceding][1]) < self._line(mark[0])
        closes = last or self._line(mark[1]) < self._line(spans[preceding + 1][0])
        return preceding, not last and (opens or not closes), preceding < 0 or (opens and not closes)

    def _line(self, index: int) -> int:
        return bisect_left(self._breaks, index)


def _within(index: int, spans: Sequence[Span]) -> bool:
    """Whether an offset lies in one of some spans, which are in order."""
    last = bisect_right(spans, index, key=lambda span: span[0]) - 1
    return last >= 0 and index < spans[last][1]
