"""`read`: data of any form as samples, and the meaning of its columns; `join`: the responses to a benchmark."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData, BadParameter, BadRow
from ragauge.readers import conversations, exports, values
from ragauge.readers.budget import ReadingLimits, default_limits
from ragauge.readers.columns import HISTORIES, IDS_OF, MEASURED, ColumnMapping, folded
from ragauge.readers.conversations import Per
from ragauge.readers.formats import BATCH, STANDARD_INPUT, Source, TextRow, file_source, mapping_rows, pyarrow_for
from ragauge.text.citations import cites_otherwise
from ragauge.types import Chunk, Sample, Turn


def frame(data: Any) -> Source | None:
    """The rows of a frame, or None where the data are not a frame. A lazy Polars frame is collected batch by batch."""
    import narwhals as nw

    name = type(data).__name__
    try:
        native = nw.from_native(data, pass_through=True)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError) as error:
        problem = " ".join(str(error).split())
        raise BadData(f"{name}: not a frame of rows ({problem}); give each column its own name") from None
    if isinstance(native, nw.DataFrame):
        rows = partial(native.iter_rows, named=True, buffer_size=BATCH)
        return Source(_sized(name, len(native)), rows, is_table=True, index=nw.maybe_get_index(native))
    if isinstance(native, nw.LazyFrame):
        return Source(name, partial(_lazy, native), is_table=True)
    if hasattr(data, "__arrow_c_stream__"):
        return Source(name, partial(_stream, data), once=hasattr(data, "read_next_batch"), is_table=True)
    return None


def _lazy(frame: Any) -> Iterator[dict[str, Any]]:
    lazy = frame.to_native()
    if not hasattr(lazy, "collect_batches"):
        yield from frame.collect().iter_rows(named=True, buffer_size=BATCH)
        return
    for batch in lazy.collect_batches(chunk_size=BATCH, maintain_order=True):
        yield from batch.iter_rows(named=True)


def _stream(data: Any) -> Iterator[dict[str, Any]]:
    arrow = pyarrow_for("reading an Arrow stream")
    try:
        reader = arrow.RecordBatchReader.from_stream(data)
    except arrow.ArrowInvalid:  # of a single column
        raise BadData(f"{type(data).__name__}: not rows; give a frame of named columns") from None
    for batch in reader:
        for start in range(0, batch.num_rows, BATCH):
            yield from batch.slice(start, BATCH).to_pylist()


def _sized(kind: str, rows: int) -> str:
    return f"{kind} of {rows} row{'' if rows == 1 else 's'}"


def in_memory(data: Any) -> Source:
    """The rows of an object in memory. Raises BadData where it has no rows."""
    name = type(data).__name__
    if type(data).__module__.partition(".")[0] == "datasets":
        return _hugging_face_source(data)
    listed: Any
    if isinstance(data, Sequence) and not isinstance(data, bytes):
        name, listed = "list", data
    elif isinstance(data, Mapping):
        name, listed = "dict", mapping_rows(data, "dict")
    else:  # an evaluation data set of ragas or DeepEval
        attributes = (getattr(data, attribute, None) for attribute in ("samples", "test_cases"))
        listed = next((rows for rows in attributes if isinstance(rows, list | tuple)), None)
    if listed is not None:
        return Source(_sized(name, len(listed)), partial(iter, listed))
    if (source := frame(data)) is not None:
        return source
    if not isinstance(data, Iterable) or isinstance(data, bytes):
        raise BadData(f"{name}: not rows; give a path, a list of dicts, a frame or a data set")
    return Source(name, partial(iter, data), once=isinstance(data, Iterator))


def _hugging_face_source(data: Any) -> Source:
    """A Dataset or IterableDataset, known by its module so that `datasets` is never imported here."""
    name = f"datasets.{type(data).__name__}"
    if isinstance(data, Mapping):
        splits = ", ".join(map(repr, data))
        raise BadData(f"{name}: holds the splits {splits}; give one of them, such as data[{next(iter(data), '')!r}]")
    formatted = getattr(data, "format", None) or {}
    rows = data if formatted.get("type") == "custom" else data.with_format(None)
    return Source(name, partial(iter, rows), is_table=True)


#: What stands between chunks that were joined: bars, a line of hyphens, a number after an empty line.
_SEVERAL_CHUNKS = re.compile(r"\|\|\||\n-{3,}\n|\n[ \t]*\n[\[(]?2[\].)]\s")


#: Fields that may be within a conversation.
_OF_CHATS = ("query", "response", "contexts", "references", "turns", "tool_calls")


class _Row:
    """The cells of a row, and the conversations in them. columns: field -> column. Raises BadRow where it has none."""

    def __init__(self, cells: Mapping[str, Any], mapping: ColumnMapping, where: str, number: int) -> None:
        self.cells, self._where, self._number = cells, where, number
        self.columns, self._delimiters = mapping.assign(tuple(cells)), mapping.delimiters
        if not self.columns.keys() & MEASURED:
            problem = f"no known column among {', '.join(map(repr, cells)) or 'none'}"
            raise BadRow(where, number, None, problem, "map one, such as --map query=COLUMN")
        self._asked = {self.columns.get("query"), self.columns.get("response")}
        self._read: dict[str, conversations.Conversation | None] = {}

    def value(self, field: str, convert: Callable[[Any], Any], column: str | None = None) -> Any:
        """The converted cell of a field, or of a column without one; None where the row has no column for the field."""
        column = column or self.columns.get(field)
        if column is None:
            return None
        try:
            return convert(self.content(field, column) if field in _OF_CHATS else self.cells[column])
        except values.Malformed as error:
            hint = f"; or leave the column out with map={{{field!r}: ''}} (--map {field}=)" if field else ""
            raise BadRow(self._where, self._number, column, error.problem, error.fix + hint) from None

    def chunks(self, field: str, ids: str) -> Any:
        """The chunks of a field, with the ids of another column."""
        delimiter = self._delimiters.get(self.columns.get(field, ""))
        retrieved = self.value(field, partial(values.to_chunks, delimiter=delimiter))
        return retrieved and (self.value(ids, partial(values.with_ids, retrieved)) or retrieved)

    def content(self, field: str, column: str) -> Any:
        """What a conversation in a column holds of a field; any other value as it is."""
        is_call = field == "tool_calls" and column not in {*self._asked, self.columns.get("turns")}
        chat = None if is_call else self.within(column)
        if chat is not None:
            return chat.field("response" if field == "references" else field)
        is_text = field in ("contexts", "turns", "tool_calls") and column in self._asked
        return None if is_text else self.cells[column]

    def within(self, column: str) -> conversations.Conversation | None:
        """The conversation in a column, as what came before the query where that has a column of its own."""
        if column not in self._read:
            cell = values.native(self.cells[column])
            is_text = isinstance(cell, str) and column not in (self.columns.get("query"), self.columns.get("turns"))
            said = [] if is_text else conversations.messages(cell)
            if isinstance(cell, list) and not said and column in self._asked and (fault := conversations.unread(cell)):
                raise fault
            chat = conversations.conversation(said) if said else None
            self._read[column] = chat.as_history() if chat and self._is_history(column, chat) else chat
        return self._read[column]

    def _is_history(self, column: str, chat: conversations.Conversation) -> bool:
        """Whether the query and the response of the row are not those at the end of a conversation."""
        if column in {*self._asked, self.columns.get("references")}:
            return False
        if folded(column) in HISTORIES or "query" not in self.columns:
            return folded(column) in HISTORIES
        query = self.content("query", self.columns["query"])
        return not (isinstance(query, str) and query.strip() in (chat.query or ""))

    def tells_calls(self) -> bool:
        """Whether the response is in a conversation, which holds the calls that were made for it."""
        column = self.columns.get("response")
        chat = self.within(column) if column and self.columns.get("tool_calls", column) == column else None
        return bool(chat and chat.answers)

    def count(self, read: Sample, unmeasured: Counter[str]) -> None:
        """Count what is read and measured by no metric; see `SampleReader`."""
        chats = {column: chat for column, chat in self._read.items() if chat}
        is_trace = "trace_id" in self.cells  # whose earlier answers are traces of their own
        if not is_trace and not self._asked.isdisjoint(chats):
            earlier = conversations.answered(read.turns or ())
            unmeasured.update(earlier_answers=earlier, conversations=int(earlier > 0))
        unmeasured.update(remarks=sum(chat.remarks for column, chat in chats.items() if column in self._asked))
        unmeasured.update(stray_results=sum(chat.stray for chat in chats.values()))
        calls = len(read.tool_calls or ()) + sum(len(turn.calls) for turn in read.turns or ())
        unmeasured.update(calls=calls, callers=int(calls > 0))


def _response(value: Any, may_fail: bool = False) -> str | None:
    """The text of a response. An empty response is present.

    may_fail: whether an object with an error alone is no response, as in a row of promptfoo, which has `vars`.
    """
    value = values.native(value)
    has_failed = may_fail and isinstance(value, Mapping) and value.keys() == {"error"}
    return None if value is None or has_failed else values.text(value)


def _numbers(value: Any) -> tuple[float, ...] | None:
    """The numbers of a list, above 0."""
    listed = values.list_items(values.native(value)) or ()
    return values.to_weights([{"weight": number} for number in listed])


def _turns(value: Any) -> tuple[Turn, ...] | None:
    """The turns before a query."""
    value = values.native(value)
    if values.is_blank(value) or (not isinstance(value, tuple) and value in ([], "[]")):
        return None if values.is_blank(value) else ()
    if isinstance(value, tuple) and all(isinstance(turn, Turn) for turn in value):
        return value
    problem = f"{values.describe(value)}, not a conversation"
    raise values.Malformed(problem, 'write a list of {"role": "user" or "assistant", "text": ...}')


#: Rows that are inspected before the first sample is made, to find out what the columns mean.
INSPECTED = 100


def read(
    data: Any,
    *,
    map: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
    limit: int | None = None,
    limits: ReadingLimits | None = None,
    per: Per | None = None,
    corpus: str | os.PathLike[str] | None = None,
) -> SampleReader:
    """Samples from a file, a frame, a data set or plain rows.

    Args:
        data: a path (.jsonl .ndjson .json .csv .tsv .txt, each also with .gz; .parquet .xlsx .eval; formats
            that other packages register), "-" for JSON Lines on standard input, a list or generator of dicts or
            Samples, a dict of columns, a pandas, Polars or PyArrow frame, a Hugging Face data set, an evaluation data
            set of ragas or DeepEval. A SampleReader is returned as it is.
        map: field -> column, where the names in docs/data.md do not fit; "" keeps a field empty. "contexts.split" ->
            what separates the chunks in one text.
        skip_bad_rows: continue after a row that cannot be read, and keep the error in `SampleReader.bad_rows`.
        limit: the maximum number of rows, at least 1; None reads all.
        limits: what reading a file may take; None for those of `rg.readers.ReadingLimits()`.
        per: what of a conversation is a sample: "turn", each answer with the turns before it, the conversation its
            `group`; "conversation", all its answers as one response; None, the last answer.
        corpus: a file of documents with ids and texts, for contexts of which the data hold ids alone.

    Returns:
        The samples, which can be iterated over, with the columns that were found.

    Raises:
        BadData: the data cannot be opened, or have no rows or no known column.
        UnknownName: a field or column in `map` does not exist.
        MissingExtra: the library that a format needs is not installed.
        BadParameter: `limit` is less than 1, or `per` is neither.

    Iterating raises BadRow at the first row that cannot be read, unless bad rows are skipped.
    """
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise BadParameter(f"limit is {limit!r}; give 1 or more, or None for all rows")
    if per not in (None, "turn", "conversation"):
        raise BadParameter(f'per is {per!r}; give "turn" or "conversation", or None for the last answer')
    if isinstance(data, SampleReader) and not map and not skip_bad_rows and limit is None and per is corpus is None:
        return data
    passages = source(corpus, limits) if corpus else None
    try:
        chunks = values.to_chunks(list(passages.rows())) if passages else ()
    except values.Malformed as error:
        raise BadData(f"{passages.name if passages else corpus}: {error}") from None
    documents = {chunk.id: chunk for chunk in chunks or ()}
    return SampleReader(source(data, limits), map or {}, skip_bad_rows, limit, per, limits, documents)


def source(data: Any, limits: ReadingLimits | None = None) -> Source:
    """The rows of data of any form, before their columns are interpreted. Raises as `read` does."""
    if isinstance(data, str) and "://" in data:
        fix = "download it and give its path, or read a bucket with --engine ray (`ragauge docs scale`)"
        raise BadData(f"{data}: a URL, not a file; {fix}")
    if isinstance(data, str | os.PathLike):
        return STANDARD_INPUT if data == "-" else file_source(Path(data), limits)
    if isinstance(data, Source):
        return data
    return in_memory(data)


#: With how many earlier samples each one is compared, to count repeated ones in bounded memory.
MAX_CONTENTS = 10_000


class SampleReader:
    """Samples, read lazily, one by one. Each iteration starts anew, unless the data can be read only once.

    Attributes:
        name: what is read, for messages: a path, or "list of 3 rows".
        bad_rows: the errors of the rows that the latest iteration has skipped so far.
        unmeasured: how much of what the latest iteration has read is measured by no metric, by what it is:
            "earlier_answers", "conversations", "calls", "callers", "remarks", "stray_results", and what traces lack;
            and how many samples without a group are "repeated" from earlier ones.
        expects_calls: whether data that are joined to these have the calls that should have been made.
    """

    expects_calls = False

    def __init__(
        self,
        source: Source,
        map: Mapping[str, str],
        skip_bad_rows: bool,
        limit: int | None,
        per: Per | None = None,
        limits: ReadingLimits | None = None,
        documents: Mapping[str, Chunk] | None = None,
    ) -> None:
        self.name = source.name
        self._per, self._limits, self._documents = per, limits or default_limits(), documents or {}
        self.bad_rows: list[BadRow] = []
        self._positions: list[int] = []
        self._source, self._skip_bad_rows, self._limit = source, skip_bad_rows, limit
        self._mapped = {*map, *map.values()}
        rows = self._source_rows()
        first_rows = list(islice(rows, INSPECTED))
        if not first_rows:
            raise BadData(f"{self.name}: no rows; write one sample a row")
        mappings = (as_mapping(row) for row in first_rows if not isinstance(row, Sample | values.Malformed))
        first_cells = [row for row in mappings if row is not None]
        self._columns = ColumnMapping(self.name, map, first_cells)
        self._opened: Iterator[Any] | None = chain(first_rows, rows)
        column = self.columns.get("response", "")
        is_answered = any(values.native(row.get(column)) is not None for row in first_cells)
        self._empty_response = {column: ""} if source.is_table and is_answered and not self._holds_traces else {}

    @property
    def columns(self) -> dict[str, str]:
        """Field -> the column that holds it, as found in the first rows and those read since."""
        return self._columns.by_field

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns seen so far that hold no field; `Sample.metadata` keeps their values."""
        return self._columns.unused

    @property
    def index(self) -> Any:
        """The label of the row of each sample that the latest iteration has read from a pandas frame; else None."""
        if self._source.index is None or self._holds_traces or self._holds_messages:  # whose rows are parts of samples
            return None
        return self._source.index.take(self._positions)

    def __iter__(self) -> Iterator[Sample]:
        self.bad_rows, self._positions = [], []
        rows_of: dict[int, int] = {}  # hash of an id -> its row; none are kept while ids are the numbers of rows
        numbered = 0
        contents: set[int] = set()
        for number, row in enumerate(self._rows(), start=1):
            try:
                read = self._checked(row, number)
                if isinstance(row, Sample) or "id" in self.columns:
                    rows_of = rows_of or {hash(str(earlier)): earlier for earlier in range(1, numbered + 1)}
                    if (first := rows_of.setdefault(hash(read.id), number)) != number:
                        problem = f"id {read.id!r} was given to row {first} already"
                        fix = "make ids unique, name another column with map={'id': COLUMN} (--map id=COLUMN), or "
                        fix += "number the rows with map={'id': ''} (--map id=)"
                        raise BadRow(self.name, number, self.columns.get("id"), problem, fix)
                else:
                    numbered = number
                samples = self._samples_of(read, number)
                self._count_repeats(samples, contents)
                if self._source.index is not None:
                    self._positions += [number - 1] * len(samples)
                yield from samples
            except BadRow as error:
                line = f" (line {row.line})" if isinstance(row, TextRow) else ""
                bad = BadRow(error.where, error.row, error.column, error.problem + line, error.fix)
                if not self._skip_bad_rows:
                    bad.args = (f"{bad}; or skip such rows: skip_bad_rows=True (--skip-bad-rows)",)
                    raise bad from None
                self.bad_rows.append(bad)
        if self.unmeasured.pop("several_contexts", 0):
            del self.unmeasured["joined_contexts"]

    def _sample(self, cells: Mapping[str, Any], number: int) -> Sample:
        """The sample in a row. Raises BadRow, which names the column and the fix.

        A conversation or whole trace without a call has an empty tuple of them where anything says that tools could be
        called.
        """
        row = _Row(self._columns.unfold(cells), self._columns, self.name, number)
        value = row.value
        plural = folded(row.columns.get("references", "")).endswith("s")
        used = set(row.columns.values())
        rest = [name for name, cell in row.cells.items() if name not in used and values.native(cell) is not None]
        other = {name: value("", values.jsonable, name) for name in rest}
        chunks_of = {field: row.chunks(field, ids) for ids, field in IDS_OF.items()}
        ids_alone = {ids: value(ids, values.to_ids) for ids, field in IDS_OF.items() if chunks_of[field] is None}
        other |= {ids: named for ids, named in ids_alone.items() if named is not None}
        read = Sample(
            id=value("id", values.text_or_none) or str(number),
            query=value("query", values.text_or_none),
            response=value("response", partial(_response, may_fail="vars" in cells)),
            contexts=chunks_of["contexts"],
            references=value("references", lambda cell: values.to_references(cell, plural)),
            source=value("source", values.text_or_none),
            reference_contexts=chunks_of["reference_contexts"],
            answers=value("answers", values.to_gold_claims),
            answer_weights=value("answers", values.to_weights) or value("answer_weights", _numbers),
            criteria=value("criteria", values.to_criteria),
            answerable=value("answerable", values.boolean),
            turns=value("turns", _turns),
            tool_calls=value("tool_calls", conversations.to_calls),
            reference_tool_calls=value("reference_tool_calls", partial(conversations.to_calls, strict=True)),
            tools=value("tools", conversations.to_tools),
            system=value("system", values.text_or_none),
            group=value("group", values.text_or_none),
            metadata=value("metadata", lambda cell: values.merge_metadata(cell, other)) or other,
        )
        read = conversations.with_effects(read, value("read_only_tools", lambda cell: values.list_items(cell) or ()))
        is_whole_trace = self._holds_traces and exports.has_outer_span(cells)
        if read.tool_calls is None and (is_whole_trace or row.tells_calls()):
            expects_calls = self.expects_calls or read.tools is not None or read.reference_tool_calls is not None
            if expects_calls or "tool_calls" in self.columns or any(turn.calls for turn in read.turns or ()):
                read = msgspec.structs.replace(read, tool_calls=())
        row.count(read, unmeasured := self.unmeasured)
        contexts = read.contexts or ()
        is_joined = len(contexts) == 1 and _SEVERAL_CHUNKS.search(contexts[0].text)
        unmeasured.update(joined_contexts=bool(is_joined), several_contexts=len(contexts) > 1)
        unmeasured["listed_references"] += any(map(values.list_of, read.references or ())) and not plural
        if contexts and read.response and cites_otherwise(read.response, contexts):
            unmeasured["cited_otherwise"] += 1
        return read

    def _count_repeats(self, samples: Iterable[Sample], contents: set[int]) -> None:
        """Count the samples without a group that repeat what an earlier one asked, retrieved and answered.

        contents: hashes of those so far.
        """
        for sample in samples:
            if sample.group is not None or not (sample.query or sample.source):
                continue
            retrieved = [chunk.text for chunk in sample.contexts or ()], sample.metadata.get("retrieved_context_ids")
            said = sample.query, sample.source, sample.turns, sample.response, sample.tool_calls
            content = hash(repr((*said, *retrieved)))
            self.unmeasured["repeated"] += content in contents
            if len(contents) < MAX_CONTENTS:
                contents.add(content)

    def _with_texts(self, sample: Sample, number: int) -> Sample:
        """The sample with the documents whose ids it has. Raises BadRow where the corpus lacks one."""
        ids = sample.metadata.get("retrieved_context_ids")
        if sample.contexts is not None or not isinstance(ids, list):
            return sample
        if missing := [id for id in ids if str(id) not in self._documents]:
            problem = f"document {missing[0]!r} is not in the corpus"
            raise BadRow(self.name, number, "retrieved_context_ids", problem, "add it, or leave out the corpus")
        return msgspec.structs.replace(sample, contexts=tuple(self._documents[str(id)] for id in ids))

    def _samples_of(self, sample: Sample, number: int) -> Sequence[Sample]:
        """The samples that a conversation makes. Raises BadRow for one of too many turns."""
        sample = self._with_texts(sample, number) if self._documents else sample
        turns, column = sample.turns or (), self.columns.get("turns")
        of_chat = column is None or column in (self.columns.get("query"), self.columns.get("response"))
        if self._per is None or not turns or not of_chat:
            return [sample]
        self.unmeasured["earlier_answers"] = 0
        if self._per == "conversation":
            return [conversations.as_conversation(sample)]
        if len(turns) > self._limits.turns:
            error = self._limits.exceeded(f"row {number}", "turns", f"a conversation of {len(turns)} turns")
            raise BadRow(self.name, number, self.columns.get("turns"), *str(error).partition(": ")[2].split("; ", 1))
        return conversations.by_turn(sample)

    def _rows(self) -> Iterator[Any]:
        rows, self._opened = self._opened, None
        if rows is None and self._source.once:
            raise BadData(f"{self.name}: can be read only once; put its rows in a list to read them again")
        return rows or self._source_rows()

    def _source_rows(self) -> Iterator[Any]:
        self.unmeasured = Counter[str]()
        rows = self._source.rows()
        first = list(islice(rows, 2))
        rows = chain(first, rows)
        self._holds_traces = any(map(exports.is_trace, first[:1]))
        are_messages = len(first) > 1 and all(map(conversations.is_message, first))
        self._holds_messages = are_messages and self._mapped.isdisjoint(conversations.MESSAGE_COLUMNS)
        if self._holds_traces:
            rows = exports.samples_of(rows, self.name, self.unmeasured)
        elif self._holds_messages:
            rows = conversations.joined_messages(rows)
        elif any(isinstance(row, Mapping) and not exports.BFCL_COLUMNS.isdisjoint(row) for row in first):
            rows = map(exports.bfcl_row, rows)
        elif "system" not in self._mapped:
            rows = (
                conversations.with_instructions(row) if isinstance(row, Mapping) and "system" in row else row
                for row in rows
            )
        return islice(rows, self._limit)

    def _checked(self, row: Any, number: int) -> Sample:
        if isinstance(row, Sample):
            try:
                msgspec.json.encode(row)
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                fix = "give texts as plain strings, and in metadata only what JSON can hold"
                problem = f"the sample cannot be stored as JSON: {error}"
                raise BadRow(self.name, number, None, problem, fix) from error
            return row
        if isinstance(row, values.Malformed):
            raise BadRow(self.name, number, None, row.problem, row.fix)
        if (cells := as_mapping(row)) is None:
            raise BadRow(self.name, number, None, f"{values.describe(row)}, not an object", "give each row as a dict")
        is_empty = any(values.native(cells.get(column)) is None for column in self._empty_response)
        return self._sample({**cells, **self._empty_response} if is_empty else cells, number)


def as_mapping(row: Any) -> Mapping[str, Any] | None:
    """A row as a mapping from names of columns: pydantic models and dataclasses (ragas, DeepEval) by their fields."""
    if isinstance(row, Mapping):
        return row if all(isinstance(key, str) for key in row) else {str(key): cell for key, cell in row.items()}
    if hasattr(row, "model_dump"):
        return dict(row.model_dump())
    if hasattr(row, "__dataclass_fields__") and not isinstance(row, type):
        return dict(vars(row))
    return None


#: What spreadsheets turn $411 and May 24 into.
_SPREADSHEET_VALUE = re.compile(r"-?\d+(\.\d+)?|\d{4}-\d\d-\d\d 00:00:00")


class Joined(NamedTuple):
    """The samples of the benchmark that have a response, in its order; and remarks -> the questions they apply to."""

    samples: list[Sample]
    report: dict[str, list[str]]


def join(benchmark: Any, responses: Any) -> Joined:
    """The samples of a benchmark with the responses to their questions, whatever the order of either.

    Questions are equal where they differ only in white space and case; responses without questions are joined by id,
    which both sides must have. Responses bring their contexts, calls and the name of their system, if they have them,
    and whatever else the benchmark lacks. The report lists what has no counterpart and is left out, questions that
    occur more than once on a side, of whose responses the first is taken, and references that a spreadsheet may have
    damaged.

    Args:
        benchmark: the samples, in any form that `read` takes, or a SampleReader.

    Raises:
        BadData: no question has a response; and what `read` raises.
    """
    asked_reader, reader = read(benchmark), read(responses)
    questions = list(asked_reader)
    reader.expects_calls = any(sample.reference_tool_calls is not None for sample in questions)
    rows = list(reader)
    have_ids = all("id" in side.columns or not side.columns for side in (asked_reader, reader))
    by_id = have_ids and not any(sample.query for sample in rows)
    name_of: Callable[[Sample], str] = attrgetter("id") if by_id else _question
    responded = rows if by_id else [sample for sample in rows if sample.query and sample.response is not None]
    if not responded:
        raise BadData(f"{reader.name}: no question with an answer, nor ids on both sides; is it a file of responses?")
    asked, answered = (Counter(map(name_of, side)) for side in (questions, responded))
    first = {name_of(sample): sample for sample in reversed(responded)}
    samples = [_with_response(sample, first[name_of(sample)]) for sample in questions if name_of(sample) in first]
    remarks = {
        "without a response, left out": [question for question in questions if name_of(question) not in first],
        "not in the benchmark, left out": [sample for sample in responded if not asked[name_of(sample)]],
        "in the benchmark more than once": [question for question in questions if asked[name_of(question)] > 1],
        "answered more than once, the first counts": [sample for sample in responded if answered[name_of(sample)] > 1],
        "with a reference that is a bare number or date, as spreadsheets make of $411 or May 24": [
            sample for sample in samples if any(map(_SPREADSHEET_VALUE.fullmatch, sample.references or ()))
        ],
    }
    names = {
        remark: [sample.id if by_id else sample.query or "(none)" for sample in left]
        for remark, left in remarks.items()
    }
    return Joined(samples, {remark: left for remark, left in names.items() if left})


def _with_response(sample: Sample, response: Sample) -> Sample:
    """A sample of a benchmark with what its response brings, and with what it lacks itself."""
    fields = {name: value for name in Sample.__struct_fields__ if (value := getattr(response, name)) is not None}
    brought = {name: fields[name] for name in fields if name in _BROUGHT or getattr(sample, name) is None}
    return msgspec.structs.replace(sample, **brought, metadata=response.metadata | sample.metadata)


#: What a response brings, whatever the benchmark holds.
_BROUGHT = ("response", "contexts", "system", "tool_calls")


def _question(sample: Sample) -> str:
    return " ".join((sample.query or "").split()).casefold()
