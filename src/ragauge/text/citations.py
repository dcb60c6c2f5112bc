"""Citation marks: how a text points at the chunks it was given, by number or by author."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from ragauge.nouns.statements import Span

_NUMBERS = r"\^?\d{1,3}(?:\s?[,;–—-]\s?\^?\d{1,3})*"
MARK = rf"\[{_NUMBERS}\](?:\(https?://[^\s()]*\))?|【\d[^】\n]{{0,30}}】"
_CODE = r"```.*?```|`[^`\n]*`"
_MARK_OR_CODE = re.compile(rf"{_CODE}|(?P<mark>{MARK})", re.DOTALL)

#: How citations are written: [1], [1, 2], [1-3], 【1】; (1), (1, 2), (1-3); or (Smith, 2020), Smith et al. (2020).
Style = Literal["brackets", "parentheses", "authors"]

#: What a number in a mark turns out to be: a chunk's, of no chunk, or a year and no citation at all.
Reach = Literal["chunk", "nothing", "year"]

_YEAR = r"(?:1[0-9]|20)\d\d"
_YEARS = rf"{_YEAR}(?:\s?[,;–—-]\s?{_YEAR})*"
_BRACKETED = re.compile(rf"{_CODE}|(?P<mark>{MARK}|\[(?P<year>{_YEARS})\])", re.DOTALL)
_PARENTHESISED = re.compile(
    rf"{_CODE}|(?P<line>^\s*\(\d{{1,3}}\)(?=\s+\S))|(?P<mark>\({_NUMBERS}\)|\((?P<year>{_YEARS})\))",
    re.DOTALL | re.MULTILINE,
)
_NAME = r"[A-ZÀ-ÖØ-Þ][\w’'-]+"
_NAMES = rf"{_NAME}(?:,?\s(?:(?:and|&|und|et|y)\s)?{_NAME})*(?:,?\set\sal\.?)?"
_WHEN = rf"{_YEAR}[a-z]?(?:,\spp?\.\s?[\d–-]+)?"
_WORK = rf"{_NAMES},?\s{_WHEN}"
_AUTHORED = re.compile(
    rf"{_CODE}|(?P<mark>[(\[]{_WORK}(?:;\s?{_WORK})*[)\]]|{_NAMES}\s\({_WHEN}\)|\((?P<year>{_YEARS})\))", re.DOTALL
)
_ONE_WORK = re.compile(rf"(?P<name>{_NAME}).*?(?P<year>{_YEAR})")
_RANGE = re.compile(r"(\d+)(?:\s?[–—-]\s?\^?(\d+))?")


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
    """The citation marks of a text, in order: [1], each of [1][2], [1, 2], [1-3], [^1], 【1】.

    A number linked to an address, [1](https://...), is one mark with its address. Numbers of four digits are years,
    and brackets inside code are indices; neither is a mark.
    """
    return [found.span() for found in _MARK_OR_CODE.finditer(text) if found["mark"]]


def citations(text: str, labels: Sequence[str], style: Style = "brackets") -> list[Citation]:
    """What a text cites, in order.

    labels: one for each chunk, in which an author's name and a year are looked for ("authors"); for numbers only how
    many there are counts. [0] and numbers beyond the last chunk reach nothing, as does a name that no label holds; of a
    range that runs beyond the last chunk only its end does. A year that stands alone in brackets is recognised as one,
    unless there are so many chunks.
    """
    pattern, read = _STYLES[style]
    marks = (found for found in pattern.finditer(text) if found["mark"])
    return [citation for found in marks for citation in _read(found, read, labels)]


def _read(
    found: re.Match[str], read: Callable[[re.Match[str], Sequence[str]], Iterator[Citation]], labels: Sequence[str]
) -> Iterator[Citation]:
    if found["year"] and len(labels) < int(found["year"][:4]):
        yield Citation(found["year"], found.span(), "year")
    else:
        yield from read(found, labels)


def _numbered(found: re.Match[str], labels: Sequence[str]) -> Iterator[Citation]:
    inside = found["mark"].partition("](")[0].partition("†")[0]
    for first, last in _RANGE.findall(inside):
        low, high = int(first), int(last or first)
        numbers = range(low, min(high, len(labels)) + 1) if low < high else (low, *([high] if high < low else []))
        beyond = [high] if high > max(low, len(labels)) else []
        for number in dict.fromkeys([*numbers, *beyond]):
            there = 1 <= number <= len(labels)
            yield Citation(str(number), found.span(), "chunk" if there else "nothing", number - 1 if there else None)


def _by_author(found: re.Match[str], labels: Sequence[str]) -> Iterator[Citation]:
    for work in _ONE_WORK.finditer(found["mark"]):
        wanted = (work["name"].casefold(), work["year"])
        chunk = next((i for i, label in enumerate(labels) if all(one in label.casefold() for one in wanted)), None)
        yield Citation(f"{work['name']} {work['year']}", found.span(), "nothing" if chunk is None else "chunk", chunk)


_STYLES = {
    "brackets": (_BRACKETED, _numbered),
    "parentheses": (_PARENTHESISED, _numbered),
    "authors": (_AUTHORED, _by_author),
}


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
