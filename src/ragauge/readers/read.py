"""`read`: any data as samples, with what was understood of its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ragauge.errors import BadData, BadParameter, BadRow, MissingExtra
from ragauge.readers.columns import ColumnMapping, folded
from ragauge.readers.contexts import chunks_in, gold_claims, merged, named, references_in
from ragauge.readers.formats import BATCH, Source, file, rows_of_mapping, sized, standard_input
from ragauge.readers.values import Malformed, describe, native, plain, text, text_or_none, truth
from ragauge.types import FIELDS, Chunk, Sample


def frame(data: Any) -> Source | None:
    """The rows of a frame, or None for what is none. A lazy Polars frame is collected batch by batch."""
    import narwhals as nw

    name = type(data).__name__
    try:
        found = nw.from_native(data, pass_through=True)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError) as error:
        problem = " ".join(str(error).split())
        raise BadData(f"{name}: not a frame of rows ({problem}); give each column its own name") from None
    if isinstance(found, nw.DataFrame):
        return Source(sized(name, len(found)), partial(_eager, found))
    if isinstance(found, nw.LazyFrame):
        return Source(name, partial(_lazy, found))
    if hasattr(data, "__arrow_c_stream__"):
        return Source(name, partial(_stream, data), once=hasattr(data, "read_next_batch"))
    return Source(name, partial(_exchanged, data)) if hasattr(data, "__dataframe__") else None


def _eager(found: Any) -> Iterator[dict[str, Any]]:
    yield from found.iter_rows(named=True, buffer_size=BATCH)


def _lazy(found: Any) -> Iterator[dict[str, Any]]:
    native = found.to_native()
    if not hasattr(native, "collect_batches"):
        yield from _eager(found.collect())
        return
    for batch in native.collect_batches(chunk_size=BATCH, maintain_order=True):
        yield from batch.iter_rows(named=True)


def _stream(data: Any) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("reading an Arrow stream", "arrow") from None
    for batch in pyarrow.RecordBatchReader.from_stream(data):
        for start in range(0, batch.num_rows, BATCH):
            yield from batch.slice(start, BATCH).to_pylist()


def _exchanged(data: Any) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow.interchange import from_dataframe
    except ImportError:
        raise MissingExtra("reading a frame through the interchange protocol", "arrow") from None
    yield from from_dataframe(data).to_pylist()


def in_memory(data: Any) -> Source:
    """The rows of an object. Raises BadData for one that holds no rows."""
    if type(data).__module__.partition(".")[0] == "datasets":
        return _hugging_face(data)
    if isinstance(data, Mapping):
        return _sequence(rows_of_mapping(data, "dict"), "dict")
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _sequence(data, "list")
    if (rows := _rows_of_data_set(data)) is not None:
        return _sequence(rows, type(data).__name__)
    if (source := frame(data)) is not None:
        return source
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise BadData(f"{type(data).__name__}: not rows; give a path, a list of dicts, a frame or a data set")
    return Source(type(data).__name__, partial(iter, data), once=isinstance(data, Iterator))


def _sequence(rows: Sequence[Any], kind: str) -> Source:
    return Source(sized(kind, len(rows)), partial(iter, rows))


def _hugging_face(data: Any) -> Source:
    """A Dataset or IterableDataset, known by its module so that `datasets` is never imported here."""
    name = f"datasets.{type(data).__name__}"
    if isinstance(data, Mapping):
        splits = ", ".join(map(repr, data))
        raise BadData(f"{name}: holds the splits {splits}; give one of them, such as data[{next(iter(data), '')!r}]")
    return Source(name, partial(iter, data))


def _rows_of_data_set(data: Any) -> Sequence[Any] | None:
    """The rows of an evaluation data set of ragas (`samples`) or DeepEval (`test_cases`)."""
    for attribute in ("samples", "test_cases"):
        rows = getattr(data, attribute, None)
        if isinstance(rows, list | tuple):
            return rows
    return None


CellValue = TypeVar("CellValue")


def sample(cells: Mapping[str, Any], columns: ColumnMapping, where: str, number: int) -> Sample:
    """The sample in a row. Raises BadRow, which names the column and the fix."""
    cells = columns.unfold(cells)
    row = _SampleRow(where, number, cells, columns.serving(tuple(cells)), columns.delimiters)
    row.check()
    return Sample(
        id=row.value("id", text_or_none) or str(number),
        query=row.value("query", text_or_none),
        response=row.value("response", _response),
        contexts=row.chunks("contexts", "retrieved_context_ids"),
        references=row.value("references", partial(references_in, plural=row.is_plural("references"))),
        source=row.value("source", text_or_none),
        reference_contexts=row.chunks("reference_contexts", "reference_context_ids"),
        answers=row.value("answers", gold_claims),
        answerable=row.value("answerable", truth),
        system=row.value("system", text_or_none),
        group=row.value("group", text_or_none),
        metadata=row.metadata(),
    )


@dataclass(frozen=True)
class _SampleRow:
    where: str
    number: int
    cells: Mapping[str, Any]
    serving: Mapping[str, str]
    delimiters: Mapping[str, re.Pattern[str] | None]

    def check(self) -> None:
        if not self.serving.keys() & set(FIELDS):
            problem = f"no column of a known name among {', '.join(map(repr, self.cells)) or 'none'}"
            raise BadRow(self.where, self.number, None, problem, "name the right one, such as --map query=COLUMN")

    def value(self, field: str, convert: Callable[[Any], CellValue | None]) -> CellValue | None:
        """What the column of a field holds, or None where the row has no such column."""
        column = self.serving.get(field)
        if column is None:
            return None
        leave_out = f"; or leave the column out with map={{{field!r}: ''}} (--map {field}=)"
        return self._converted(column, convert, leave_out)

    def _converted(self, column: str, convert: Callable[[Any], CellValue], leave_out: str = "") -> CellValue:
        try:
            return convert(self.cells[column])
        except Malformed as error:
            raise BadRow(self.where, self.number, column, error.problem, error.fix + leave_out) from None

    def chunks(self, field: str, ids: str) -> tuple[Chunk, ...] | None:
        """The chunks of a field, under the ids that a column of their own may give."""
        delimiter = self.delimiters.get(self.serving.get(field, ""))
        found = self.value(field, partial(chunks_in, delimiter=delimiter))
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


#: Rows looked at before the first sample is made, to learn what the columns mean.
PEEKED = 100


def read(
    data: Any, *, map: Mapping[str, str] | None = None, skip_bad_rows: bool = False, limit: int | None = None
) -> SampleReader:
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
    if isinstance(data, SampleReader) and not map and not skip_bad_rows and limit is None:
        return data
    return SampleReader(source(data), map or {}, skip_bad_rows, limit)


def source(data: Any) -> Source:
    """Where the rows of any data come from, whatever their columns mean. Raises as `read` does."""
    if isinstance(data, str) and data == "-":
        return standard_input()
    return file(Path(data)) if isinstance(data, str | Path) else in_memory(data)


class SampleReader:
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
        self._columns = ColumnMapping(self.name, map, list(_mappings(peeked)))
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
