"""Salvage: the JSON object in what a model wrote, whatever stands around it and however it ends."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Set
from typing import Any

import msgspec

#: Stands in place of a value whose key occurs more than once in its object.
REPEATED = "(given more than once)"

_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'
_OPENING = re.compile(r'\{\s*"')
_MARK = re.compile(rf"{_STRING}|[{{}}\[\],]", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)

#: Objects without any of the keys that are looked at.
_TRIES = 50


def salvaged(text: str, keys: Collection[str]) -> dict[str, Any]:
    """The JSON object in a text that has most of these keys; empty where none has any.

    Fences, prose, wrapping objects and trailing commas do not hide it, and what was thought aloud before the answer is
    left out. Of an object that the end of the text cuts off, the values that are whole are kept. Where several objects
    have as many of the keys, a value in which they differ is REPEATED: which one is meant cannot be known.
    """
    said = text if text.lstrip().startswith("{") else text.rpartition("</think>")[2]
    objects = _objects(said, set(keys))
    most = max((len(found.keys() & keys) for found in objects), default=0)
    first, *others = [found for found in objects if len(found.keys() & keys) == most] or [{}]
    disputed = [key for other in others for key in keys if other.get(key) != first.get(key)]
    return {**first, **dict.fromkeys(disputed, REPEATED)}


def _objects(text: str, keys: Set[str]) -> list[dict[str, Any]]:
    """The outermost objects of a text that have any of these keys; none where there are too many others to look at."""
    objects: list[dict[str, Any]] = []
    start = tries = 0
    while opening := _OPENING.search(text, start):
        written, end = _whole_part(text, opening.start())
        found = _decoded(written)
        start = opening.end()
        if found.keys() & keys:
            objects.append(found)
            start = end
        elif (tries := tries + 1) == _TRIES:
            return []
    return objects


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
