"""Passages: long texts cut into pieces of about a hundred words, at the ends of sentences where there are any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

#: Words of a passage, as in the Wikipedia passages of DPR (Karpukhin et al., 2020).
WORDS = 100

#: Characters that count as a word where a script has no spaces between words.
_LONG_WORD = 10

_ENDS = re.compile(r"[.!?][\"')\]]*\s+|\n\s*\n|[。！？]")
_WORD = re.compile(r"\S{1,400}\s*")
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")


def passages(text: str, words: int = WORDS) -> list[str]:
    """The text in pieces of at most `words` words each, in order; together they hold all of it but white space.

    A piece ends with a sentence or a paragraph, unless a single sentence is too long. In scripts without spaces ten
    characters count as a word.
    """
    if _size(text) <= words:
        return [text.strip()] if text.strip() else []
    found: list[str] = []
    start, size = 0, 0
    for begin, end in _pieces(text, words):
        more = _size(text[begin:end])
        if size and size + more > words:
            found.append(text[start:begin].strip())
            start, size = begin, 0
        size += more
    found.append(text[start:].strip())
    return [passage for passage in found if passage]


def _pieces(text: str, words: int) -> Iterator[tuple[int, int]]:
    """Sentences; of a sentence that is too long, its words."""
    for begin, end in pairwise([0, *(found.end() for found in _ENDS.finditer(text)), len(text)]):
        if _size(text[begin:end]) <= words:
            yield begin, end
        else:
            yield from (word.span() for word in _WORD.finditer(text, begin, end))


def _size(text: str) -> int:
    return max(len(text.split()), len(text) // _LONG_WORD if len(text) > _LONG_WORD * (text.count(" ") + 1) else 0)


def sections(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """The title of a Markdown text, "" where it has none, and its sections: the heading of each and what stands below.

    The title is the first heading of the first level; what stands before any other heading is a section without one.
    """
    title, heading, fenced = "", "", False
    lines: list[str] = []
    found: list[tuple[str, str]] = []
    for line in markdown.splitlines(keepends=True):
        fenced ^= bool(_FENCE.match(line))
        mark = None if fenced else _HEADING.fullmatch(line.rstrip())
        if mark is None:
            lines.append(line)
            continue
        found.append((heading, "".join(lines)))
        lines.clear()
        is_title = mark[1] == "#" and not title
        title, heading = (mark[2], "") if is_title else (title, mark[2])
    return title, [(name, body) for name, body in [*found, (heading, "".join(lines))] if body.strip()]
