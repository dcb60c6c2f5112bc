"""A stream: rows scored one by one as they come, in bounded memory, for services and logs."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from itertools import count
from threading import Thread
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData, BadRow, MissingField, RunFailed, UnknownName, UsageError
from ragauge.judges.base import JudgeLike
from ragauge.metrics.registry import select_metrics
from ragauge.questions import Judgment
from ragauge.readers.columns import ColumnMapping
from ragauge.readers.formats import Source, json_row
from ragauge.readers.read import SampleReader
from ragauge.readers.values import Malformed
from ragauge.report.document import sample_document
from ragauge.run.aggregation import Accumulators
from ragauge.run.asking import resolve
from ragauge.run.budget import Stopped, check_priced
from ragauge.run.prepare import LabelsLike, MetricsLike, RunRequest, RunSettings, StoreLike, opened_store
from ragauge.run.results import SampleScores
from ragauge.run.scoring import SampleScoring, concurrency
from ragauge.run.specs import load_judges
from ragauge.run.tail import Line
from ragauge.scores import SampleRecord
from ragauge.store.store import MemoryStore
from ragauge.types import Call, Sample

#: Seconds for which an interrupted stream waits for the rows that are being judged.
PATIENCE = 5.0
#: Bytes read at a time.
CHUNK = 2**20


class StreamRow(NamedTuple):
    """A row of a stream.

    where: what it is from. number: from 1. given: a line of JSON, or a row as for `evaluate`. line: of a followed file.
    """

    where: str
    number: int
    given: Any
    line: Line | None = None


class StreamScores(NamedTuple):
    """The scores of a row by the metrics of `settings`, or the error for which it has none.

    sample: what was read; without scores and error where it was not chosen. trace: the id of its trace, or its own, or
    that of its line. ended: the row was not scored since the stream ended, and is to be sent again. unpaid: it was not,
    since the money of the day was spent.
    """

    row: StreamRow
    record: SampleRecord | None = None
    settings: RunSettings | None = None
    error: UsageError | None = None
    ended: bool = False
    unpaid: bool = False
    sample: Sample | None = None
    trace: str = ""

    def document(self) -> dict[str, Any]:
        """The document of the sample, with the metrics asked for by name that it lacks the fields for; or the error."""
        if not (self.record and self.settings):
            return {"error": str(self.error)}
        left_out = {"left_out": self.settings.left_out} if self.settings.by_name and self.settings.left_out else {}
        return {**sample_document(self.record), **left_out}


class _NoStore(MemoryStore):
    """Keeps no judgment, so that the memory of an endless stream does not grow."""

    def keep(self, judgments: Sequence[Judgment], calls: Sequence[Call] = (), *, own: bool = True) -> None:
        """Forget them."""


class Stream:
    """Scores rows as a request says, as long as they come.

    chosen: whether to score the row with this id; None: all. stopped: why no further row can be scored; else "".
    in_flight: how many rows are being scored. budget: counts the cost. judges: by kind of question.
    """

    def __init__(self, request: RunRequest, chosen: Callable[[str], bool] | None = None) -> None:
        self.stopped, self.in_flight = "", 0
        self._chosen = chosen
        self._metrics = None if request.metrics is None else select_metrics(request.metrics)
        self._map = request.columns
        ColumnMapping("", self._map, [])  # raises UnknownName for a field that there is not
        self._router = load_judges(request.judge, store=request.store)
        check_priced(self._router.unique, request.max_cost)
        store = _NoStore() if request.store is None else opened_store(request.store)
        self._dispatcher = request.dispatcher(self._router, store)
        self.budget = self._dispatcher.budget
        self.judges = {kind: judge.identity for kind, judge in self._router.judges.items()}

    async def scored(self, rows: AsyncIterator[StreamRow]) -> AsyncGenerator[StreamScores, None]:
        """The scores of each row, in order, each as soon as those before it are there.

        Cancelled, it takes no more rows, waits PATIENCE seconds for those that are being judged, gives an error for the
        rest, and is cancelled then. Raises UsageError if a judge lacks something, such as a key, and StoreError.
        """
        running: deque[tuple[StreamRow, asyncio.Task[StreamScores]]] = deque()
        coming: asyncio.Future[StreamRow | None] | None = asyncio.ensure_future(anext(rows, None))
        width, cancelled = concurrency(self._dispatcher), None
        async with self._dispatcher.opened():
            try:
                while running or coming:
                    self.in_flight, has_room = len(running), len(running) < width
                    awaited: list[asyncio.Future[Any]] = [coming] if coming and has_room else []
                    awaited += [running[0][1]] if running else []
                    try:
                        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
                    except asyncio.CancelledError as error:
                        cancelled = error
                        await _hurry([task for _, task in running])
                    while running and running[0][1].done():
                        row, task = running.popleft()
                        yield _unscored(row, "the stream was ended") if task.cancelled() else task.result()
                    if coming and (self.stopped or cancelled):
                        coming.cancel()
                        coming = None
                    elif coming and coming.done() and has_room:
                        if (taken := coming.result()) is not None:
                            running.append((taken, asyncio.ensure_future(self._score(taken))))
                        coming = None if taken is None else asyncio.ensure_future(anext(rows, None))
            finally:
                for _, task in running:
                    task.cancel()
                if coming:
                    coming.cancel()
        if cancelled:
            raise cancelled

    async def _score(self, row: StreamRow) -> StreamScores:
        try:
            document, reading, sample = self._read(row)
            trace = _trace_id(row, sample, "id" in reading.columns or isinstance(document, Sample))
            if self._chosen and not self._chosen(trace):
                return StreamScores(row, sample=sample, trace=trace)
            settings = RunSettings(self._metrics, self._router, [sample], reading.columns, all_fields=False)
        except (BadData, MissingField, UnknownName) as error:
            return StreamScores(row, error=error)
        outcome = await SampleScoring(settings, self._dispatcher).score(sample)
        if not isinstance(outcome, Stopped):
            return StreamScores(row, outcome, settings, sample=sample, trace=trace)
        if self.budget.exceeded and not self.budget.ends_work:
            return _unscored(row, str(outcome))._replace(ended=False, unpaid=True, sample=sample, trace=trace)
        self.stopped = self.stopped or str(outcome)
        return _unscored(row, self.stopped)

    def _read(self, row: StreamRow) -> tuple[Any, SampleReader, Sample]:
        """A row, how it was read, and its sample. Raises BadData, MissingField or UnknownName."""
        document = _parsed(row.given, row.number) if isinstance(row.given, bytes) else row.given
        reading = SampleReader(Source(row.where, partial(iter, [document])), self._map, False, None)
        try:
            samples = list(reading)
        except BadRow as error:
            raise BadRow(row.where, row.number, error.column, error.problem, error.fix) from None
        if len(samples) != 1:
            fix = "write one a line, or measure the whole file with `ragauge run`"
            raise BadRow(row.where, row.number, None, f"holds {len(samples)} samples", fix)
        (sample,) = samples
        if not isinstance(document, Sample) and "id" not in reading.columns:
            sample = msgspec.structs.replace(sample, id=str(row.number))
        return document, reading, sample


def _trace_id(row: StreamRow, sample: Sample, has_id: bool) -> str:
    """The id of the trace that a sample is, or its own if it has one, or that of its line."""
    if (trace := sample.metadata.get("trace_id")) is not None:
        return str(trace)
    return row.line.id if row.line and not has_id else sample.id


async def _hurry(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Wait PATIENCE seconds for tasks, and cancel those that are not done then."""
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=PATIENCE)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


def _unscored(row: StreamRow, why: str) -> StreamScores:
    error = UsageError(f"{row.where}, row {row.number}: not scored: {why}; send it again")
    return StreamScores(row, error=error, ended=True)


def _parsed(line: bytes, number: int) -> Any:
    try:
        return json_row(line.decode("utf-8-sig"), number)
    except UnicodeDecodeError as error:
        fault = f"not UTF-8: byte 0x{line[error.start]:02x} at offset {error.start}"
        return Malformed(fault, "write the line as UTF-8")


async def score_stream(
    rows: Iterable[Any] | AsyncIterable[Any],
    metrics: MetricsLike = None,
    judge: JudgeLike = "embedded",
    store: StoreLike = None,
    *,
    labels: LabelsLike = None,
    map: Mapping[str, str] | None = None,
    max_cost: float | None = None,
) -> AsyncGenerator[SampleScores | UsageError, None]:
    """The scores of rows as they come, for services; what `ragauge score -` does with lines.

        async for scores in rg.score_stream(rows, "faithfulness"):
            ...

    Several rows are judged at once, no run is kept, and memory does not grow with the number of rows.

    Args:
        rows: rows as for `evaluate`, one at a time; an asynchronous iterator may keep them waiting.
        metrics, judge, store, labels, map, max_cost: as for `evaluate`. A metric whose fields a row lacks has no score.

    Yields:
        For each row, in order, its scores; or the error of a row that cannot be read or measured, after which the
        stream goes on.

    Raises:
        RunFailed: the judge cannot answer any more, or `max_cost` is reached.
        UsageError, StoreError: as `evaluate`.
    """
    stream = Stream(RunRequest(rows, metrics, judge, store, labels, map, max_cost=max_cost))
    async with aclosing(stream.scored(_numbered(rows))) as results:
        async for result in results:
            if result.record and result.settings:
                yield SampleScores(result.record, Accumulators(result.settings.metrics).estimates())
            elif result.error:
                yield result.error
    if stream.stopped:
        raise RunFailed(stream.stopped)


async def _numbered(rows: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[StreamRow]:
    number = count(1)
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield StreamRow("stream", next(number), row)
    else:
        for row in rows:
            yield StreamRow("stream", next(number), row)


async def standard_input_lines() -> AsyncIterator[StreamRow]:
    """The lines of standard input, until it ends; blank ones are counted and left out."""
    number, rest, data = count(1), b"", b"more"
    while data:
        data = await _input()
        *whole, rest = (rest + (data or b"\n")).split(b"\n")  # the end of the input ends the last line
        for line in whole:
            row = StreamRow("standard input", next(number), line)
            if line.strip():
                yield row


async def _input() -> bytes:
    """The next bytes of standard input, b"" at its end, read by a thread that does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    received: asyncio.Future[bytes] = loop.create_future()
    stream = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)  # a buffered one is locked while its thread waits

    def read() -> None:
        data, fault = b"", None
        try:
            data = stream.read(CHUNK)
        except OSError as error:
            fault = BadData(f"standard input cannot be read: {error.strerror}; give JSON Lines in a pipe or a file")
        if not loop.is_closed():
            loop.call_soon_threadsafe(resolve, received, data, fault)

    Thread(target=read, daemon=True).start()
    return await received
