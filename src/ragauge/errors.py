"""What can go wrong, as types.

RagaugeError
├─ UsageError               the caller's mistake, found before any judge is asked; exit code 2
│  ├─ UnknownName           no metric, judge, column or option of that name
│  ├─ BadParameter          a parameter outside its range
│  ├─ BadData               a file or value that cannot be read as samples
│  │  └─ BadRow             one row of it
│  ├─ MissingField          a metric asked for by name needs a field that no sample has
│  ├─ UnanswerableNeed      no judge at hand answers what a metric must know
│  └─ MissingExtra          an optional library is not installed
├─ StoreError               the store cannot be read or written
└─ RunFailed                every score of a run failed; exit code 1
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RagaugeError(Exception):
    """The root of everything ragauge raises on purpose."""


class UsageError(RagaugeError):
    """Something the caller asked for cannot be done; the message says how to mend it."""


class UnknownName(UsageError):
    """A name that is not in the list of known names; close matches are suggested."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known: {', '.join(names)}"
        super().__init__(f"unknown {what} {name!r}; {hint}")


class BadParameter(UsageError):
    """A parameter has the wrong type or lies outside its range."""


class BadData(UsageError):
    """The data cannot be read as samples; the message names the file and the fix."""


class BadRow(BadData):
    """One row cannot be read.

    `where` is the file (or "data"), `row` counts data rows from 1, `column` is the offending column or None.
    """

    def __init__(self, where: str, row: int, column: str | None, problem: str, fix: str) -> None:
        self.where, self.row, self.column, self.problem, self.fix = where, row, column, problem, fix
        place = f"{where}, row {row}" + (f", column {column!r}" if column else "")
        super().__init__(f"{place}: {problem}; {fix}")

    def __reduce__(self) -> tuple[type[BadRow], tuple[object, ...]]:
        return BadRow, (self.where, self.row, self.column, self.problem, self.fix)


class MissingField(UsageError):
    """A metric asked for by name needs a field that no sample has."""


class UnanswerableNeed(UsageError):
    """A metric needs a kind of answer that the chosen judge cannot honestly give."""


class MissingExtra(UsageError):
    """An optional library is needed; the message gives the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional library; install it with: pip install 'ragauge[{extra}]'")


class StoreError(RagaugeError):
    """The store cannot be opened, is newer than this version, or is damaged."""


class RunFailed(RagaugeError):
    """A run ended without a single score."""
