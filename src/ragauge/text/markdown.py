"""Markdown blocks, line by line: headings, list items, table rows, code and paragraphs.

Line breaks end a sentence in lists and tables, but not in a wrapped paragraph. This is not a full parser: nesting,
reference links and HTML stay text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from ragauge.text.citations import MARK
from ragauge.text.patterns import GERMAN_MONTHS, any_of

#: A "header" is the first row of a table, a "row" any other; a "ruler" is a line of dashes, "code" a fenced block.
Kind = Literal["prose", "item", "heading", "header", "row", "ruler", "code"]


class Block(NamedTuple):
    """A Markdown block. body: where its text starts, after the marker ("- ", "## ", "> ")."""

    kind: Kind
    start: int
    body: int
    end: int


_LINE = re.compile(r"\S[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*")
_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_FENCE = re.compile(r"(?:```+|~~~+)[^`]*")
_FENCE_END = re.compile(r"```+|~~~+")
_HEADING = re.compile(r"#{1,6}[ \t]+(?=\S)")
_BOLD_LINE = re.compile(r"(\*\*|__)[^*_]{1,100}[^*_.!?]\1:?")
_ITEM = re.compile(
    rf"""(?:>[ \t]*)*
    (?: [-*+•‣◦▪●○–—·] (?:[ \t]+\[[ xX]\])? [ \t]+
      | [•‣◦▪●] (?=\w)
      | \(?\d{{1,3}}[.)] [ \t]+ (?!{any_of(GERMAN_MONTHS)}\b)
      | \(?[a-z]\) [ \t]+
    ) (?=\S)""",
    re.VERBOSE,
)
_QUOTE = re.compile(r"(?:>[ \t]*)+(?=\S)")
_STROKES = frozenset("-*_=|+:")
_ONLY_MARKS = re.compile(rf"(?:(?:{MARK})[\s.,]*)+")

_FIRST_BULLET = re.compile(r":\s+[*•+-]\s+(?=\S)")
_LATER_BULLET = re.compile(r"\s(?=[*•+]\s+\S)|(?<=[.;:,])\s+(?=-\s+\S)")
_ROUND_BULLET = re.compile(r"\s(?=[•‣▪●]\s*\w)")
_FIRST_NUMBER = re.compile(r":\s+(?P<number>\(?1[.)])\s+(?=\S)")

_WRAPPED_CHARS_BEFORE_SMALL_LETTER = 40
_WRAPPED_CHARS = 60
_LEFT_OPEN = re.compile(r"(?:[,(]|\b(?:and|or|the|an?|of|to|in|for|with|by|that|which|und|oder|y|et))\Z")


def blocks(text: str) -> list[Block]:
    """The blocks of a text in order; together they cover every non-whitespace character.

    A paragraph or item wrapped over several lines is one block. A list within a line ("such as: * One * Two",
    "these: 1. One 2. Two") becomes items. A fence that is never closed is a ruler.
    """
    merged: list[Block] = []
    for block in _line_blocks(text):
        if merged and _continues_block(text, merged[-1], block):
            merged[-1] = merged[-1]._replace(end=block.end)
            continue
        above = [preceding.kind for preceding in merged[-2:]]
        if block.kind == "ruler" and above and above[-1] == "row" and not {*above[:-1]} & {"row", "ruler"}:
            merged[-1] = merged[-1]._replace(kind="header")
        merged.append(block)
    return [part for block in merged for part in _split_inline_list(text, block)]


def _line_blocks(text: str) -> Iterator[Block]:
    lines = [(match.start(), match.start() + len(match[0].rstrip())) for match in _LINE.finditer(text)]
    ends = [i for i, (start, end) in enumerate(lines) if _FENCE_END.fullmatch(text, start, end)]
    ends.reverse()
    i = 0
    while i < len(lines):
        start, end = lines[i]
        i += 1
        if not _FENCE.fullmatch(text, start, end):
            yield _line_block(text, start, end)
            continue
        while ends and ends[-1] < i:
            ends.pop()
        if ends:
            end = lines[ends[-1]][1]
            i = ends.pop() + 1
            yield Block("code", start, start, end)
        else:
            yield Block("ruler", start, start, end)


def _line_block(text: str, start: int, end: int) -> Block:
    if _is_ruler(text[start:end]):
        return Block("ruler", start, start, end)
    if text[start] == "|" and text.find("|", start + 1, end) > 0:
        return Block("row", start, start, end)
    if _BOLD_LINE.fullmatch(text, start, end):
        return Block("heading", start, start, end)
    if heading := _HEADING.match(text, start, end):
        return Block("heading", start, heading.end(), end)
    if item := _ITEM.match(text, start, end):
        return Block("item", start, item.end(), end)
    quote = _QUOTE.match(text, start, end)
    return Block("prose", start, quote.end() if quote else start, end)


def _is_ruler(line: str) -> bool:
    strokes = "".join(line.split()) if line[0] in _STROKES else ""
    kinds = set(strokes)
    table = "-" in kinds and kinds <= set("|+:-")
    return len(strokes) >= 3 and kinds <= _STROKES and (len(kinds) == 1 or table)


def _continues_block(text: str, last: Block, block: Block) -> bool:
    """Whether this line continues the sentence of the previous block."""
    if block.kind != "prose" or last.kind not in ("prose", "item") or block.body > block.start:
        return False
    if len(_BREAK.findall(text, last.end, block.start)) > 1:
        return False
    if _ONLY_MARKS.fullmatch(text, block.start, block.end):
        return True
    line_above = _BREAK.split(text[max(last.body, last.end - 200) : last.end])[-1]
    if line_above[-1] in ".!?:;…。！？":
        return False
    if _LEFT_OPEN.search(line_above):
        return True
    first = text[block.start]
    if first.islower():
        return len(line_above) >= _WRAPPED_CHARS_BEFORE_SMALL_LETTER
    return len(line_above) >= _WRAPPED_CHARS and (first.isalnum() or first in "\"'“‘(")


def _split_inline_list(text: str, block: Block) -> Iterator[Block]:
    """The block, or the items of the list that it contains without line breaks."""
    kind, start, body, end = block
    for cut in _item_starts(text[body:end]) if kind in ("prose", "item") else ():
        cut += block.body
        if cut <= body:
            continue
        yield Block(kind, start, body, body + len(text[body:cut].rstrip()))
        marker = _ITEM.match(text, cut, end)
        kind, start, body = "item", cut, marker.end() if marker else cut
    yield Block(kind, start, body, end)


def _item_starts(content: str) -> list[int]:
    """Where the items of an inline list start: after a colon and a bullet, at round bullets, at 1., 2., 3. in order."""
    cuts = set() if content.isascii() else {match.end() for match in _ROUND_BULLET.finditer(content)}
    if bullet := _FIRST_BULLET.search(content):
        cuts |= {match.end() for match in _LATER_BULLET.finditer(content, bullet.start())}
        cuts.add(bullet.start() + len(bullet[0]) - len(bullet[0][1:].lstrip()))
    if number := _FIRST_NUMBER.search(content):
        cuts.update(_numbered_starts(content, number.start("number"), number["number"]))
    return sorted(cuts)


def _numbered_starts(content: str, first: int, mark: str) -> list[int]:
    """The offsets of "1. ", "2. " and so on; empty if there is only the first."""
    cuts = [first]
    while True:
        following = content.find(f" {mark.replace('1', str(len(cuts) + 1))} ", cuts[-1])
        if following < 0:
            return cuts if len(cuts) > 1 else []
        cuts.append(following + 1)
