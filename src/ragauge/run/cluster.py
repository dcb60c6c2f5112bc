"""Runs on Ray: processes on one or several machines score what this one reads, and keep the scores in the store.

See docs/scale.md, and docs/decisions/0018-ray-for-any-number-of-machines.md for what Ray does and what it does not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import re
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData, BadParameter, RagaugeError, RunFailed, UsageError
from ragauge.host import disable_telemetry, optional, processors
from ragauge.metrics.base import Measure
from ragauge.metrics.registry import select_metrics
from ragauge.readers.formats import Source, json_lines_rows
from ragauge.run.aggregation import Accumulators
from ragauge.run.batches import BatchScorer
from ragauge.run.budget import Budget
from ragauge.run.prepare import Prepared, RunRequest, opened_store, prepared
from ragauge.run.results import Run
from ragauge.run.scoring import Evaluation
from ragauge.run.specs import load_judges
from ragauge.run.sync import ordered_map
from ragauge.scores import SampleRecord
from ragauge.store import Store, is_url
from ragauge.store.store import MemoryStore
from ragauge.types import Sample, TotalUsage

#: How many samples are handed to a worker at a time; under a limit on the cost, so that few are left half done; and how
#: many such batches it works on at once.
BATCH, FEW, AT_ONCE = 256, 32, 2
#: How many batches may wait for an earlier one, for each worker.
AHEAD = 8
#: Where Ray finds the purse of a run, under the run's id.
NAMESPACE = "ragauge"
#: Seconds in which an address must accept a connection.
REACHABLE = 5.0
#: The endings of files that Ray Data reads, each also compressed by gzip but for Parquet.
ENDINGS = (".parquet", ".jsonl", ".ndjson", ".csv")


@dataclass(frozen=True)
class RayEngine:
    """Ray as the engine of a run, also called `rg.ray`: `rg.evaluate(..., engine=rg.ray(workers=8))`.

    Args:
        address: HOST:PORT of a cluster's head, or "auto" for the one that this machine is part of. By default the
            environment variable RAY_ADDRESS; without it Ray is started on this machine and reachable from it alone.
        workers: the number of processes that score. By default one per CPU of this machine, or of the cluster.
        gpus: the share of a GPU that each worker has, such as 0.5.
        output: a folder or bucket, such as "scores/" or "s3://bucket/scores", in which the workers write the scores as
            Parquet, in a folder of its own for each run.

    Raises:
        BadParameter: workers or gpus are out of range.
    """

    address: str = ""
    workers: int | None = None
    gpus: float = 0.0
    output: str | Path = ""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise BadParameter(f"workers={self.workers} must be 1 or more")
        if self.gpus < 0:
            raise BadParameter(f"gpus={self.gpus} must be 0 or more, the share of a GPU that each worker has")


ray = RayEngine


def engine_of(engine: str | RayEngine) -> RayEngine:
    """What was given as `engine=`. Raises BadParameter for anything but "ray", "ray:HOST:PORT" and `rg.ray(...)`."""
    name, _, address = str(engine).partition(":")
    if name != "ray" and not isinstance(engine, RayEngine):
        raise BadParameter(f"engine {engine!r} is not known; give 'ray', 'ray:HOST:PORT' or rg.ray(...)")
    return engine if isinstance(engine, RayEngine) else RayEngine(address)


async def evaluate_on_ray(
    engine: str | RayEngine, request: RunRequest, name: str, progress: Callable[[int], None] | None
) -> Run:
    """As `evaluate`, which documents the arguments and errors, on Ray."""
    session = Session(engine_of(engine))
    is_shared = request.store is not None and not isinstance(request.store, MemoryStore)
    store = opened_store(request.store) if is_shared else Store.temporary()
    try:
        data = request.data
        if _is_spread(data):
            system, paths, ending = _files_of(data)
            rows = partial(session.rows, system, paths, ending)
            data = Source(str(data), rows, is_table=ending == ".parquet")
        judge = load_judges(request.judge, store=request.store)
        task = prepared(replace(request, data=data, store=store, judge=judge))
        metrics = [_portable(metric) for metric in task.settings.metrics]
        scorer = BatchScorer(metrics, request.judge, store, labels=request.labels)
        scorer.by_name = task.settings.by_name
        return await _RayEvaluation(task, name, session, scorer).run(progress)
    finally:
        session.close()


def _portable(measure: Measure) -> str | Measure:
    """The spec of a metric from which the registry makes it, and which needs no pickling; else the metric."""
    with suppress(UsageError):
        if select_metrics(measure.spec) == (measure,):
            return measure.spec
    return measure


class Session:
    """A connection to Ray, made when it is first needed. ours: it was made here, and ends with the session."""

    def __init__(self, engine: RayEngine) -> None:
        self.engine = engine
        self.folder = ""
        self.ours = False
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        disable_telemetry()
        self._address = engine.address or os.environ.get("RAY_ADDRESS", "")
        self.ray = optional("engine='ray'", "ray", "ray")
        if engine.output:
            self.folder = str(engine.output if _is_uri(engine.output) else Path(engine.output).absolute())
            with _file_errors(engine.output, "written to", UsageError):
                system, path = _filesystem(self.folder)
                system.create_dir(path, recursive=True)

    def connect(self) -> Any:
        """The module `ray`, connected. Raises UsageError where the address does not answer."""
        is_connected = self.ray.is_initialized()
        if self._address and (self.engine.address or not is_connected):
            _check_reachable(self._address)
        if is_connected:
            return self.ray
        options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "address": self._address}
        if not self._address:
            _set_up_locally()
            cpus = (self.engine.workers or processors()) + 1  # one to read
            options |= {"address": "local", "num_cpus": cpus, "include_dashboard": False}
        try:
            self.ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise UsageError(f"Ray cannot be used at {self._address or 'this machine'}: {_reason(error)}") from error
        self.ours = True
        return self.ray

    def close(self) -> None:
        """End the connection, and Ray itself where it was started for this run."""
        if self.ours:
            self.ray.shutdown()

    def rows(self, system: Any, paths: list[str], ending: str) -> Iterator[Any]:
        """The rows of files in their order, read by Ray Data on any machine."""
        self.connect()
        from ray import data

        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = data.DataContext.get_current().copy()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        options: dict[str, Any] = {"filesystem": system, "file_extensions": None}
        read = {".parquet": data.read_parquet, ".csv": data.read_csv}.get(ending, data.read_text)
        if ending == ".csv":
            options |= _csv_options(system, paths[0])
        with data.DataContext.current(context):
            dataset = read(paths, **options)
        batches: Any = dataset.iter_batches(batch_size=BATCH, batch_format="pyarrow")
        rows: Iterator[Any] = (row for batch in batches for row in batch.to_pylist())
        if read is data.read_text:
            rows = json_lines_rows((row["text"] for row in rows), paths[0])
        try:
            yield from rows
        except self.ray.exceptions.RayError as error:
            raise BadData(f"{paths[0]} or a file beside it: {_reason(error)}; write it again") from error


def _reason(error: BaseException) -> str:
    """What an error says in one line; of one in another process, what that process raised."""
    cause = getattr(error, "cause", None) or error
    return str(cause).strip().partition("\n")[0]


def _set_up_locally() -> None:
    """Have Ray listen on the loopback interface alone, by its switch for macOS and Windows, at our own priority."""
    from ray._private import ray_constants

    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"
    os.environ.setdefault("RAY_worker_niceness", "0")  # else workers give way to everything else on the machine
    ray_constants.ENABLE_RAY_CLUSTER = False


def _check_reachable(address: str) -> None:
    """Raise UsageError if nothing listens at HOST:PORT; Ray itself would try for a minute."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=REACHABLE).close()
    except (OSError, ValueError) as error:
        raise UsageError(f"no Ray at {address} ({error}); give HOST:PORT, as `ray start --head` prints it") from None


def _is_uri(place: object) -> bool:
    return isinstance(place, str) and re.match(r"[a-z][a-z0-9+.-]+://", place) is not None


def _is_spread(data: Any) -> bool:
    """Whether data are what Ray Data reads: a bucket, a folder, or a pattern such as answers/*.parquet."""
    return _is_uri(data) or (isinstance(data, str | Path) and ("*" in str(data) or Path(data).is_dir()))


def _ending_of(path: str) -> str:
    return next((ending for ending in ENDINGS if path.endswith((ending, f"{ending}.gz"))), "")


def _filesystem(place: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem, LocalFileSystem

    return FileSystem.from_uri(place) if _is_uri(place) else (LocalFileSystem(), str(Path(place).absolute()))


@contextmanager
def _file_errors(place: object, what: str = "read", error: type[UsageError] = BadData) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, ImportError) as problem:
        raise error(f"{place} cannot be {what}: {_reason(problem)}; check its name and your rights") from problem


def _files_of(place: str | Path) -> tuple[Any, list[str], str]:
    """Arrow's file system of a folder, bucket or pattern, its files by name, and their ending. Raises BadData."""
    name, _, query = str(place).partition("?") if _is_uri(place) else (str(place), "", "")
    options = f"?{query}" if query else ""
    base = name if "*" not in name else name[: name.index("*")].rpartition("/")[0] or "."
    with _file_errors(name):
        from pyarrow.fs import FileSelector, FileType

        system, path = _filesystem(base + options)
        info = system.get_file_info(path)
        is_folder = info.type == FileType.Directory
        listed = system.get_file_info(FileSelector(path, recursive=True)) if is_folder else [info]
    pattern = path + name[len(base) :] if "*" in name else "*"
    paths = [entry.path for entry in listed if entry.type == FileType.File and fnmatch(entry.path, pattern)]
    paths = sorted(path for path in paths if _ending_of(path))
    endings = {_ending_of(path) for path in paths}
    if not paths:
        raise BadData(f"{name}: no file there ends in {', '.join(ENDINGS)}; check the name")
    if len(endings) > 1:
        raise BadData(f"{name}: files of several formats; name those of one, such as {name.rstrip('/*')}/*.parquet")
    return system, paths, endings.pop()


def _csv_options(system: Any, path: str) -> dict[str, Any]:
    from pyarrow import csv, string

    parse = csv.ParseOptions(newlines_in_values=True)
    with _file_errors(path), system.open_input_stream(path) as file:
        names = csv.open_csv(file, parse_options=parse).schema.names
    convert = csv.ConvertOptions(column_types=dict.fromkeys(names, string()), strings_can_be_null=False)
    return {"parse_options": parse, "convert_options": convert}


class Part(NamedTuple):
    """What the driver learns of a batch: sums and columns of numbers, no texts."""

    samples: int
    stopped: str
    scores: Accumulators
    left_out: dict[str, str]
    asked: int
    reused: int
    labelled: int
    disputed: set[str]
    spent: TotalUsage
    exceeded: bool


class Worker:
    """What each process of the pool runs: it loads the judge once, and works on AT_ONCE batches at a time."""

    def __init__(self, pickled: bytes, run_id: str, folder: str, workers: int, limit: float | None) -> None:
        disable_telemetry()
        self._pickled, self._workers, self._limit = pickled, workers, limit
        self._run, self._folder = run_id, folder

    @cached_property
    def _scorer(self) -> BatchScorer:
        scorer: BatchScorer = pickle.loads(self._pickled)
        assert scorer.settings
        assert scorer.store
        for judge in scorer.router.unique:
            judge.share_tempo(self._workers)
        return scorer

    async def ready(self) -> RagaugeError | None:
        """Load the judge and open the store; what is wrong with them, if anything."""
        try:
            assert self._scorer
        except RagaugeError as error:
            return error
        return None

    async def score(self, first: int, encoded: Sequence[bytes]) -> Part | RagaugeError:
        """Score a batch, whose first sample is at this position of the run, and keep the scores; or why not."""
        import ray

        limit, budget = self._limit, Budget()
        if limit is not None:
            budget = LeasedBudget(ray.get_actor(self._run, namespace=NAMESPACE), limit)
        samples = [msgspec.json.decode(sample, type=Sample) for sample in encoded]
        try:
            scorer = self._scorer
            assert scorer.store is not None
            records, stopped, dispatcher = await scorer.score_async(samples, budget)
            scorer.store.keep_samples(self._run, first, records)
            if self._folder and records:
                self._write(f"part-{first:012}.parquet", records)
        except RagaugeError as error:
            return error
        finally:
            if isinstance(budget, LeasedBudget):
                await budget.settle()
        accumulators = Accumulators(scorer.settings.metrics)
        for record in records:
            accumulators.add(record)
        counts = dispatcher.asked, dispatcher.reused, dispatcher.labelled, dispatcher.disputed
        left_out = dict(scorer.settings.left_out)
        return Part(len(records), stopped, accumulators, left_out, *counts, budget.spent, budget.exceeded)

    def _write(self, name: str, records: Sequence[SampleRecord]) -> None:
        """Write a file of the result, whole or not at all; a batch that is scored again replaces its file."""
        import pyarrow.parquet

        system, base = _filesystem(self._folder)
        folder = f"{base}/run={self._run}"
        with _file_errors(self._folder, "written to", UsageError):
            system.create_dir(folder, recursive=True)
            table = pyarrow.Table.from_batches([self._scorer.arrow(records)])
            pyarrow.parquet.write_table(table, f"{folder}/_{name}", filesystem=system)
            system.move(f"{folder}/_{name}", f"{folder}/{name}")

    async def notes(self) -> list[str]:
        """What the judges have to say about their work."""
        return [note for judge in self._scorer.router.unique for note in judge.notes()]


#: Seconds after which a lease that nobody asks about any more is free again, and those between two requests for money.
LEASE_SECONDS, ASK_SECONDS = 120.0, 0.2
#: The share of the limit that a batch is lent at a time, unless a call needs more.
LEASE = 0.02


class Purse:
    """The money of a run, lent to its batches in leases; an actor. A lost batch may have spent all of its lease."""

    def __init__(self, limit: float) -> None:
        self._left = limit
        self._lent: dict[str, list[float]] = {}  # by holder: dollars, of which spent, time, whether it waits

    def take(self, holder: str, spent: float, wanted: float, least: float) -> float | None:
        """Lend dollars, between `least` and `wanted`; 0 if some may be given back, None if not. spent: so far."""
        now = time.monotonic()
        for name in [name for name, (*_, lent_at, _waits) in self._lent.items() if now - lent_at > LEASE_SECONDS]:
            self.settle(name, self._lent[name][1])
        granted = min(wanted, self._left) if self._left >= least else 0.0
        self._left -= granted
        lent = self._lent.get(holder, [0.0])[0] + granted
        self._lent[holder] = [lent, spent, now, not granted]
        others_work = any(not waits for *_, waits in self._lent.values())
        return granted if granted or others_work else None

    def settle(self, holder: str, spent: float) -> None:
        """Take back what a batch has not spent."""
        if holder in self._lent:
            self._left += self._lent.pop(holder)[0] - spent


class LeasedBudget(Budget):
    """The budget of one batch: it borrows from the purse as it needs more."""

    def __init__(self, purse: Any, limit: float) -> None:
        super().__init__(0.0)
        self.reason = Budget(limit).reason
        self._purse, self._whole, self._holder = purse, limit, token_hex(8)
        self._asking = asyncio.Lock()

    async def _renew(self, dollars: float) -> None:
        """Borrow until this much is covered, or nothing can come back to the purse any more."""
        async with self._asking:
            while not self.exceeded and not self._covers(dollars):
                assert self.limit is not None
                least = self.spent.cost + self._overrun * dollars - self.limit
                wanted = max(LEASE * self._whole, least)
                lent = await self._purse.take.remote(self._holder, self.spent.cost, wanted, least)
                if lent is None:
                    return
                self.limit += lent
                await asyncio.sleep(0 if lent else ASK_SECONDS)

    async def settle(self) -> None:
        """Give back what is left."""
        await self._purse.settle.remote(self._holder, self.spent.cost)


class _RayEvaluation(Evaluation):
    def __init__(self, task: Prepared, name: str, session: Session, scorer: BatchScorer) -> None:
        super().__init__(task, name)
        self._session, self._scorer = session, scorer
        self._read = 0
        self._stopping = False
        self._free: asyncio.Queue[Any] = asyncio.Queue()

    async def _measure(self, progress: Callable[[int], None] | None) -> str:
        done, stopped = 0, ""
        try:
            async with self._workers() as workers:
                parts = ordered_map(self._batches(), self._ask, AT_ONCE * len(workers), AHEAD * len(workers))
                async with aclosing(parts):
                    async for encoded, part in parts:
                        if isinstance(part, RagaugeError):
                            raise part
                        self._count(part)
                        if stopped:
                            continue
                        self._add(encoded, part)
                        done, stopped = done + part.samples, part.stopped
                        self._stopping = bool(stopped)
                        if progress:
                            progress(done)
                notes = await asyncio.gather(*(worker.notes.remote() for worker in workers))
        except self._session.ray.exceptions.RayError as error:
            raise RunFailed(f"Ray gave up: {_reason(error)}; run again, what is judged is kept in the store") from error
        self._notes = list(dict.fromkeys(note for of_worker in notes for note in of_worker))
        return self._ended(done, self._read, stopped)

    @asynccontextmanager
    async def _workers(self) -> AsyncIterator[list[Any]]:
        ray, engine = self._session.connect(), self._session.engine
        machines = {node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        if len(machines) > 1 and not is_url(self._store.place):
            fix = "give one that all machines reach: --store postgresql://USER@HOST/DATABASE"
            raise UsageError(f"the store {self._store.place} is on this machine alone; {fix}")
        cpus, gpus = (ray.cluster_resources().get(kind, 0) for kind in ("CPU", "GPU"))
        count = engine.workers or max(1, int(cpus) - 1)
        if count > cpus or engine.gpus * count > gpus:
            has = f"the cluster has {cpus:g} CPUs and {gpus:g} GPUs"
            raise UsageError(f"{count} workers of {engine.gpus:g} GPUs each: {has}; give fewer workers")
        options = {"num_gpus": engine.gpus, "max_restarts": -1, "max_task_retries": -1, "max_concurrency": AT_ONCE}
        made = ray.remote(Worker).options(num_cpus=1, **options)
        try:
            pickled = ray.cloudpickle.dumps(self._scorer)
        except Exception as error:  # pickling runs code of any class
            fix = "give the judge by its spec, such as 'python:MODULE:NAME'"
            raise UsageError(f"the judge or a metric cannot be sent to other processes ({error}); {fix}") from error
        limit = self._dispatcher.budget.limit
        named = {"name": self._record.id, "namespace": NAMESPACE, "num_cpus": 0}
        purse = [] if limit is None else [ray.remote(Purse).options(**named).remote(limit)]
        shared = (pickled, self._record.id, self._session.folder, count, limit)
        workers = [made.remote(*shared) for _ in range(count)]
        try:
            for fault in await asyncio.gather(*(worker.ready.remote() for worker in workers)):
                if fault:
                    raise fault
            for worker in workers * AT_ONCE:
                self._free.put_nowait(worker)
            self._begin()
            yield workers
        finally:
            for actor in [] if self._session.ours else workers + purse:  # else they end with the connection
                ray.kill(actor)

    def _batches(self) -> Iterator[tuple[int, list[bytes]]]:
        encoded = (msgspec.json.encode(sample) for sample in self._samples)
        size = BATCH if self._dispatcher.budget.limit is None else FEW
        while not self._stopping and (batch := list(islice(encoded, size))):
            self._read += len(batch)
            yield self._read - len(batch), batch

    async def _ask(self, batch: tuple[int, list[bytes]]) -> tuple[list[bytes], Part | RagaugeError]:
        """Have a worker score a batch. Ray repeats this elsewhere if the worker is lost."""
        worker = await self._free.get()
        try:
            return batch[1], await worker.score.remote(*batch)
        finally:
            self._free.put_nowait(worker)

    def _add(self, encoded: Sequence[bytes], part: Part) -> None:
        for record in encoded[: part.samples]:
            self._digest.update(record)
        settings = self._settings
        settings.left_out.update(part.left_out)
        settings.metrics = tuple(metric for metric in settings.metrics if metric.key not in part.left_out)
        self._accumulators.extend(part.scores)
        self._record.samples += part.samples

    def _count(self, part: Part) -> None:
        """What was asked and paid, also for samples after the one at which the run stopped."""
        dispatcher = self._dispatcher
        for name in ("asked", "reused", "labelled"):
            setattr(dispatcher, name, getattr(dispatcher, name) + getattr(part, name))
        dispatcher.disputed |= part.disputed
        dispatcher.budget.exceeded |= part.exceeded
        spent = dispatcher.budget.spent
        for name in spent.__struct_fields__:
            setattr(spent, name, getattr(spent, name) + getattr(part.spent, name))
