"""Regular expressions shared by several modules."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING
from unicodedata import category

from ragauge.host import LazyModule

if TYPE_CHECKING:
    import regex
else:
    regex = LazyModule("regex")

_ASSIGNED = ((0, 0x34000), (0xE0100, 0xE01F0))  # beyond these lie only private, unassigned and format characters


@cache
def category_class(*categories: str) -> str:
    """The characters whose Unicode category starts with one of these, as ranges for use inside a character class."""
    ranges: list[list[str]] = []
    for char in map(chr, chain.from_iterable(range(*block) for block in _ASSIGNED)):
        if not category(char).startswith(categories):
            continue
        if ranges and ord(char) == ord(ranges[-1][1]) + 1:
            ranges[-1][1] = char
        else:
            ranges.append([char, char])
    return "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges)


def any_of(listed: str) -> str:
    """A pattern for any of the whitespace-separated words; an underscore stands for a space within a word."""
    return "(?:" + "|".join(word.replace("_", " ") for word in listed.split()) + ")"


def phrases(*patterns: str) -> str:
    """A pattern for any of the patterns."""
    return "(?:" + "|".join(patterns) + ")"


#: A fenced block or a span in backticks; to be compiled with re.DOTALL.
CODE = r"```.*?```|`[^`\n]*`"


#: The months, as `any_of` takes them.
GERMAN_MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"

#: Seconds that a regular expression may take on a text.
SEARCH_SECONDS = 2.0


def bounded_search(pattern: str, text: str) -> regex.Match[str] | None:
    """The first match of a regular expression in a text. Raises ValueError where looking for it takes too long."""
    try:
        return regex.search(pattern, text, timeout=SEARCH_SECONDS)
    except TimeoutError as error:
        seconds = f"{SEARCH_SECONDS:g} s on {len(text)} characters"
        raise ValueError(f"{pattern!r} takes more than {seconds}; repeat nothing that is repeated within") from error


def check_pattern(pattern: str) -> None:
    """Raise ValueError for a text that is no regular expression."""
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(
            f"{pattern!r} is no regular expression: {error}; a backslash before a sign takes it as it is"
        ) from error
