"""A text as cited pieces: each sentence or list item with what it cites; the closing list of sources is none."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.text.citations import MARK, Citation, CitationStyle, Remainder, citations_in, unmarked
from ragauge.text.markdown import Block, blocks
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


def bibliography(text: str, laid_out: Sequence[Block]) -> Iterator[Block]:
    """Those blocks of a text that list its sources.

    After a line that is no more than "Sources:" or "References" these are all up to the next heading; after one that
    goes on with the first source ("Sources: [1] Bee Journal") those that begin with a mark. A block by itself is one if
    it gives the address of a mark, "[1] https://...", or is a footnote, "[^1]: ...".
    """
    going_on = _ENTRY
    for block in laid_out:
        heading = _HEADING.fullmatch(text, block.body, block.end)
        if heading or _BEGINNING.fullmatch(text, block.body, block.end):
            going_on = _ANYTHING if heading else _MARKED
            yield block
        elif block.kind == "heading" or not going_on.fullmatch(text, block.body, block.end):
            going_on = _ENTRY
        else:
            yield block


_BETWEEN_ITEMS = re.compile(r"[,;\n]")
_BREAK = re.compile(r"\n")
_SPACE = re.compile(r"\s*")
_EDGES = " \t\r\n.,;•*-"


class CitedPiece(NamedTuple):
    """A sentence or an item. text: without its citations. span: with them, in the whole text."""

    text: str
    span: Span
    citations: tuple[Citation, ...]


def cited_sentences(text: str, labels: Sequence[str], style: CitationStyle = "brackets") -> list[CitedPiece]:
    """The sentences of a text with what each cites; labels and style as in `citations`.

    A mark behind the full stop belongs to the sentence before it, also where nothing else stands in its paragraph; one
    that begins a line belongs to what follows on it. Where every mark stands before a sentence, the first of the text
    among them, each belongs to the sentence behind it. Bracketed years are text; a list of sources is left out.
    """
    reading = _CitationReading(text, labels, style)
    spans = map(reading.without_marker, sentences(text, reading.marks))
    return reading.pieces([reading.without_marks(span) for span in spans])


def cited_items(text: str, labels: Sequence[str], style: CitationStyle = "brackets") -> list[CitedPiece]:
    """The items of a list, parted by commas, semicolons or line breaks outside of marks, with what each cites."""
    reading = _CitationReading(text, labels, style)
    rest = Remainder(text, reading.left_out)
    cuts = [rest.origin(found.start()) for found in _BETWEEN_ITEMS.finditer(rest.text)]
    spans = zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(text)], strict=True)
    return reading.pieces([reading.without_marker(_trimmed(text, span)) for span in spans])


def without_citations(text: str, labels: Sequence[str], style: CitationStyle = "brackets") -> str:
    """The text without its citations and sources; names that are part of the sentence stay, as do bracketed years."""
    return unmarked(text, (0, len(text)), _CitationReading(text, labels, style).left_out)


def _trimmed(text: str, span: Span) -> Span:
    piece = text[slice(*span)]
    start = span[0] + len(piece) - len(piece.lstrip(_EDGES))
    return start, max(start, span[0] + len(piece.rstrip(_EDGES)))


class _CitationSite(NamedTuple):
    """Where a mark stands among spans. place: the last span that begins before it, -1 for none. inside: that span.

    opens, closes: whether none of the spans is on its line before it, and behind it.
    """

    place: int
    inside: bool
    opens: bool
    closes: bool


class _CitationReading:
    """A text with its citations. marks: theirs, no part of what is said. left_out: the marks, and lists of sources."""

    def __init__(self, text: str, labels: Sequence[str], style: CitationStyle) -> None:
        self._text = text
        laid_out = blocks(text)
        sources = [(block.start, block.end) for block in bibliography(text, laid_out)]
        cites = [one for one in citations_in(text, labels, style) if one.reach != "year"]
        self._citations = [one for one in cites if not _within(one.span[0], sources)]
        self.marks = list(dict.fromkeys(one.span for one in self._citations if text[one.span[0]] in "[(【"))
        self.left_out = sorted([*self.marks, *sources])
        self._bodies = {block.start: block.body for block in laid_out}
        self._ends, self._starts = dict(self.marks), {end: start for start, end in self.marks}
        self._breaks = [found.start() for found in _BREAK.finditer(text)]

    def without_marker(self, span: Span) -> Span:
        """A span without what marks it as an item of a list, a heading or a quotation: "- ", "1. ", "## ", "> "."""
        return self._bodies.get(span[0], span[0]), span[1]

    def without_marks(self, span: Span) -> Span:
        """A span without the marks that it begins and ends with."""
        start, end = span
        while start in self._ends:
            start = _past_space(self._text, self._ends[start])
        while end > start and (end in self._starts or self._text[end - 1].isspace()):
            end = self._starts.get(end, end - 1)
        return start, end

    def pieces(self, spans: Sequence[Span]) -> list[CitedPiece]:
        """Those of the spans that say something, each with its citations and as far as these reach."""
        saying = [span for span in spans if self._says(span)]
        leading = self._are_leading([self._stand(mark, saying) for mark in self.marks], len(saying))
        mine: list[list[Citation]] = [[] for _ in saying]
        for one in self._citations if saying else ():
            stand = self._stand(one.span, saying)
            before = stand.place < 0 or (not stand.inside and (leading or (stand.opens and not stand.closes)))
            mine[stand.place + before].append(one)
        return [self._piece(span, cites) for span, cites in zip(saying, mine, strict=True)]

    def _piece(self, span: Span, cites: Sequence[Citation]) -> CitedPiece:
        places = [place for reach in (span, *(one.span for one in cites)) for place in reach]
        span = min(places), max(places)
        return CitedPiece(unmarked(self._text, span, self.left_out).strip(), span, tuple(cites))

    def _says(self, span: Span) -> bool:
        return any(map(str.isalnum, unmarked(self._text, span, self.left_out)))

    def _stand(self, mark: Span, spans: Sequence[Span]) -> _CitationSite:
        place = bisect_right(spans, mark[0], key=lambda span: span[0]) - 1
        inside = place >= 0 and mark[0] < spans[place][1]
        opens = place < 0 or self._line(spans[place][1]) < self._line(mark[0])
        closes = place + 1 == len(spans) or self._line(mark[1]) < self._line(spans[place + 1][0])
        return _CitationSite(place, inside, opens, closes)

    def _line(self, at: int) -> int:
        return bisect_left(self._breaks, at)

    def _are_leading(self, stands: Sequence[_CitationSite], spans: int) -> bool:
        """Whether every mark stands before a span and closes no line, the first before the first of them."""
        return bool(stands) and stands[0].place < 0 and all(_leads(one, spans) for one in stands)


def _leads(stand: _CitationSite, spans: int) -> bool:
    return not stand.inside and stand.place + 1 < spans and (stand.opens or not stand.closes)


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _within(at: int, spans: Sequence[Span]) -> bool:
    """Whether a place lies in one of some spans, which are in order."""
    last = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return last >= 0 and at < spans[last][1]
