"""A store in memory, for a run that nobody asked to keep; when it grows large it goes on in a temporary file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from threading import RLock

from ragauge.questions import Judgment, Question
from ragauge.scores import RunRecord, SampleRecord
from ragauge.store.database import Database
from ragauge.store.store import Store
from ragauge.store.texts import TextNumbers
from ragauge.types import Call, Failure

#: How many samples are held in memory.
LIMIT = 1000


class MemoryStore(Store):
    """The judgments and samples of one run.

    It moves to a temporary file, once and for all, when it holds more than LIMIT samples, or is asked for something
    that a run does not need: a second run, labels, responses, or the list of its judgments.
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
    def _database(self) -> Database:
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
            if self._holds(run_id) and first + len(records) <= LIMIT:
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
