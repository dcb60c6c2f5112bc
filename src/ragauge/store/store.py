"""The store: judgments, so that none is paid for twice, runs, and people's labels, in one SQLite file."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from ragauge.questions import Judgment, Question
from ragauge.scores import RunRecord, SampleRecord
from ragauge.store import tables
from ragauge.store.database import Database, store_errors
from ragauge.store.texts import TextNumbers
from ragauge.types import Call, ModelResponse


class Store:
    """Judgments, runs and labels in one file. Open one with `Store.open` or `Store.temporary`.

    Threads may share a store, and several processes may write to one file at once. What a method has written when it
    returns survives a crash of the process. Methods raise StoreError where the file cannot be read or written.
    """

    def __init__(self, database: Database, folder: Path | None = None) -> None:
        """database: the open file. folder: removed with all its files when the store is closed."""
        self._opened = database
        self._numbers = TextNumbers()
        self._close = weakref.finalize(self, _close, database, folder)

    @classmethod
    def open(cls, path: str | Path, *, to_read: bool = False) -> Store:
        """Open a store, which is created if it does not exist.

        Args:
            path: a file whose name ends in .db or .sqlite, or a folder, in which the file is `store.db`.
            to_read: accept a place that cannot be written to; methods that write then raise StoreError.

        Raises:
            StoreError: the file cannot be opened, is not a store, or was written by a newer version.
        """
        place = Path(path)
        with store_errors(place, "open it"):
            is_file = place.is_file() or (place.suffix in (".db", ".sqlite") and not place.is_dir())
        return cls(Database(place if is_file else place / "store.db", to_read=to_read))

    @classmethod
    def temporary(cls) -> Store:
        """A private store that is deleted when it is closed, or when the interpreter ends."""
        folder = Path(tempfile.mkdtemp(prefix="ragauge-"))
        return cls(Database(folder / "store.db", durable=False), folder)

    @property
    def _database(self) -> Database:
        """The file that every method reads and writes."""
        return self._opened

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._database.path

    def close(self) -> None:
        """Close the file. Closing it twice has no effect."""
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
        with self._database.reading("find judgments") as db:
            return tables.find_judgments(db, keys)

    def keep(self, answered: Sequence[Judgment], made: Sequence[Call] = ()) -> None:
        """Add judgments and the calls that were made for them; all of them or, where this raises, none.

        An answer that is stored under the same key already is not replaced. Raises ValueError for a judgment whose
        answer is a Failure.
        """
        with self._database.writing("keep judgments") as db:
            new = tables.keep_judgments(db, answered, self._numbers)
            tables.keep_calls(db, made)
        self._numbers.remember(new)

    def calls(self) -> Iterator[Call]:
        """All calls of judges, in the order in which they ended."""
        with self._database.reading("read calls") as db:
            found = tables.all_calls(db)
        yield from found

    def judgments(self) -> Iterator[Judgment]:
        """All judgments, oldest first, read in batches."""
        last, found = self._judgments_after(0)
        while found:
            yield from found
            last, found = self._judgments_after(last)

    def _judgments_after(self, last: int) -> tuple[int, list[Judgment]]:
        with self._database.reading("read judgments") as db:
            return tables.judgments_after(db, last)

    # responses of systems under test

    def find_responses(self, keys: Sequence[str]) -> dict[str, ModelResponse]:
        """The stored responses with these keys, by key."""
        with self._database.reading("find responses") as db:
            return tables.find_responses(db, keys)

    def keep_responses(self, given: Sequence[ModelResponse], made: Sequence[Call] = ()) -> None:
        """Add responses and the calls that were made for them; a stored response is not replaced."""
        with self._database.writing("keep responses") as db:
            tables.keep_responses(db, given)
            tables.keep_calls(db, made)

    # runs

    def begin(self, run: RunRecord) -> None:
        """Add a run. Raises StoreError where its id is taken."""
        with self._database.writing(f"begin run {run.id!r}") as db:
            tables.begin(db, run)

    def keep_samples(self, run_id: str, first: int, records: Sequence[SampleRecord]) -> None:
        """Write `records` at positions `first`, `first + 1`, ... of a run, over what is there.

        Raises UnknownName where there is no run with exactly this id.
        """
        with self._database.writing("keep samples") as db:
            tables.keep_samples(db, run_id, first, records)

    def finish(self, run: RunRecord) -> None:
        """Replace the record of the run with this id. Raises UnknownName where there is none."""
        with self._database.writing(f"finish run {run.id!r}") as db:
            tables.finish(db, run)

    def run(self, wanted: str) -> RunRecord:
        """Find a run.

        Args:
            wanted: its id; or its name, of which the newest run is meant; or the beginning of its id; or "latest".

        Raises:
            UnknownName: no run matches.
            UsageError: several ids begin so.
        """
        with self._database.reading("read runs") as db:
            return tables.find_run(db, wanted)

    def runs(self) -> list[RunRecord]:
        """All runs, newest first by the order in which they were begun in this store."""
        with self._database.reading("read runs") as db:
            return tables.all_runs(db)

    def size(self, run_id: str) -> int:
        """The number of samples of a run so far, also while it is in progress. Raises UnknownName as `values`."""
        with self._database.reading("read samples") as db:
            return tables.size(db, run_id)

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
        with self._database.reading("read samples") as db:
            return tables.samples(db, run_id, start, stop)

    def values(self, run_id: str, metric: str) -> list[float | None]:
        """The values of one metric by position, without reading the samples; None where a sample has no value.

        Raises UnknownName where there is no such run, or no sample of it has a score by that name.
        """
        with self._database.reading("read values") as db:
            return tables.values(db, run_id, metric)

    # people's labels

    def keep_labels(self, given: Sequence[Judgment], *, blind: str = "", chance: bool = False) -> None:
        """Add people's labels. Earlier ones are not overwritten; the latest of a question counts.

        Args:
            given: labels, as made by `ragauge.store.label`.
            blind: for labels given without sight of a judge's verdict, the hash of the data that their sample is from
                (`RunRecord.data_hash`); "" for others.
            chance: whether their sample was drawn at random.
        """
        with self._database.writing("keep labels") as db:
            tables.keep_labels(db, given, blind, chance)

    def find_labels(self, questions: Sequence[Question]) -> dict[Question, Judgment]:
        """The latest label of each question that has one, by any person."""
        with self._database.reading("find labels") as db:
            return tables.find_labels(db, questions)

    def labels(self, *, blind: str | None = None, chance: bool = False) -> list[Judgment]:
        """All labels, oldest first, including superseded ones.

        Args:
            blind: only labels given blind on samples of the data with this hash; None for all.
            chance: only labels whose sample was drawn at random.
        """
        with self._database.reading("read labels") as db:
            return tables.all_labels(db, blind, chance)


def _close(database: Database, folder: Path | None) -> None:
    database.close()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
