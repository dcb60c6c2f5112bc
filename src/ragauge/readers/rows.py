"""One row, a mapping of columns to values, as a sample."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ragauge.errors import BadRow
from ragauge.readers.aliases import folded
from ragauge.readers.columns import Columns
from ragauge.readers.contexts import chunks, merged, named
from ragauge.readers.golden import claims, references
from ragauge.readers.values import Malformed, native, plain, text, text_or_none, truth
from ragauge.types import FIELDS, Chunk, Sample

Value = TypeVar("Value")


def sample(cells: Mapping[str, Any], columns: Columns, where: str, number: int) -> Sample:
    """The sample in a row. Raises BadRow, which names the column and the fix."""
    cells = columns.unfold(cells)
    row = _Row(where, number, cells, columns.serving(tuple(cells)), columns.delimiters)
    row.check()
    return Sample(
        id=row.value("id", text_or_none) or str(number),
        query=row.value("query", text_or_none),
        response=row.value("response", _response),
        contexts=row.chunks("contexts", "retrieved_context_ids"),
        references=row.value("references", partial(references, plural=row.is_plural("references"))),
        source=row.value("source", text_or_none),
        reference_contexts=row.chunks("reference_contexts", "reference_context_ids"),
        answers=row.value("answers", claims),
        answerable=row.value("answerable", truth),
        system=row.value("system", text_or_none),
        group=row.value("group", text_or_none),
        metadata=row.metadata(),
    )


@dataclass(frozen=True)
class _Row:
    where: str
    number: int
    cells: Mapping[str, Any]
    serving: Mapping[str, str]
    delimiters: Mapping[str, re.Pattern[str] | None]

    def check(self) -> None:
        if not self.serving.keys() & set(FIELDS):
            problem = f"no column of a known name among {', '.join(map(repr, self.cells)) or 'none'}"
            raise BadRow(self.where, self.number, None, problem, "name the right one, such as --map query=COLUMN")

    def value(self, field: str, convert: Callable[[Any], Value | None]) -> Value | None:
        """What the column of a field holds, or None where the row has no such column."""
        column = self.serving.get(field)
        if column is None:
            return None
        leave_out = f"; or leave the column out with map={{{field!r}: ''}} (--map {field}=)"
        return self._converted(column, convert, leave_out)

    def _converted(self, column: str, convert: Callable[[Any], Value], leave_out: str = "") -> Value:
        try:
            return convert(self.cells[column])
        except Malformed as error:
            raise BadRow(self.where, self.number, column, error.problem, error.fix + leave_out) from None

    def chunks(self, field: str, ids: str) -> tuple[Chunk, ...] | None:
        """The chunks of a field, under the ids that a column of their own may give."""
        delimiter = self.delimiters.get(self.serving.get(field, ""))
        found = self.value(field, partial(chunks, delimiter=delimiter))
        return found if not found else self.value(ids, partial(named, found)) or found

    def is_plural(self, field: str) -> bool:
        """Whether the name of a field's column promises several values."""
        return folded(self.serving.get(field, "")).endswith("s")

    def metadata(self) -> dict[str, Any]:
        """The metadata column and all columns that serve no field."""
        used = set(self.serving.values())
        rest = [column for column, value in self.cells.items() if column not in used and native(value) is not None]
        other = {column: self._converted(column, plain) for column in rest}
        return self.value("metadata", lambda given: merged(given, other)) or other


def _response(value: Any) -> str | None:
    """Unlike other fields, an empty response is present: the system answered nothing."""
    value = native(value)
    return None if value is None else text(value)
