"""Citations: how a text refers to its contexts, by numbers or by names."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from ragauge.text.patterns import CODE, any_of
from ragauge.types import Chunk, Span

_NOUN = any_of(r"""docs?\.? documents? dokumente? sources? quellen? passages? refs?\.? references? contexts? chunks?
    (?:search_)?results? citations?""")
_NUMBER = rf"(?:(?i:{_NOUN})\s?[:_-]?\s?)?[#^]?\d{{1,3}}\^?"
_TO = r"(?:\s?[–—~～-]\s?|\s(?:to|bis)\s)"
_BETWEEN = rf"(?:\s?[,;&，、；]\s?(?:(?:and|&|und)\s)?|\s(?:and|und|et|y)\s|{_TO})"
_NUMBERS = rf"\s?{_NUMBER}(?:{_BETWEEN}{_NUMBER})*\s?"
_PAGES = r",\s?(?:pp?|pages?|S|Seiten?|lines?|sections?|§)\.?\s?\d+(?:\s?[–-]\s?\d+)?"
_ADDRESS = r"\(https?://[^\s()]*\)"
_BRACKETS = rf"(?:\\?[\[［]{_NUMBERS}(?:{_PAGES})?\\?[\]］](?:{_ADDRESS})?|【\d[^】\n]{{0,200}}】)"
_NUMBER_SIGNAL = r"(?i:see(?: also)?|cf\.|e\.g\.,?|from|sources?:?|refs?\.?)"

#: One citation mark: brackets with numbers, or several together in parentheses.
MARK = rf"(?:{_BRACKETS}|\((?:{_NUMBER_SIGNAL}\s)?{_BRACKETS}(?:[\s,;]*{_BRACKETS})*\))"
_MARK_OR_CODE = re.compile(rf"{CODE}|(?P<mark>{MARK})", re.DOTALL)

#: How citations are written: [1], [1, 2], [1-3], [Doc 1], 【1】; or (1), (1, 2), (1-3). Full-width signs are the same.
CitationStyle = Literal["brackets", "parentheses"]

_YEAR = r"(?:1[0-9]|20)\d\d"
_YEARS = rf"(?P<year>{_YEAR})(?:\s?[,;–—-]\s?{_YEAR})*"

_NUMBER_OF_ITEM = r"^\s*(?:\(\d{1,3}\)(?=\s+\S)|（\d{1,3}）(?=[^\S\n]*\w))"  # needs no space if it is full-width

#: The citations of each style; a match without a mark is code, or the number of a list item.
_BRACKETED = re.compile(rf"{CODE}|(?P<mark>{MARK}|\[{_YEARS}\])", re.DOTALL)
_PARENTHESISED = re.compile(
    rf"{CODE}|{_NUMBER_OF_ITEM}|(?P<mark>[(（]{_NUMBERS}[)）]|\({_YEARS}\))", re.DOTALL | re.MULTILINE
)
_UNNUMBERED = re.compile(rf"{_ADDRESS}|†[^】]*|{_PAGES}")
_RANGE = re.compile(rf"(\d+)(?:{_TO}[#^]?(\d+))?")
#: OpenAI's numbers of a call and of a result in it, in an order that may not be that of the contexts.
_OF_RESULT = re.compile(r"【(?P<numbers>\d+:\d+)(?:†|】)")

_LINK = r"https?://[^\s<>()\[\]]*[^\s<>()\[\].,;:!?]"
_NAMED = {
    style: re.compile(
        rf"{CODE}|\\?{opening}(?P<name>[^{opening}{closing}\n]{{1,200}}?)\\?{closing}(?:\((?P<link>{_LINK})\))?"
        rf"|【[^†】\n]{{0,200}}†(?P<file>[^】\n]{{1,200}})】|(?P<address>\({_LINK}\)|<{_LINK}>|{_LINK})",
        re.DOTALL,
    )
    for style, opening, closing in (("brackets", r"\[", r"\]"), ("parentheses", r"\(", r"\)"))
}
_BETWEEN_NAMES = re.compile(r"[,;]|\s(?:and|und)\s")
_BEFORE_NAME = re.compile(rf"\s*(?i:{_NOUN}|ids?)\s?(?:[:_-]\s?|\s)")

_DIGITS = re.compile(r"\d+")

#: The chunks that a text may cite, or their number, where it cites by numbers alone.
Chunks = int | Sequence[Chunk]
#: The keys of a chunk's metadata that name it.
_NAME_KEYS = ("url", "uri", "link", "source", "file", "filename", "file_name", "path")


class Citation(NamedTuple):
    """One number in a citation mark, the span of the whole mark, and the position of the chunk, if there is one."""

    written: str
    span: Span
    chunk: int | None = None


def citation_marks(text: str) -> list[Span]:
    """The citation marks of a text, in order: [1], each of [1][2], [1, 2], [1-3], [Doc 1], 【1】, ([1]), [1](https://...).

    Numbers of four digits are years, and brackets inside code are indices; neither is a mark.
    """
    return [match.span() for match in _MARK_OR_CODE.finditer(text) if match["mark"]]


_PLAIN_MARK = re.compile(r"\[(\d{1,3})\]")
_SEEMS_TO_CITE = re.compile(
    rf"\((?i:{_NOUN})\s?\d|\(\d{{1,2}}\)[.,;]|[^\W_]{{3}}[.,]?[¹²³⁴-⁹]|<sup>\d|【|https?://"
    rf"|\[(?!{_YEARS}\])(?=[^\[\]\n]{{0,80}}[\d_./:#-])[^\[\]\n]{{1,80}}\]"
)


def cites_otherwise(text: str, chunks: Sequence[Chunk]) -> bool:
    """Whether a text seems to cite, as in [d1], (Doc 1), ¹ or with an address, but no citation of a chunk is read."""
    prose = re.sub(CODE, "", text, flags=re.DOTALL)
    is_plain = any(0 < int(number) <= len(chunks) for number in _PLAIN_MARK.findall(prose))  # as most citations are
    if is_plain or not _SEEMS_TO_CITE.search(prose):
        return False
    return all(citation.chunk is None for citation in citations_in(text, chunks))


def _names_of(chunks: Sequence[Chunk], style: CitationStyle) -> dict[str, list[int]]:
    """The positions of the chunks of each name: their ids and, in brackets, their titles and addresses.

    A number is no name where it may be a position.
    """
    numbered = any(chunk.id.isdecimal() and int(chunk.id) <= len(chunks) for chunk in chunks)
    names: dict[str, list[int]] = {}
    for position, chunk in enumerate(chunks):
        titles = (chunk.title, *(str(chunk.metadata.get(key) or "") for key in _NAME_KEYS))
        for name in {_name_key(name) for name in (chunk.id, *(titles if style == "brackets" else ()))} - {""}:
            if not (numbered and name.isdecimal()):
                names.setdefault(name, []).append(position)
    return names


def _name_key(name: str) -> str:
    return " ".join(name.casefold().split()).rstrip("/")


def citations_in(text: str, chunks: Chunks, style: CitationStyle = "brackets") -> Iterator[Citation]:
    """The citations of a text, in order.

    Args:
        text: the text with the citations.
        chunks: the chunks, or their number. A larger number is a citation without a chunk; of a range beyond the last
            chunk, only the end is kept. A year in brackets is no citation, unless there are that many chunks. Names of
            chunks take precedence over numbers; a name that several chunks have cites all. What has the form of a name,
            such as doc_9 beside doc_1, cites no chunk.
        style: how citations are written.
    """
    count, names = (chunks, {}) if isinstance(chunks, int) else (len(chunks), _names_of(chunks, style))
    citations = list(_by_name(text, style, names)) if names else []
    spans = list(dict.fromkeys(citation.span for citation in citations))
    forms = {_DIGITS.sub("1", name) for name in names} - {"1"}
    for citation in _by_number(text, count, style):
        start, end = citation.span
        if not spans_within(citation.span, spans):
            is_unknown_name = _DIGITS.sub("1", _name_key(text[start + 1 : end - 1])) in forms
            citations.append(citation._replace(chunk=None) if is_unknown_name else citation)
    yield from sorted(citations, key=lambda citation: citation.span)


def _by_name(text: str, style: CitationStyle, names: Mapping[str, Sequence[int]]) -> Iterator[Citation]:
    """The citations by names. In brackets with the name of a chunk, other names are citations without one."""
    for match in _NAMED[style].finditer(text):
        whole = match["name"] or match["file"] or ""
        name = re.sub(_PAGES, "", whole)
        address = (match["link"] or match["address"] or "").strip("()<>")
        for candidates in ([address], [whole], [name], _BETWEEN_NAMES.split(name)):
            positions = {
                candidate: names.get(_name_key(candidate)) or names.get(_name_key(_BEFORE_NAME.sub("", candidate, 1)))
                for candidate in candidates
            }
            if any(positions.values()):
                for candidate, chunks in positions.items():
                    for chunk in chunks or (None,):
                        yield Citation(candidate.strip(), match.span(), chunk)
                break


def _by_number(text: str, chunks: int, style: CitationStyle) -> Iterator[Citation]:
    for match in (_BRACKETED if style == "brackets" else _PARENTHESISED).finditer(text):
        if not match["mark"] or (match["year"] and chunks < int(match["year"])):
            continue
        if of_result := _OF_RESULT.match(match["mark"]):
            yield Citation(of_result["numbers"], match.span())
            continue
        for first, last in _RANGE.findall(_UNNUMBERED.sub("", match["mark"])):
            low, high = int(first), int(last or first)
            numbers = range(low, min(high, chunks) + 1) if low < high else (low, high)
            beyond = [high] if high > max(low, chunks) else []
            for number in dict.fromkeys([*numbers, *beyond]):
                yield Citation(str(number), match.span(), number - 1 if 1 <= number <= chunks else None)


def unmarked(text: str, span: Span, marks: Sequence[Span]) -> str:
    """The text of a span without citation marks and the spaces before each.

    Args:
        text: the whole text.
        span: the part of it.
        marks: all marks of the text, in order.
    """
    return TextWithoutSpans(text[slice(*span)], spans_within(span, marks)).text


def spans_within(span: Span, marks: Sequence[Span]) -> list[Span]:
    """The marks within a span of a text, or the parts of them there, as spans of that part of the text."""
    start, end = span
    first = max(0, bisect_left(marks, span) - 1)  # the mark before the span may reach into it
    last = bisect_left(marks, (end, 0))
    inner = [(max(0, mark_start - start), min(mark_end, end) - start) for mark_start, mark_end in marks[first:last]]
    return [(mark_start, mark_end) for mark_start, mark_end in inner if mark_end > 0]


class TextWithoutSpans:
    """A text without spans, disjoint and in order, nor the spaces before each. seams: where they were in `text`."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self.seams: list[int] = []
        self._origins = [0]
        kept: list[str] = []
        position = size = 0
        for start, end in spans:
            kept.append(text[position:start].rstrip(" "))
            size += len(kept[-1])
            self.seams.append(size)
            self._origins.append(end)
            position = end
        self.text = "".join([*kept, text[position:]])

    def origin(self, index: int) -> int:
        """The offset in the original text of the character at `index` of the remaining text."""
        removed = bisect_right(self.seams, index)  # the spans before it
        seam = self.seams[removed - 1] if removed else 0
        return self._origins[removed] + index - seam
