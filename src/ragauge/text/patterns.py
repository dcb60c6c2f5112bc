"""Regular expressions shared by several modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragauge.host import LazyModule

if TYPE_CHECKING:
    import regex as regex
else:
    regex = LazyModule("regex")


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
