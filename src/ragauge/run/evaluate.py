"""Evaluate: samples in, scores with evidence out."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ragauge.errors import BadParameter, RunFailed, UsageError
from ragauge.judges.base import JudgeLike, JudgeRouter, LookupJudge, notes_of
from ragauge.metrics.base import DatasetMetric
from ragauge.metrics.registry import value_of
from ragauge.needs.base import EvidenceTable, Need, Rounds, missing_fields
from ragauge.readers import read
from ragauge.report.wording import dollars
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Stopped
from ragauge.run.plan import PlanCounter
from ragauge.run.prepare import LabelsLike, MetricsLike, Prepared, RunSettings, StoreLike, opened_store, prepared
from ragauge.run.results import Accumulators, Run, SampleScores
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking, ordered_map
from ragauge.scores import Evidence, RunRecord, SampleRecord, ScoreRecord
from ragauge.types import Sample
from ragauge.version import VERSION

if TYPE_CHECKING:
    from ragauge.run.cluster import RayEngine


async def evaluate_async(
    data: Any,
    metrics: MetricsLike = None,
    judge: JudgeLike = "embedded",
    store: StoreLike = None,
    *,
    labels: LabelsLike = None,
    map: Mapping[str, str] | None = None,
    group: str | None = None,
    limit: int | None = None,
    skip_bad_rows: bool = False,
    max_cost: float | None = None,
    name: str = "",
    progress: Callable[[int], None] | None = None,
    engine: str | RayEngine | None = None,
) -> Run:
    """Score a data set with metrics, and return the run.

    `evaluate` works in scripts, in notebooks and under a running event loop; `evaluate_async` is to be awaited.

    Args:
        data: a path (.jsonl .json .csv .tsv .xlsx .parquet), a list of dicts or samples, a pandas, Polars or Arrow
            frame, or a Hugging Face data set; see docs/data.md.
        metrics: names and specs, as one string ("faithfulness,rouge(stemmer=true)") or a list. None: every metric that
            the data and the judge allow; `Run.left_out` has the others, with the reasons.
        judge: a spec such as "embedded", "openai/gpt-4o-mini" or "recording:PATH", a judge, a client or model of
            another library, or a mapping from kinds of question to these, such as {"entail": ..., "*": "embedded"}, or
            from languages, such as {"de": ..., "*": "embedded"}.
        store: a folder or file that keeps judgments and the run. None: both live only as long as the returned Run.
        labels: people's labels, as a file or as judgments; they take precedence over any judge.
        map: field -> column, for columns under names of your own.
        group: the column that says which samples are not independent (same document, same user); intervals account
            for it.
        limit: score only the first `limit` samples.
        skip_bad_rows: skip rows that cannot be read, and count them, instead of ending with an error.
        max_cost: dollars; the run stops before its calls cost more, and keeps what is done.
        name: a name for the run.
        progress: called with the number of samples done; None: a bar in notebooks, nothing elsewhere.
        engine: "ray", "ray:HOST:PORT" or `rg.ray(...)` to score in several processes or on several machines, and to
            read folders, patterns such as `answers/*.parquet`, and buckets; see docs/scale.md. None: this process.

    Returns:
        The run: estimates with intervals, scores with evidence.

    Raises:
        UsageError: a metric, judge, column or row is wrong, or a key is missing; nothing is asked before metrics and
            fields have been checked.
        RunFailed: the judge cannot answer at all, or `max_cost` is below the expected cost of one sample.
        StoreError: the store cannot be read or written.
    """
    total = len(data) if isinstance(data, Sized) and not isinstance(data, str) else None
    shown = progress or notebook_progress(limit or total)
    reading = (map, group, limit, skip_bad_rows, max_cost)
    if engine is not None:
        from ragauge.run.cluster import evaluate_on_ray

        return await evaluate_on_ray(engine, data, metrics, judge, store, labels, *reading, name, shown)
    return await Evaluation(prepared(data, metrics, judge, store, labels, *reading), name).run(shown)


evaluate = blocking(evaluate_async, "evaluate")

WRITE_BATCH = 32  # samples
MIN_CONCURRENCY = 32  # samples
#: How many failures a sample's record keeps, each with the unusable reply.
MAX_KEPT_FAILURES = 5


def notebook_progress(total: int | None) -> Callable[[int], None] | None:
    """Shows the number of samples done as a bar below the cell of a notebook; None elsewhere. total: if known."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    known = "" if total is None else f' max="{total}"'
    bar = display(HTML(f"<progress{known}></progress>"), display_id=True)

    def show(done: int) -> None:
        value = "" if total is None else f' value="{done}"'
        bar.update(HTML(f"<progress{known}{value}></progress> {done} samples judged"))

    return show


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
        async with aclosing(ordered_map(self._source(samples), self._score, concurrency(self._dispatcher))) as found:
            async for one in found:
                if isinstance(one, Stopped):
                    self.stopped = self.stopped or str(one)
                elif not self.stopped:
                    yield one

    def _source(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        for sample in samples:
            self.taken += 1
            yield sample
            if self._stopping:
                return

    async def _score(self, sample: Sample) -> SampleRecord | Stopped:
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
            judges={kind: judge.identity for kind, judge in task.dispatcher.router.judges.items()},
            version=VERSION,
            name=name,
        )

    async def run(self, progress: Callable[[int], None] | None) -> Run:
        """Score all samples; if the run ends early, what is done is kept and marked, and nothing if nothing is done."""
        status, keep_run = "interrupted", True
        try:
            async with self._dispatcher.opened():
                status = await self._measure(progress)
        except (UsageError, RunFailed):
            keep_run = self._run_stored
            raise
        finally:
            if keep_run:
                self._finish(status)
        return Run(self._store, self._record, self._settings.metrics)

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
            raise RunFailed(f"{stopped}, before a single sample was done")
        left = taken - done + sum(1 for _ in self._samples)
        spent = f" ({dollars(budget.spent.cost)} spent)" if budget.spent.cost else ""
        self._record.stopped = f"{stopped}{spent}, with {left} samples to go"
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
        record, dispatcher, found = self._record, self._dispatcher, self._accumulators
        metrics = self._settings.metrics
        record.status, record.finished = status, datetime.now(UTC).isoformat(timespec="seconds")
        record.seconds = round(time.monotonic() - self._start, 3)
        record.metrics, record.left_out = tuple(metric.spec for metric in metrics), dict(self._settings.left_out)
        record.asked, record.reused, record.spent = dispatcher.asked, dispatcher.reused, dispatcher.budget.spent
        record.notes = tuple(self._notes or (note for judge in dispatcher.router.unique() for note in notes_of(judge)))
        record.labels, record.labelled = len(dispatcher.labels), dispatcher.labelled
        for name, value in found.fields().items():
            setattr(record, name, value)
        record.bad_rows = tuple(str(bad) for bad in self._reading.bad_rows)
        record.data_hash = self._digest.hexdigest()[:32]
        record.about = {key: metric.summary for metric in metrics for key in metric.values}
        record.estimates = {key: one for key, one in found.estimates().items() if key in record.about}
        self._store.finish(record)


def concurrency(dispatcher: Dispatcher) -> int:
    """How many samples are judged at once; few under a limit on the cost, so that few are left half done."""
    if dispatcher.budget.limit is not None:
        return MIN_CONCURRENCY
    return max(MIN_CONCURRENCY, *(getattr(judge, "by_sample", 0) for judge in dispatcher.router.unique()))


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
            kept[key] = ScoreRecord(score.value, score.undefined, score.failed, score.counts, shown)
    return SampleRecord(sample, scores, evidence, counted, tuple(rounds.failures[:MAX_KEPT_FAILURES]))


async def score_async(
    sample: Any,
    metrics: MetricsLike = None,
    judge: JudgeLike = "embedded",
    store: StoreLike = None,
    *,
    attempts: int = 1,
    strict: bool = False,
    **options: Any,
) -> SampleScores:
    """The scores of one sample, for programs that score an answer right away; `score` is the synchronous form.

        rg.score({"query": "Who wrote it?", "response": "Ada.", "contexts": ["Ada wrote it."]})["faithfulness"]

    Make a judge that is used repeatedly once, with `load_judge` or `load_judges`; threads may share it through `score`.
    For many samples `evaluate` is faster.

    Args:
        sample: a dict, or anything else that can be a row of `evaluate`.
        metrics, judge, store, options: as for `evaluate`.
        attempts: the most runs that are made while a score fails; a retry asks only the unanswered questions.
        strict: raise RunFailed if a score still fails.

    Returns:
        The scores by metric key.

    Raises:
        RunFailed: a score failed and `strict` is set; also as `evaluate`.
        UsageError, StoreError: as `evaluate`.
    """
    if attempts < 1:
        raise BadParameter(f"attempts={attempts} must be 1 or more")
    opened = opened_store(store)
    for _ in range(attempts):
        run = await evaluate_async([sample], metrics, judge, opened, **{"progress": lambda _: None, **options})
        if not run.record.failures:
            break
    if strict and run.record.failures:
        metric, reason = next(iter(run.record.failures.items()))
        raise RunFailed(f"{metric}: {reason}")
    return run.scores[0]


score = blocking(score_async, "score", shared=True)


class Scorer:
    """Scores a sample by one metric at a time, as evaluators of other libraries do, with the calls of all at once.

        scorer = rg.Scorer(["faithfulness", "answer_relevance"], judge="openai/gpt-4o-mini")
        scores = await scorer.score_async("faithfulness", {"query": ..., "response": ..., "contexts": [...]})

    Args:
        metrics: values of metrics, such as "faithfulness" or "rouge.rougeL"; `values` maps each to its metric and the
            key of its score.
        judge, store, options: as for `evaluate`; without a store, judgments live as long as the scorer.

    Raises:
        UsageError: a metric or judge is unknown.
    """

    def __init__(
        self, metrics: Iterable[str], judge: JudgeLike = "embedded", store: StoreLike = None, **options: Any
    ) -> None:
        self.values = {name: value_of(name) for name in metrics}
        self._router, self._store, self._options = load_judges(judge), opened_store(store), options
        self._in_flight: dict[Any, asyncio.Task[SampleScores]] = {}

    async def score_async(self, name: str, row: Any) -> SampleScores:
        """The scores of one metric, and of the others that the sample has the fields for.

        Concurrent requests for other metrics of the same sample share one run. Raises as `evaluate` does.
        """
        (sample,) = read([row])
        wanted, _ = self.values[name]
        able = [one for one, _ in self.values.values() if one is wanted or not missing_fields(one.needs, [sample])]
        asked = (asyncio.get_running_loop(), repr(sample), tuple(one.spec for one in able))
        if not (scoring := self._in_flight.get(asked)):
            work = score_async(sample, able, self._router, self._store, **self._options)
            scoring = self._in_flight[asked] = asyncio.ensure_future(work)
            scoring.add_done_callback(lambda _: self._in_flight.pop(asked))
        return await asyncio.shield(scoring)

    score = blocking(score_async, "score", shared=True)


def rescore(run: Run, metrics: MetricsLike = None) -> Run:
    """Score the samples of a run again from the judgments in its store; no judge is asked.

    Args:
        run: a run whose store is open.
        metrics: as for `evaluate`; None: those of the run.

    Returns:
        The new run, kept in the same store. A score that needs a judgment which is not there is failed, and says so.

    Raises:
        UsageError: as `evaluate`.
    """
    router = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.record.judges.items()})
    samples = (record.sample for record in run.records())
    return evaluate(samples, metrics or run.record.metrics, router, run.store, name=run.record.name)
