"""Scoring: samples concurrently, each through its rounds of questions, into a run that is kept as it grows."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

import msgspec

from ragauge.errors import RunFailed, UsageError
from ragauge.host import user_secret
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.needs.base import EvidenceTable, Need, Rounds
from ragauge.needs.checks import REFUSAL_KEY
from ragauge.readers.columns import folded
from ragauge.report.wording import counted, dollars
from ragauge.run.aggregation import Accumulators
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Stopped
from ragauge.run.judge_error import state_judge_errors
from ragauge.run.plan import PlanCounter
from ragauge.run.prepare import Prepared, RunSettings
from ragauge.run.results import Run
from ragauge.run.sync import ordered_map
from ragauge.scores import Evidence, RunRecord, SampleRecord, ScoreRecord
from ragauge.store import opinions, settled
from ragauge.store.store import MemoryStore
from ragauge.types import TURN_KEY, Sample
from ragauge.version import VERSION

WRITE_BATCH = 32  # samples
DEFAULT_CONCURRENCY = 32  # samples
#: How many failures a sample's record keeps, each with the unusable reply.
MAX_KEPT_FAILURES = 5


class SampleScoring:
    """Scores samples concurrently, until one is stopped. taken: the number of samples begun. stopped: why, or ""."""

    def __init__(self, settings: RunSettings, dispatcher: Dispatcher) -> None:
        self.taken, self.stopped = 0, ""
        self._settings, self._dispatcher = settings, dispatcher
        self._needs = list({need.name: need for metric in settings.metrics for need in metric.needs}.values())
        self._plan_counter = None if dispatcher.budget.limit is None else PlanCounter(settings, dispatcher)
        self._stopping = False

    async def records(self, samples: Iterable[Sample]) -> AsyncGenerator[SampleRecord, None]:
        """The records in order, up to the first sample that is stopped; those in flight then are finished."""
        async with aclosing(ordered_map(self._source(samples), self.score, concurrency(self._dispatcher))) as outcomes:
            async for outcome in outcomes:
                if isinstance(outcome, Stopped):
                    self.stopped = self.stopped or str(outcome)
                elif not self.stopped:
                    yield outcome

    def _source(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        for sample in samples:
            self.taken += 1
            yield sample
            if self._stopping:
                return

    async def score(self, sample: Sample) -> SampleRecord | Stopped:
        """The record of a sample, or why no further one can be scored."""
        expected = self._plan_counter.add_sample(sample) if self._plan_counter else 0.0
        try:
            async with self._dispatcher.budget.sample(expected):
                return await score_sample(sample, self._needs, self._settings, self._dispatcher)
        except Stopped as stopped:
            self._stopping = True
            return stopped


class Evaluation:
    """One run in progress."""

    def __init__(self, task: Prepared, name: str) -> None:
        self._reading, self._samples, self._settings, self._dispatcher, self._store = task
        self._scored: list[SampleRecord] = []
        self._run_stored = False
        self._notes: Sequence[str] = ()
        self._accumulators = Accumulators(task.settings.metrics)
        self._start = time.monotonic()
        self._digest = hashlib.sha256()
        self._record = RunRecord(
            id=f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}",
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            data=task.reading.name,
            metrics=tuple(metric.spec for metric in task.settings.metrics),
            named=task.settings.by_name,
            judges={kind: judge.identity for kind, judge in task.dispatcher.router.judges.items()},
            version=VERSION,
            name=name,
            made_by=hashlib.sha256(user_secret()).hexdigest()[:12] if self._store.is_own_file else "",
        )

    async def run(self, progress: Callable[[int], None] | None) -> Run:
        """Score all samples; if the run ends early, what is done is kept and marked, and nothing if nothing is done."""
        status, keep_run = "interrupted", True
        try:
            async with self._dispatcher.opened():
                status = await self._measure(progress)
        except UsageError:
            keep_run = self._run_stored
            raise
        except RunFailed as error:
            if not self._run_stored:
                self._store = MemoryStore()
            error.run = Run(self._store, self._record, self._settings.metrics)
            status, self._record.stopped = "stopped", self._record.stopped or str(error)
            raise
        finally:
            if keep_run:
                self._finish(status)
        run = Run(self._store, self._record, self._settings.metrics)
        run.index = self._reading.index
        return run

    async def _measure(self, progress: Callable[[int], None] | None) -> str:
        done = 0
        scoring = SampleScoring(self._settings, self._dispatcher)
        async with aclosing(scoring.records(self._samples)) as records:
            async for record in records:
                self._begin()
                self._scored.append(record)
                if len(self._scored) == WRITE_BATCH:
                    self._keep()
                done += 1
                if progress:
                    progress(done)
        return self._ended(done, scoring.taken, scoring.stopped)

    def _ended(self, done: int, taken: int, stopped: str) -> str:
        """How the run ended, of which `done` of `taken` samples count; stopped: why it was stopped, if it was."""
        if not stopped:
            return "finished"
        budget = self._dispatcher.budget
        if not done and not (budget.exceeded and budget.spent.cost):
            self._record.stopped = stopped
            raise RunFailed(f"no sample was done: {stopped}")
        left = taken - done + sum(1 for _ in self._samples)
        spent = f" ({dollars(budget.spent.cost)} spent)" if budget.spent.cost else ""
        self._record.stopped = f"{stopped}{spent}, with {counted(left, 'sample')} to go"
        return "stopped"

    def _begin(self) -> None:
        if not self._run_stored:
            self._store.begin(self._record)
            self._run_stored = True

    def _keep(self) -> None:
        records, self._scored = self._scored, []
        self._store.keep_samples(self._record.id, self._record.samples, records)
        self._record.samples += len(records)
        for record in records:
            self._digest.update(msgspec.json.encode(record.sample))
            self._accumulators.add(record)

    def _finish(self, status: str) -> None:
        self._begin()
        self._keep()
        record, dispatcher, accumulators = self._record, self._dispatcher, self._accumulators
        metrics = self._settings.metrics
        record.status, record.finished = status, datetime.now(UTC).isoformat(timespec="seconds")
        record.seconds = round(time.monotonic() - self._start, 3)
        record.metrics, record.left_out = tuple(metric.spec for metric in metrics), dict(self._settings.left_out)
        record.asked, record.reused, record.spent = dispatcher.asked, dispatcher.reused, dispatcher.budget.spent
        notes = list(self._notes) or [note for judge in dispatcher.router.unique for note in judge.notes()]
        if foreign := self._store.foreign:
            own = "not made by you on this machine, or made by an earlier version; --only-own asks anew"
            notes.append(f"{counted(foreign, 'judgment')} in the store {own}")
        if dispatcher.disputed:
            fix = "the majority counts, of grades the mean, else the judge; `ragauge label --differences` settles them"
            notes.append(f"People differ on {counted(len(dispatcher.disputed), 'labelled question')}; {fix}")
        record.notes = tuple(notes)
        record.labels, record.labelled = len(dispatcher.labels), dispatcher.labelled
        for name, value in accumulators.fields().items():
            setattr(record, name, value)
        columns = self._reading.columns.items()
        record.fields = {field: column for field, column in columns if folded(column) != folded(field)}
        record.bad_rows = tuple(str(bad) for bad in self._reading.bad_rows)
        reads = {
            field for metric in metrics for need in metric.needs for field in " or ".join(need.reads).split(" or ")
        }
        of_calls = ("calls", "callers") if "tool_calls" in reads else ()
        record.unmeasured = {key: count for key, count in self._reading.unmeasured.items() if key not in of_calls}
        if "trace_id" not in accumulators.columns:  # of traces, most attributes describe a call
            unread = (column for column in accumulators.columns if f"metadata.{column}" not in reads)
            record.unread = tuple(column for column in unread if column not in (REFUSAL_KEY, TURN_KEY))
        record.data_hash = self._digest.hexdigest()[:32]
        record.about = {key: metric.summary for metric in metrics for key in metric.values}
        record.captions = {key: words for metric in metrics if (words := _caption(metric)) for key in metric.values}
        record.estimates = {key: estimate for key, estimate in accumulators.estimates().items() if key in record.about}
        stored = self._store.labels(by_doubt=False)  # where the judge is in doubt it errs more often than elsewhere
        if stored or dispatcher.labels:
            labels = settled({**opinions(stored), **dispatcher.labels})
            answers = {question: label.answer for question, label in labels.items()}
            state_judge_errors(record, metrics, answers, self._store)
        self._store.finish(record)


def concurrency(dispatcher: Dispatcher) -> int:
    """How many samples are judged at once; few under a limit on the cost, so that few are left half done."""
    widths = [judge.by_sample for judge in dispatcher.router.unique if judge.by_sample]
    width = max(widths, default=DEFAULT_CONCURRENCY)
    return width if dispatcher.budget.limit is None else min(width, DEFAULT_CONCURRENCY)


async def score_sample(
    sample: Sample, needs: Sequence[Need[EvidenceTable]], settings: RunSettings, dispatcher: Dispatcher
) -> SampleRecord:
    """A sample with its scores, once every question of its needs is answered. Raises Stopped where the run must end."""
    rounds = Rounds(sample, needs)
    while questions := rounds.questions:
        rounds.advance(await dispatcher.answer(questions))
        if dispatcher.unable:
            settings.check_judges(dispatcher.unable)
    scores: dict[str, ScoreRecord] = {}
    counted: dict[str, ScoreRecord] = {}
    outcomes = rounds.outcomes
    evidence: dict[str, tuple[Evidence, ...]] = {
        need.name: pieces for need in needs if (pieces := getattr(outcomes[need.name], "evidence", ()))
    }
    for metric in settings.metrics:
        own = {need.name: outcomes[need.name] for need in metric.needs}
        shown = tuple(need for need in own if need in evidence)
        kept = counted if isinstance(metric, DatasetMetric) else scores
        for key, score in metric.scores(own).items():
            kept[key] = ScoreRecord(score.value, score.undefined, score.failed, score.counts, shown, score.abstained)
    return SampleRecord(sample, scores, evidence, counted, tuple(rounds.failures[:MAX_KEPT_FAILURES]))


def _caption(metric: Measure) -> str:
    """What a metric counts, with its parameters where they are not the defaults and the key does not say them."""
    is_plain = metric.spec in (metric.name, metric.key) or not metric.caption
    return metric.caption if is_plain else f"{metric.caption}: {metric.spec}"
