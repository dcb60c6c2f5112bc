"""A peer's scores as they stand in its files: rows of numbers under names, with what tells which sample they are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec

from ragauge.errors import BadData, BadRow, UnknownName
from ragauge.readers.columns import rank, unfolded
from ragauge.readers.contexts import TEXT_KEYS
from ragauge.readers.read import as_mapping, source
from ragauge.readers.values import Malformed, describe, native, text_or_none

#: What tells which sample a row is of.
NAMING = ("id", "query", "response")


class Named(msgspec.Struct, frozen=True):
    """What tells a row or sample from the others. id: its own, or its number counted from 1."""

    id: str
    query: str | None
    response: str | None


class Line(Named, frozen=True):
    """One row of scores. cells: all its columns."""

    cells: Mapping[str, Any]


class Sheet(msgspec.Struct, frozen=True):
    """The rows of a peer's scores. name: of the file, for people. numbered: they have no ids but their numbers."""

    name: str
    lines: tuple[Line, ...]
    numbered: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order in which they first occur."""
        return tuple(dict.fromkeys(column for line in self.lines for column in line.cells))

    def is_scored(self, column: str) -> bool:
        """Whether a column holds a number anywhere."""
        return any(number_in(line.cells.get(column)) is not None for line in self.lines)


def read_sheet(scores: Any, map: Mapping[str, str]) -> Sheet:
    """The rows of any file or object that `ragauge.read` takes; nothing but the peer's numbers need be in them.

    map: field -> column, for id, query and response. Raises BadData, BadRow, or UnknownName for such a column.
    """
    if isinstance(scores, Sheet):
        return scores
    found = source(scores)
    rows = [_cells(row, found.name, number) for number, row in enumerate(found.rows(), start=1)]
    columns = dict.fromkeys(column for row in rows for column in row)
    serving = {field: _serving(field, columns, map) for field in NAMING}
    lines = tuple(_line(row, number, serving) for number, row in enumerate(rows, start=1))
    if not lines:
        raise BadData(f"{found.name}: no rows of scores")
    return Sheet(found.name, lines, serving["id"] is None)


def _cells(row: Any, where: str, number: int) -> Mapping[str, Any]:
    if isinstance(row, Malformed):
        raise BadRow(where, number, None, row.problem, row.fix)
    fields = as_mapping(row)
    if fields is None:
        raise BadRow(where, number, None, f"{describe(row)}, not an object", "give each row as a dict")
    return dict(pair for column, cell in unfolded(fields).items() for pair in _scores(column, cell))


def _scores(column: str, cell: Any) -> Iterator[tuple[str, Any]]:
    """The scores in a cell under their names: Valor and DeepEval keep lists of objects of a name and a value."""
    cell = native(cell)
    items = cell if isinstance(cell, list) else [cell]
    if not items or not all(map(_is_score, items)):
        yield column, cell
        return
    for item in items:
        name = str(item.get("name") or item.get("type"))
        kind = (item.get("parameters") or {}).get("rouge_type", "")
        yield column if name == "Error" else f"{name} {kind}".strip(), item.get("score", item.get("value"))


def _is_score(item: Any) -> bool:
    named = isinstance(item, Mapping) and {"name", "type"} & item.keys() and {"score", "value"} & item.keys()
    return bool(named) and item.keys().isdisjoint(TEXT_KEYS)


def _serving(field: str, columns: Mapping[str, Any], map: Mapping[str, str]) -> str | None:
    """The column that holds a field: the one the caller names, else the best of the known names."""
    if field in map:
        if map[field] and map[field] not in columns:
            raise UnknownName("column", map[field], columns)
        return map[field] or None
    fits = [(place, column) for column in columns if (place := rank(field, column)) is not None]
    return min(fits)[1] if fits else None


def _line(row: Mapping[str, Any], number: int, serving: Mapping[str, str | None]) -> Line:
    id, query, response = (_text(row.get(column)) if (column := serving[field]) else None for field in NAMING)
    return Line(id or str(number), query, response, row)


def _text(cell: Any) -> str | None:
    try:
        return text_or_none(cell)
    except Malformed:
        return None


def number_in(cell: Any) -> float | None:
    """The number in a cell, also where it is written as text; None for NaN, infinities and whatever is no number."""
    cell = native(cell)
    try:
        value = float(cell) if isinstance(cell, str | int | float) else None
    except ValueError:
        return None
    return value if value is not None and isfinite(value) else None
