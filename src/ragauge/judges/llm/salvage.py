"""Salvage: the JSON object in what a model wrote, whatever stands around it and however it ends."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from typing import Any

import msgspec

#: Stands in place of a value whose key occurs more than once in its object.
REPEATED = "(given more than once)"

_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'
_OPENING = re.compile(r'\{\s*"')
_MARK = re.compile(rf"{_STRING}|[{{}}\[\],]", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_TRIES = 50


def salvaged(text: str, keys: Collection[str]) -> dict[str, Any]:
    """The JSON object in a text that has most of these keys, the last of several; empty where none has any.

    Fences, prose, wrapping objects and trailing commas do not hide it, and what was thought aloud before the answer is
    left out. Of an object that the end of the text cuts off, the values that are whole are kept.
    """
    said = text if text.lstrip().startswith("{") else text.rpartition("</think>")[2]
    best: dict[str, Any] = {}
    most = 1
    start = 0
    for _ in range(_TRIES):
        opening = _OPENING.search(said, start)
        if opening is None:
            break
        written, end = _whole_part(said, opening.start())
        found = _decoded(written)
        hits = sum(key in found for key in keys)
        start = end if hits else opening.end()
        if hits >= most:
            best, most = found, hits
    return best


def _whole_part(text: str, start: int) -> tuple[str, int]:
    """The object that starts here, if it is cut off up to its last whole value; and where it ends."""
    depth, whole = 0, start + 1
    for found in _MARK.finditer(text, start):
        mark = found[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if not depth:
                return text[start : found.end()], found.end()
            if depth == 1:
                whole = found.end()
        elif mark == "," and depth == 1:
            whole = found.start()
    return text[start:whole] + "}", len(text)


def _decoded(written: str) -> dict[str, Any]:
    plain = _TRAILING_COMMA.sub(lambda found: found[1] or "", written)
    try:
        found: dict[str, Any] = _decoder.decode(plain)
        msgspec.json.encode(found)  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        return {}
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found.update((key, REPEATED) for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return found


_decoder = json.JSONDecoder(object_pairs_hook=_once, strict=False)
