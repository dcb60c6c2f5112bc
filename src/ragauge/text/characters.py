"""Character classes for regular expressions that the standard library's `re` cannot name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from unicodedata import category

_ASSIGNED = ((0, 0x34000), (0xE0100, 0xE01F0))  # beyond these lie only private, unassigned and format characters


def characters(*categories: str) -> Iterator[str]:
    """All characters whose Unicode category begins with one of these, such as "M" or "Nd", in order."""
    everything = map(chr, chain.from_iterable(range(*block) for block in _ASSIGNED))
    return (char for char in everything if category(char).startswith(categories))


@cache
def category_class(*categories: str) -> str:
    """Those characters as ranges, ready to stand between the brackets of a character class."""
    ranges: list[list[str]] = []
    for char in characters(*categories):
        if ranges and ord(char) == ord(ranges[-1][1]) + 1:
            ranges[-1][1] = char
        else:
            ranges.append([char, char])
    return "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges)
