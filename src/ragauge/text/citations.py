"""Citation marks: how a text points at the chunks it was given, by number or by author."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ragauge.text.authors import Known, works
from ragauge.text.code import CODE
from ragauge.text.phrases import any_of
from ragauge.types import Span

_NOUN = any_of(r"""docs?\.? documents? dokumente? sources? quellen? passages? refs?\.? references? contexts? chunks?
    (?:search_)?results?""")
_NUMBER = rf"(?:(?i:{_NOUN})\s?)?[#^]?\d{{1,3}}"
_TO = r"(?:\s?[–—-]\s?|\s(?:to|bis)\s)"
_BETWEEN = rf"(?:\s?[,;&]\s?(?:(?:and|&|und)\s)?|\s(?:and|und|et|y)\s|{_TO})"
_NUMBERS = rf"\s?{_NUMBER}(?:{_BETWEEN}{_NUMBER})*\s?"
_ADDRESS = r"\(https?://[^\s()]*\)"
_BRACKETS = rf"(?:\[{_NUMBERS}\](?:{_ADDRESS})?|【\d[^】\n]{{0,30}}】)"
_SIGNAL = r"(?i:see(?: also)?|cf\.|e\.g\.,?|from|sources?:?|refs?\.?)"

#: One citation mark: brackets with numbers, or all that stand together in parentheses.
MARK = rf"(?:{_BRACKETS}|\((?:{_SIGNAL}\s)?{_BRACKETS}(?:[\s,;]*{_BRACKETS})*\))"
_MARK_OR_CODE = re.compile(rf"{CODE}|(?P<mark>{MARK})", re.DOTALL)

#: How citations are written: [1], [1, 2], [1-3], [Doc 1], 【1】; (1), (1, 2), (1-3); or (Smith, 2020), Smith (2020).
Style = Literal["brackets", "parentheses", "authors"]

#: What a number in a mark turns out to be: a chunk's, of no chunk, or a year and no citation at all.
Reach = Literal["chunk", "nothing", "year"]

_YEAR = r"(?:1[0-9]|20)\d\d"
_YEARS = rf"{_YEAR}(?:\s?[,;–—-]\s?{_YEAR})*"
_BRACKETED = re.compile(rf"{CODE}|(?P<mark>{MARK}|\[(?P<year>{_YEARS})\])", re.DOTALL)
_PARENTHESISED = re.compile(
    rf"{CODE}|(?P<line>^\s*\(\d{{1,3}}\)(?=\s+\S))|(?P<mark>\({_NUMBERS}\)|\((?P<year>{_YEARS})\))",
    re.DOTALL | re.MULTILINE,
)
_UNNUMBERED = re.compile(rf"{_ADDRESS}|†[^】]*")
_RANGE = re.compile(rf"(\d+)(?:{_TO}[#^]?(\d+))?")


class Citation(NamedTuple):
    """What one number, or one name, in a mark points at.

    written: the number or name. span: of the whole mark, which may hold several. reach: whether there is such a chunk.
    chunk: its position from 0, None where there is none.
    """

    written: str
    span: Span
    reach: Reach
    chunk: int | None = None


def citation_marks(text: str) -> list[Span]:
    """The citation marks of a text, in order: [1], each of [1][2], [1, 2], [1-3], [1 and 2], [Doc 1], [^1], 【1】.

    A number linked to an address, [1](https://...), is one mark with its address, and so is ([1]) with its parentheses.
    Numbers of four digits are years, and brackets inside code are indices; neither is a mark.
    """
    return [found.span() for found in _MARK_OR_CODE.finditer(text) if found["mark"]]


def citations(text: str, labels: Sequence[str], style: Style = "brackets") -> list[Citation]:
    """What a text cites, in order.

    labels: one for each chunk, in which authors' names and a year are looked for ("authors"); for numbers only how
    many there are counts. [0] and numbers beyond the last chunk reach nothing, as do authors that no label holds; of a
    range that runs beyond the last chunk only its end does. A year that stands alone in brackets is recognised as one,
    unless there are so many chunks; so is the year of a month, and of authors whom no label holds and no sign cites.
    """
    return list(_by_author(text, labels) if style == "authors" else _by_number(text, len(labels), style))


def _by_author(text: str, labels: Sequence[str]) -> Iterator[Citation]:
    known = Known(labels)
    for work in works(text):
        chunk = known.place(work)
        reach: Reach = "chunk" if chunk is not None else "nothing" if work.sure else "year"
        yield Citation(f"{work.names} {work.year}".strip(), work.span, reach, chunk)


def _by_number(text: str, chunks: int, style: Literal["brackets", "parentheses"]) -> Iterator[Citation]:
    for found in (_BRACKETED if style == "brackets" else _PARENTHESISED).finditer(text):
        if found["year"] and chunks < int(found["year"][:4]):
            yield Citation(found["year"], found.span(), "year")
        elif found["mark"]:
            yield from _numbered(found, chunks)


def _numbered(found: re.Match[str], chunks: int) -> Iterator[Citation]:
    for first, last in _RANGE.findall(_UNNUMBERED.sub("", found["mark"])):
        low, high = int(first), int(last or first)
        numbers = range(low, min(high, chunks) + 1) if low < high else (low, *([high] if high < low else []))
        beyond = [high] if high > max(low, chunks) else []
        for number in dict.fromkeys([*numbers, *beyond]):
            there = 1 <= number <= chunks
            yield Citation(str(number), found.span(), "chunk" if there else "nothing", number - 1 if there else None)


def unmarked(text: str, span: Span, marks: Sequence[Span]) -> str:
    """A span of text without the marks in it and the spaces before each; the marks are all of the text's, in order."""
    position, end = span
    kept: list[str] = []
    for place in range(max(0, bisect_left(marks, span) - 1), len(marks)):
        start, stop = marks[place]
        if start >= end:
            break
        if stop > position:
            kept.append(text[position : max(position, start)].rstrip(" "))
            position = min(stop, end)
    kept.append(text[position:end])
    return "".join(kept)
