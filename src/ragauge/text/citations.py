"""Numbered citations: how a text refers to its contexts."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from ragauge.text.patterns import CODE, any_of
from ragauge.types import Span

_NOUN = any_of(r"""docs?\.? documents? dokumente? sources? quellen? passages? refs?\.? references? contexts? chunks?
    (?:search_)?results?""")
_NUMBER = rf"(?:(?i:{_NOUN})\s?)?[#^]?\d{{1,3}}"
_TO = r"(?:\s?[–—~～-]\s?|\s(?:to|bis)\s)"
_BETWEEN = rf"(?:\s?[,;&，、；]\s?(?:(?:and|&|und)\s)?|\s(?:and|und|et|y)\s|{_TO})"
_NUMBERS = rf"\s?{_NUMBER}(?:{_BETWEEN}{_NUMBER})*\s?"
_ADDRESS = r"\(https?://[^\s()]*\)"
_BRACKETS = rf"(?:[\[［]{_NUMBERS}[\]］](?:{_ADDRESS})?|【\d[^】\n]{{0,30}}】)"
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
_UNNUMBERED = re.compile(rf"{_ADDRESS}|(?::\d+)?†[^】]*")
_RANGE = re.compile(rf"(\d+)(?:{_TO}[#^]?(\d+))?")


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


_OTHERWISE = re.compile(rf"\((?i:{_NOUN})\s?\d|[^\W\d_]{{3}}[.,]?[¹²³⁴-⁹]")


def cites_otherwise(text: str, ids: Iterable[str]) -> bool:
    """Whether a text without marks seems to cite in another form: (Doc 1), ¹, or the id of a chunk as in [d1]."""
    if citation_marks(text):
        return False
    return bool(_OTHERWISE.search(text)) or ("[" in text and any(f"[{id}]" in text for id in ids))


def citations_in(text: str, chunks: int, style: CitationStyle = "brackets") -> Iterator[Citation]:
    """The citations of a text, in order.

    Args:
        text: the text with the citations.
        chunks: the number of chunks. A larger number is a citation without a chunk; of a range beyond the last chunk,
            only the end is kept. A year in brackets is no citation, unless there are that many chunks.
        style: how citations are written.
    """
    for match in (_BRACKETED if style == "brackets" else _PARENTHESISED).finditer(text):
        if not match["mark"] or (match["year"] and chunks < int(match["year"])):
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
