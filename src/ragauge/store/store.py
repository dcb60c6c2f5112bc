"""The store: judgments, so that none is paid for twice, runs, and people's labels, in SQLite or PostgreSQL."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

from ragauge.errors import UsageError
from ragauge.questions import Judgment, Question
from ragauge.scores import RunRecord, SampleRecord
from ragauge.store import tables
from ragauge.store.database import Database, store_errors
from ragauge.store.texts import TextNumbers
from ragauge.types import Call, Failure, ModelResponse

if TYPE_CHECKING:
    from ragauge.store.postgres import Postgres, PostgresUrl


class Store:
    """Judgments, runs and labels in one file or database. Open one with `Store.open` or `Store.temporary`.

    Threads may share a store, and several processes may write to one place at once. What a method has written when it
    returns survives a crash of the process. Methods raise StoreError where the place cannot be read or written.
    """

    def __init__(self, database: Database | Postgres, folder: Path | None = None) -> None:
        """database: open. folder: removed with all its files when the store is closed."""
        self._opened = database
        self._numbers = TextNumbers()
        self._close = weakref.finalize(self, _close, database, folder)

    @classmethod
    def open(cls, path: Place, *, to_read: bool = False) -> Store:
        """Open a store, which is created if it does not exist.

        Args:
            path: a file whose name ends in .db or .sqlite; or a folder, in which the file is `store.db`; or the URL of
                a PostgreSQL database, postgresql://USER@HOST/DATABASE.
            to_read: accept a place that cannot be written to; methods that write then raise StoreError.

        Raises:
            StoreError: the store cannot be opened, is none, or was written by a newer version.
            UsageError: the URL is malformed, or psycopg is not installed.
        """
        if is_url(path):
            from ragauge.store.postgres import Postgres

            return cls(Postgres(path, to_read=to_read))
        place = Path(str(path))
        with store_errors(place, "open it"):
            is_file = place.is_file() or (place.suffix in (".db", ".sqlite") and not place.is_dir())
        return cls(Database(place if is_file else place / "store.db", to_read=to_read))

    @staticmethod
    def exists(place: Place) -> bool:
        """Whether a place is there: a file, a folder, or a database, which only opening it reaches."""
        return is_url(place) or Path(str(place)).exists()

    @classmethod
    def temporary(cls) -> Store:
        """A private store that is deleted when it is closed, or when the interpreter ends."""
        folder = Path(tempfile.mkdtemp(prefix="ragauge-"))
        return cls(Database(folder / "store.db", durable=False), folder)

    @property
    def _database(self) -> Database | Postgres:
        """The file or database that every method reads and writes."""
        return self._opened

    @property
    def place(self) -> Place:
        """The file or URL, at which another process can open it."""
        return self._database.path if isinstance(self._database, Database) else self._database.url

    @property
    def path(self) -> Path:
        """The path of the file. Raises UsageError for a store in PostgreSQL."""
        if not isinstance(self._database, Database):
            raise UsageError(f"the store {self._database.url} is not a file")
        return self._database.path

    @property
    def folder(self) -> Path | None:
        """The folder of the file, for what accompanies a store; None for a store in PostgreSQL."""
        return self.path.parent if isinstance(self._database, Database) else None

    def close(self) -> None:
        """Close the store. Closing it twice has no effect."""
        self._close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # judgments

    def find(self, keys: Sequence[str]) -> dict[str, Judgment]:
        """The stored judgments with these keys, by key."""
        return self._database.read("find judgments", tables.find_judgments, keys)

    def keep(self, answered: Sequence[Judgment], made: Sequence[Call] = ()) -> None:
        """Add judgments and the calls that were made for them; all of them or, where this raises, none.

        An answer that is stored under the same key already is not replaced. Raises ValueError for a judgment whose
        answer is a Failure.
        """
        new = self._database.write("keep judgments", tables.keep_judgments, answered, made, self._numbers)
        self._numbers.remember(new)

    def calls(self) -> Iterator[Call]:
        """All calls of judges, in the order in which they ended."""
        yield from self._database.read("read calls", tables.all_calls)

    def judgments(self) -> Iterator[Judgment]:
        """All judgments, oldest first, read in batches."""
        last, found = self._judgments_after(0)
        while found:
            yield from found
            last, found = self._judgments_after(last)

    def _judgments_after(self, last: int) -> tuple[int, list[Judgment]]:
        return self._database.read("read judgments", tables.judgments_after, last)

    def copy_to(self, other: Store, progress: Callable[[int], None] | None = None) -> tuple[int, int]:
        """Add all judgments of this store to another, except those that it has; runs, calls and labels stay here.

        progress: called with the number of judgments read. Returns how many were read, and how many of them were new.
        """
        read = new = 0
        last, found = self._judgments_after(0)
        while found:
            known = other.find([judgment.key for judgment in found])
            other.keep([judgment for judgment in found if judgment.key not in known])
            read, new = read + len(found), new + len(found) - len(known)
            if progress:
                progress(read)
            last, found = self._judgments_after(last)
        return read, new

    # responses of systems under test

    def find_responses(self, keys: Sequence[str]) -> dict[str, ModelResponse]:
        """The stored responses with these keys, by key."""
        return self._database.read("find responses", tables.find_responses, keys)

    def keep_responses(self, given: Sequence[ModelResponse], made: Sequence[Call] = ()) -> None:
        """Add responses and the calls that were made for them; a stored response is not replaced."""
        self._database.write("keep responses", tables.keep_responses, given, made)

    # runs

    def begin(self, run: RunRecord) -> None:
        """Add a run. Raises StoreError where its id is taken."""
        self._database.write(f"begin run {run.id!r}", tables.begin, run)

    def keep_samples(self, run_id: str, first: int, records: Sequence[SampleRecord]) -> None:
        """Write `records` at positions `first`, `first + 1`, ... of a run, over what is there.

        Raises UnknownName where there is no run with exactly this id.
        """
        self._database.write("keep samples", tables.keep_samples, run_id, first, records)

    def finish(self, run: RunRecord) -> None:
        """Replace the record of the run with this id. Raises UnknownName where there is none."""
        self._database.write(f"finish run {run.id!r}", tables.finish, run)

    def run(self, wanted: str) -> RunRecord:
        """Find a run.

        Args:
            wanted: its id; or its name, of which the newest run is meant; or the beginning of its id; or "latest".

        Raises:
            UnknownName: no run matches.
            UsageError: several ids begin so.
        """
        return self._database.read("read runs", tables.find_run, wanted)

    def runs(self) -> list[RunRecord]:
        """All runs, newest first by the order in which they were begun in this store."""
        return self._database.read("read runs", tables.all_runs)

    def size(self, run_id: str) -> int:
        """The number of samples of a run so far, also while it is in progress. Raises UnknownName as `values`."""
        return self._database.read("read samples", tables.size, run_id)

    def sample(self, run_id: str, position: int) -> SampleRecord:
        """The sample at a position, counted from 0. Raises IndexError where the run has none there."""
        for record in self.samples(run_id, position, position + 1):
            return record
        raise IndexError(f"run {run_id!r} has no sample at position {position}")

    def samples(self, run_id: str, start: int = 0, stop: int | None = None) -> Iterator[SampleRecord]:
        """The samples at positions `start` to before `stop`, in order, read in batches."""
        while found := self._samples_from(run_id, start, stop):
            yield from found.values()
            start = max(found) + 1

    def _samples_from(self, run_id: str, start: int, stop: int | None) -> dict[int, SampleRecord]:
        return self._database.read("read samples", tables.samples, run_id, start, stop)

    def values(self, run_id: str, metric: str) -> list[float | None]:
        """The values of one metric by position, without reading the samples; None where a sample has no value.

        Raises UnknownName where there is no such run, or no sample of it has a score by that name.
        """
        return self._database.read("read values", tables.values, run_id, metric)

    # people's labels

    def keep_labels(self, given: Sequence[Judgment], *, blind: str = "", chance: bool = False) -> None:
        """Add people's labels. Earlier ones are not overwritten; the latest of a question counts.

        Args:
            given: labels, as made by `ragauge.store.label`.
            blind: for labels given without sight of a judge's verdict, the hash of the data that their sample is from
                (`RunRecord.data_hash`); "" for others.
            chance: whether their sample was drawn at random.
        """
        self._database.write("keep labels", tables.keep_labels, given, blind, chance)

    def find_labels(self, questions: Sequence[Question]) -> dict[Question, Judgment]:
        """The latest label of each question that has one, by any person."""
        return self._database.read("find labels", tables.find_labels, questions)

    def labels(self, *, blind: str | None = None, chance: bool = False) -> list[Judgment]:
        """All labels, oldest first, including superseded ones.

        Args:
            blind: only labels given blind on samples of the data with this hash; None for all.
            chance: only labels whose sample was drawn at random.
        """
        return self._database.read("read labels", tables.all_labels, blind, chance)


Place: TypeAlias = "str | Path | PostgresUrl"


def is_url(place: object) -> bool:
    """Whether a place of a store is a PostgreSQL database, not a file."""
    return not isinstance(place, Path) and str(place).startswith(("postgresql://", "postgres://"))


def _close(database: Database | Postgres, folder: Path | None) -> None:
    database.close()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


#: How many samples are held in memory.
MEMORY_LIMIT = 1000


class MemoryStore(Store):
    """The judgments and samples of one run.

    It moves to a temporary file, once and for all, when it holds more than MEMORY_LIMIT samples, or is asked for
    something that a run does not need: a second run, labels, responses, or the list of its judgments.
    """

    def __init__(self) -> None:
        self._file: Store | None = None
        self._lock = RLock()
        self._judgments: dict[str, Judgment] = {}
        self._calls: list[Call] = []
        self._run: RunRecord | None = None
        self._records: list[SampleRecord] = []
        self._numbers = TextNumbers()

    @property
    def _database(self) -> Database | Postgres:
        """The temporary file, made when it is first needed, with everything that was in memory."""
        with self._lock:
            if self._file is None:
                self._file = Store.temporary()
                self._file.keep(list(self._judgments.values()), self._calls)
                if self._run is not None:
                    self._file.begin(self._run)
                    self._file.keep_samples(self._run.id, 0, self._records)
                self._judgments, self._calls, self._records = {}, [], []
            return self._file._database

    def close(self) -> None:
        """Remove the temporary file, if there is one."""
        if self._file is not None:
            self._file.close()

    def find(self, keys: Sequence[str]) -> dict[str, Judgment]:
        """As of any store."""
        if self._file is not None:
            return super().find(keys)
        return {key: self._judgments[key] for key in keys if key in self._judgments}

    def keep(self, answered: Sequence[Judgment], made: Sequence[Call] = ()) -> None:
        """As of any store."""
        with self._lock:
            if self._file is not None:
                return super().keep(answered, made)
            if any(isinstance(judgment.answer, Failure) for judgment in answered):
                raise ValueError("a failure is no judgment to keep")
            for judgment in answered:
                self._judgments.setdefault(judgment.key, judgment)
            self._calls.extend(made)
            return None

    def find_labels(self, questions: Sequence[Question]) -> dict[Question, Judgment]:
        """As of any store; labels are kept in a file alone."""
        return super().find_labels(questions) if self._file is not None else {}

    def begin(self, run: RunRecord) -> None:
        """As of any store."""
        if self._run is None:
            self._run = run
        else:
            super().begin(run)

    def keep_samples(self, run_id: str, first: int, records: Sequence[SampleRecord]) -> None:
        """As of any store."""
        with self._lock:
            if self._holds(run_id) and first + len(records) <= MEMORY_LIMIT:
                self._records[first : first + len(records)] = records
            else:
                super().keep_samples(run_id, first, records)

    def finish(self, run: RunRecord) -> None:
        """As of any store."""
        if self._holds(run.id):
            self._run = run
        else:
            super().finish(run)

    def run(self, wanted: str) -> RunRecord:
        """As of any store."""
        return self._run if self._run is not None and self._holds(wanted) else super().run(wanted)

    def size(self, run_id: str) -> int:
        """As of any store."""
        return len(self._records) if self._holds(run_id) else super().size(run_id)

    def samples(self, run_id: str, start: int = 0, stop: int | None = None) -> Iterator[SampleRecord]:
        """As of any store."""
        if self._holds(run_id):
            return islice(self._records, max(start, 0), None if stop is None else max(stop, 0))
        return super().samples(run_id, start, stop)

    def values(self, run_id: str, metric: str) -> list[float | None]:
        """As of any store."""
        if self._holds(run_id) and any(metric in record.scores for record in self._records):
            return [record.scores[metric].value if metric in record.scores else None for record in self._records]
        return super().values(run_id, metric)

    def _holds(self, run_id: str) -> bool:
        """Whether this run is in memory."""
        return self._file is None and self._run is not None and self._run.id == run_id
