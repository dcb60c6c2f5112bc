"""`read`: any data as samples, with what was understood of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from ragauge.errors import BadData, BadParameter, BadRow
from ragauge.readers.columns import Columns
from ragauge.readers.files import file, standard_input
from ragauge.readers.objects import in_memory
from ragauge.readers.rows import sample
from ragauge.readers.sources import Source
from ragauge.readers.values import Malformed, describe
from ragauge.types import Sample

#: Rows looked at before the first sample is made, to learn what the columns mean.
PEEKED = 100


def read(
    data: Any, *, map: Mapping[str, str] | None = None, skip_bad_rows: bool = False, limit: int | None = None
) -> Reading:
    """Samples from a file, a frame, a data set or plain rows.

    data: a path (.jsonl .ndjson .json .csv .tsv .txt, each also with .gz; .parquet .arrow .feather .xlsx), "-" for
        JSON Lines on standard input, a list or generator of dicts or Samples, a dict of columns, a pandas, Polars or
        PyArrow frame, a Hugging Face data set, an evaluation data set of ragas or DeepEval. A reading is given back.
    map: field -> column, where the names in docs/data.md do not fit; "" keeps a field empty.
    skip_bad_rows: go on after a row that cannot be read, and keep the error in `Reading.bad_rows`.
    limit: read at most so many rows, 1 or more.

    Raises BadData where the data cannot be opened or has no rows or no known column, UnknownName for a field or
    column in `map` that does not exist, MissingExtra without the library a format needs, BadParameter for `limit`.
    Iterating raises BadRow at the first row that cannot be read, unless told to skip.
    """
    if limit is not None and limit < 1:
        raise BadParameter(f"limit is {limit}; give 1 or more, or None for all rows")
    if isinstance(data, Reading) and not map and not skip_bad_rows and limit is None:
        return data
    return Reading(source(data), map or {}, skip_bad_rows, limit)


def source(data: Any) -> Source:
    """Where the rows of any data come from, whatever their columns mean. Raises as `read` does."""
    if isinstance(data, str) and data == "-":
        return standard_input()
    return file(Path(data)) if isinstance(data, str | Path) else in_memory(data)


class Reading:
    """Samples, read one by one as they are asked for. Each `iter` starts anew, unless the data can be read only once.

    name: what was read, for people: a path, or "list of 3 rows".
    bad_rows: the errors of the rows skipped so far, by the latest iteration.
    """

    def __init__(self, source: Source, map: Mapping[str, str], skip_bad_rows: bool, limit: int | None) -> None:
        self.name = source.name
        self.bad_rows: list[BadRow] = []
        self._source, self._skip_bad_rows, self._limit = source, skip_bad_rows, limit
        rows = islice(source.rows(), limit)
        peeked = list(islice(rows, PEEKED))
        if not peeked:
            raise BadData(f"{self.name}: no rows; write one sample a row")
        self._columns = Columns(self.name, map, list(_mappings(peeked)))
        self._opened: Iterator[Any] | None = chain(peeked, rows)

    @property
    def columns(self) -> dict[str, str]:
        """Field -> the column that serves it, as learnt from the first rows and those read since."""
        return self._columns.by_field

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns seen so far that serve no field; `Sample.metadata` keeps their values."""
        return self._columns.unused

    def __iter__(self) -> Iterator[Sample]:
        self.bad_rows = []
        ids = _Ids(self.name)
        for number, row in enumerate(self._rows(), start=1):
            try:
                found = self._sample(row, number)
                if isinstance(row, Sample) or "id" in self.columns:
                    ids.check(found.id, number, self.columns.get("id"))
                else:
                    ids.numbered = number
                yield found
            except BadRow as error:
                if not self._skip_bad_rows:
                    raise
                self.bad_rows.append(error)

    def _rows(self) -> Iterator[Any]:
        rows, self._opened = self._opened, None
        if rows is None and self._source.once:
            raise BadData(f"{self.name}: can be read only once; put its rows in a list to read them again")
        return rows or islice(self._source.rows(), self._limit)

    def _sample(self, row: Any, number: int) -> Sample:
        if isinstance(row, Sample):
            return _writable(row, self.name, number)
        if isinstance(row, Malformed):
            raise BadRow(self.name, number, None, row.problem, row.fix)
        fields = as_mapping(row)
        if fields is None:
            raise BadRow(self.name, number, None, f"{describe(row)}, not an object", "give each row as a dict")
        return sample(fields, self._columns, self.name, number)


def _writable(row: Sample, where: str, number: int) -> Sample:
    """The sample itself, if JSON can hold it. Raises BadRow otherwise."""
    try:
        msgspec.json.encode(row)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        fix = "give texts as plain strings, and in metadata only what JSON can hold"
        raise BadRow(where, number, None, f"the sample cannot be kept: {error}", fix) from error
    return row


class _Ids:
    """Finds the row that repeats an id, in memory of about 140 bytes a row, and none for rows without ids.

    numbered: how many rows at the beginning have their number for an id.
    """

    def __init__(self, where: str) -> None:
        self.numbered = 0
        self._where = where
        self._rows: dict[int, int] = {}

    def check(self, id: str, number: int, column: str | None) -> None:
        self._rows = self._rows or {hash(str(earlier)): earlier for earlier in range(1, self.numbered + 1)}
        first = self._rows.setdefault(hash(id), number)
        if first != number:
            fix = "make ids unique, name another column with map={'id': COLUMN} (--map id=COLUMN), or number the rows "
            fix += "with map={'id': ''} (--map id=)"
            raise BadRow(self._where, number, column, f"id {id!r} was given to row {first} already", fix)


def _mappings(rows: list[Any]) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        if not isinstance(row, Sample | Malformed) and (fields := as_mapping(row)) is not None:
            yield fields


def as_mapping(row: Any) -> Mapping[str, Any] | None:
    """A row as a mapping from names of columns: pydantic models and dataclasses (ragas, DeepEval) by their fields."""
    if isinstance(row, Mapping):
        return row if all(isinstance(key, str) for key in row) else {str(key): cell for key, cell in row.items()}
    if hasattr(row, "model_dump"):
        return dict(row.model_dump())
    if hasattr(row, "__dataclass_fields__") and not isinstance(row, type):
        return dict(vars(row))
    return None
