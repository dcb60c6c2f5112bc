"""Citation marks: the bracketed numbers by which a text points at what it was given."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from ragauge.nouns.statements import Span

_NUMBERS = r"\^?\d{1,3}(?:\s?[,;–—-]\s?\^?\d{1,3})*"
MARK = rf"\[{_NUMBERS}\](?:\(https?://[^\s()]*\))?|【\d[^】\n]{{0,30}}】"
_CODE = r"```.*?```|`[^`\n]*`"
_MARK_OR_CODE = re.compile(rf"{_CODE}|(?P<mark>{MARK})", re.DOTALL)


def citation_marks(text: str) -> list[Span]:
    """The citation marks of a text, in order: [1], each of [1][2], [1, 2], [1-3], [^1], 【1】.

    A number linked to an address, [1](https://...), is one mark with its address. Numbers of four digits are years,
    and brackets inside code are indices; neither is a mark.
    """
    return [found.span() for found in _MARK_OR_CODE.finditer(text) if found["mark"]]


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
