"""Sections that users add to reports: each is a registered function of a run, whose table all forms show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import isfinite
from numbers import Integral, Real
from typing import Any, TypeVar

import msgspec

from ragauge.errors import UsageError
from ragauge.host import installed
from ragauge.report.explain import chooser, compared_metrics, slice_comparisons
from ragauge.report.wording import arrow, counted, number, with_interval
from ragauge.scores import RunRecord

#: The content of a cell; None without a value.
Cell = str | int | float | None

#: Gives the rows of a section, each as column -> cell, from a `ragauge.Run`.
SectionFunction = Callable[[Any], Iterable[Mapping[str, Any]]]

SectionFunctionT = TypeVar("SectionFunctionT", bound=SectionFunction)

#: The functions by title, in the order in which their sections are shown.
SECTIONS: dict[str, SectionFunction] = {}

#: The group of entry points under which an installed package names modules that register sections.
ENTRY_POINTS = "ragauge.report_sections"

#: How many rows of a section a terminal and Markdown show.
SHOWN_ROWS = 50


class Section(msgspec.Struct, frozen=True):
    """A section of a report. description: one line below the title, which may be empty. rows: one cell per column."""

    title: str
    description: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def shown_rows(self) -> list[list[str]]:
        """The rows that a terminal and Markdown show, each cell as text."""
        return [[cell_text(cell) for cell in row] for row in self.rows[:SHOWN_ROWS]]

    @property
    def note(self) -> str:
        """The number of rows that `shown_rows` leaves out; empty if it shows all."""
        hidden = len(self.rows) - SHOWN_ROWS
        return f"{hidden} more rows are not shown." if hidden > 0 else ""


def report_section(title: str) -> Callable[[SectionFunctionT], SectionFunctionT]:
    """Register a function whose table is shown in every report of a run.

        @rg.report.report_section("Response length by group")
        def lengths(run):
            \"\"\"Mean number of characters.\"\"\"
            return [{"group": "a", "characters": 120.5}]

    The section appears in the terminal, in notebooks, in Markdown, on the HTML page and, under the key `sections`, in
    the JSON document. The first line of the function's docstring is shown below the title. The function is called each
    time a report is made; a section without rows is left out, and one that raises an exception shows the error instead.

    Args:
        title: The heading. A later function with the same title replaces the earlier one.

    Returns:
        A decorator for a function of a `Run` that returns an iterable of rows, each a mapping from column to cell. The
        columns are those of all rows, in order of first occurrence. Numbers stay numbers; NaN, infinities and missing
        cells become None; everything else becomes text.

    Raises:
        UsageError: The title is empty.
    """
    if not title.strip():
        raise UsageError("a section needs a title: @report_section('Response length by group')")

    def register(function: SectionFunctionT) -> SectionFunctionT:
        SECTIONS[title] = function
        return function

    return register


def sections_of(run: Any) -> tuple[Section, ...]:
    """The registered sections of a `ragauge.Run` that have rows, or an error to show."""
    faults = _load_entry_points()
    made = (_section(title, function, run) for title, function in list(SECTIONS.items()))
    return (*faults, *(section for section in made if section is not None))


#: How many metrics the table of slices has columns for, where none were named.
SLICE_METRICS = 3


def slice_section(run: RunRecord, column: str) -> Section:
    """The slices of a run by one column, the worst first."""
    slices = run.slices[column]
    first = [name for name in dict.fromkeys([chooser(run), *compared_metrics(run)]) if name]
    keys = [name for name in first if all(name in part.estimates for part in slices)]
    keys = keys if run.named else keys[:SLICE_METRICS]
    rows: list[tuple[Cell, ...]] = []
    for part in slices:
        estimates = {metric: part.estimates[metric] for metric in keys}
        cells = [
            with_interval(estimate)
            + (f", n {estimate.n}" if 0 < estimate.n < part.samples else "")
            + (" ▼" if metric in part.worse else "")
            for metric, estimate in estimates.items()
        ]
        also = ", ".join(metric for metric in part.worse if metric not in keys)
        rows.append((part.value, part.samples, *cells, also))
    heads = (column, "samples", *(f"{metric} {arrow(run.estimates[metric].better)}" for metric in keys))
    marked = "▼" if any(part.worse for part in slices) else "None"
    tests = slice_comparisons(run, len(slices))
    about = (
        f"The worst first; intervals are of each slice by itself. {marked} is shown to be worse than all other samples "
        f"together (5 % over {counted(tests, 'comparison')}, Bonferroni)."
    )
    if not tests:
        about = "All samples are in this slice, so that there are no others to compare it with."
    heads = (*heads, "also worse") if any(row[-1] for row in rows) else heads
    return Section(f"By {column}", about, heads, tuple(row[: len(heads)] for row in rows))


def _section(title: str, function: SectionFunction, run: Any) -> Section | None:
    try:
        rows = [dict(row) for row in function(run)]
    except Exception as error:
        return _failed(title, error)
    columns = tuple(dict.fromkeys(str(column) for row in rows for column in row))
    description = next(iter((function.__doc__ or "").strip().splitlines()), "").strip()
    cells = tuple(tuple(_cell(row.get(column)) for column in columns) for row in rows)
    return Section(title, description, columns, cells) if columns else None


def _failed(title: str, error: Exception) -> Section:
    return Section(title, f"This section failed: {type(error).__name__}: {error}", (), ())


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, bool | str):
        return None if value is None else str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else None
    return str(value)


def cell_text(cell: Cell) -> str:
    """A cell for people: three decimals for a number that is not whole, a dash for None."""
    return number(cell) if cell is None or isinstance(cell, float) else str(cell)


@cache
def _load_entry_points() -> tuple[Section, ...]:
    """Import the modules that installed packages name; a section with the error for each that cannot be imported."""
    faults = []
    for entry_point in installed(ENTRY_POINTS):
        try:
            entry_point.load()
        except Exception as error:
            faults.append(_failed(entry_point.name, error))
    return tuple(faults)
