"""The exceptions of ragauge.

RagaugeError
├─ UsageError               a mistake of the caller, found before any judge is asked; exit code 2
│  ├─ UnknownName           no metric, judge, column or option of that name
│  ├─ BadParameter          a parameter outside its range
│  ├─ BadData               a file or value that cannot be read as samples
│  │  └─ BadRow             one row of it
│  ├─ MissingField          a metric asked for by name needs a field that no sample has
│  ├─ UnanswerableNeed      no available judge answers what a metric needs
│  └─ MissingExtra          an optional library is not installed
├─ StoreError               the store cannot be read or written
└─ RunFailed                every score of a run failed; exit code 1
"""

from __future__ import annotations

from collections.abc import Iterable
from copyreg import __newobj__  # type: ignore[attr-defined]
from difflib import get_close_matches
from typing import Any


class RagaugeError(Exception):
    """The base class of all errors that ragauge raises deliberately."""

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process the message and attributes are restored, whatever the constructor takes."""
        return __newobj__, (type(self), *self.args), vars(self)


class UsageError(RagaugeError):
    """A request of the caller cannot be carried out; the message says how to fix it."""


class UnknownName(UsageError):
    """An unknown name; up to three names are suggested.

    Args:
        what, name: the kind of thing, and the name that was given.
        known: all names of that kind.
        related: names to suggest besides those that are spelled alike, best first.
        listing: where all names are listed, for kinds of many names.
    """

    def __init__(
        self, what: str, name: str, known: Iterable[str], related: Iterable[str] = (), listing: str = ""
    ) -> None:
        names = sorted(known)
        close = list(dict.fromkeys([*get_close_matches(name, names, n=3), *related]))[:3]
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        known_names = f"known: {', '.join(names[:20]) or 'none'}{more}"
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else known_names
        super().__init__(f"unknown {what} {name!r}; {hint}{listing and f' {listing}'}")


class BadParameter(UsageError):
    """A parameter has the wrong type or lies outside its range."""


class BadData(UsageError):
    """The data cannot be read as samples; the message names the file and the fix."""


class BadRow(BadData):
    """One row cannot be read.

    Args:
        where: the file, or "data".
        row: the data row, from 1.
        column: the offending column, or None.
    """

    def __init__(self, where: str, row: int, column: str | None, problem: str, fix: str) -> None:
        self.where, self.row, self.column, self.problem, self.fix = where, row, column, problem, fix
        place = f"{where}, row {row}" + (f", column {column!r}" if column else "")
        super().__init__(f"{place}: {problem}; {fix}")


class MissingField(UsageError):
    """A metric asked for by name needs a field that no sample has."""


class UnanswerableNeed(UsageError):
    """A metric needs a kind of answer that the chosen judge cannot give."""


class MissingExtra(UsageError):
    """An optional library is missing; the message gives the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional library; install it with: pip install 'ragauge[{extra}]'")


class StoreError(RagaugeError):
    """The store cannot be opened, is newer than this version, or is damaged."""


class RunFailed(RagaugeError):
    """A run ended without a single score. run: the run, without a sample, where it had begun; else None."""

    run: Any = None
