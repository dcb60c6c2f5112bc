"""Rows of CSV and TSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from ragauge.errors import BadData
from ragauge.readers.values import Malformed

#: The csv module's limit is 128 KB a field, less than one long context. It is global to the process.
_LONGEST_FIELD = 2**31 - 1


def rows_of_table(lines: Iterable[str], name: str, delimiter: str | None = None) -> Iterator[Any]:
    """One mapping a row, every cell as text. The first row names the columns.

    delimiter: None takes the comma, semicolon or tab, whichever the header has most of.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    lines = iter(lines)
    first = next((line for line in lines if not line.isspace()), None)
    if first is None:
        return
    delimiter = delimiter or max(",;\t", key=first.count)
    reader = csv.reader(_again(first, lines), delimiter=delimiter, strict=True)
    header = _header(reader, name)
    while (cells := _next(reader)) is not None:
        if isinstance(cells, Malformed) or len(cells) == len(header):
            yield cells if isinstance(cells, Malformed) else dict(zip(header, cells, strict=True))
        elif cells:
            problem = f"{len(cells)} fields where the header has {len(header)} (line {reader.line_num})"
            yield Malformed(problem, 'put a field that holds a separator or a line break in double quotes ("...")')


def _again(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _header(reader: Any, name: str) -> list[str]:
    try:
        cells = next(reader)
    except csv.Error as error:
        raise BadData(f"{name}: the header is not CSV: {error}; name each column in the first row") from None
    return named_columns(cells, name)


def named_columns(cells: Iterable[str], name: str) -> list[str]:
    """The names in a table's first row, a number for those left blank. Raises BadData for one that stands twice."""
    header = [cell.strip() or f"column {position}" for position, cell in enumerate(cells, start=1)]
    if twice := sorted({column for column in header if header.count(column) > 1}):
        raise BadData(f"{name}: columns named twice: {', '.join(map(repr, twice))}; give each column its own name")
    return header


def _next(reader: Any) -> list[str] | Malformed | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        problem = f"line {reader.line_num} is not CSV: {error}"
        return Malformed(problem, 'write a double quote inside a quoted field twice ("")')
