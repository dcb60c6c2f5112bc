"""Evaluate: samples in, scores with evidence out."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec

from ragauge.errors import RunFailed, UsageError
from ragauge.judges.base import notes_of
from ragauge.metrics.base import DatasetMetric
from ragauge.report.wording import dollars
from ragauge.rounds import Rounds
from ragauge.run.asking import Stopped
from ragauge.run.plan import PlanCounter
from ragauge.run.prepare import LabelsLike, MetricsLike, Prepared, StoreLike, prepared
from ragauge.run.results import Accumulators, Run
from ragauge.run.scheduler import ordered_map
from ragauge.run.specs import JudgeLike
from ragauge.run.sync import blocking
from ragauge.scores import Evidence, RunRecord, SampleRecord, ScoreRecord
from ragauge.types import Sample
from ragauge.version import VERSION


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
) -> Run:
    """Measure a data set. `evaluate` works in scripts, in notebooks and under a running event loop; this is awaited.

    data: a path (.jsonl .json .csv .tsv .parquet), a list of dicts or samples, a pandas, Polars or Arrow frame, a
    Hugging Face data set; see docs/data.md.
    metrics: names and specs, in one text ("faithfulness,rouge(stemmer=true)") or a list; None measures everything
    that the data and the judge allow, and `Run.left_out` says what they do not.
    judge: "embedded", "recording:PATH", `judge_from(...)`, any object with the three members of a judge, or a mapping
    such as {"decompose": ..., "entail": ...}.
    store: a folder or file in which judgments and the run are kept; None keeps them only as long as the Run lives.
    labels: people's labels, a file or judgments, which go before any judge.
    map: field -> column, where a column has a name of its own. group: the column that says which samples belong
    together (a document, a user), so that intervals take it into account.
    limit: measure only the first so many samples. skip_bad_rows: leave out rows that cannot be read and count them.
    max_cost: in dollars; the run stops before the calls of its judges cost more, and keeps what is done. No more
    samples are begun at a time than the money is enough for.
    name: of the run. progress: called with the number of samples done.

    Raises UsageError (a metric, judge, column or row is wrong, a key is missing; nothing is asked before metrics and
    fields are checked), RunFailed (the judge cannot answer at all, or max_cost is less than a single sample is expected
    to cost), StoreError.
    """
    task = prepared(data, metrics, judge, store, labels, map, group, limit, skip_bad_rows, max_cost)
    return await Evaluation(task, name).go(progress)


evaluate = blocking(evaluate_async, "evaluate")

#: How many samples are kept at a time, and at least how many are under way at once.
AT_ONCE = 32

#: How many failures a sample's record keeps, each with the reply that was of no use.
FAILURES = 5


class Evaluation:
    """One run under way."""

    def __init__(self, task: Prepared, name: str) -> None:
        self._reading, self._samples, self._settings, self._asker, self._store = task
        self._needs = [need for metric in task.settings.metrics for need in metric.needs]
        self._scored: list[SampleRecord] = []
        self._begun = self._stopping = False
        self._drawn_so_far = 0
        self._tallies = Accumulators(task.settings.metrics)
        self._began = time.monotonic()
        self._digest = hashlib.sha256()
        self._record = RunRecord(
            id=f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}",
            started=_now(),
            data=task.reading.name,
            metrics=tuple(metric.spec for metric in task.settings.metrics),
            judges={kind: judge.identity for kind, judge in task.asker.bench.judges.items()},
            version=VERSION,
            name=name,
        )

    async def go(self, progress: Callable[[int], None] | None) -> Run:
        """Score all samples; whatever ends the run early, what is done is kept and marked.

        A run that has scored nothing yet when it is told that it cannot, for want of a key or money, leaves no trace.
        """
        status, cannot = "interrupted", False
        try:
            async with self._asker.opened():
                status = await self._measure(progress)
        except (UsageError, RunFailed):
            cannot = not self._begun
            raise
        finally:
            if not cannot:
                self._finish(status)
        return Run(self._store, self._record)

    async def _measure(self, progress: Callable[[int], None] | None) -> str:
        """Score sample by sample, many side by side; says how it ended.

        Once a sample is stopped no further one begins. Those under way are finished, since they are paid for, but
        nothing behind the first that was stopped is counted: the run is of the first samples of the data.
        """
        done, stopped = 0, ""
        async with aclosing(ordered_map(self._drawn(), self._score, self._width())) as records:
            async for record in records:
                if isinstance(record, Stopped):
                    stopped = stopped or str(record)
                if stopped:
                    continue
                assert isinstance(record, SampleRecord)
                self._take(record)
                done += 1
                if progress:
                    progress(done)
        if not stopped:
            return "finished"
        budget = self._asker.budget
        if not done and not (budget.exceeded and budget.spent.cost):
            raise RunFailed(f"{stopped}, before a single sample was done")
        left = self._drawn_so_far - done + sum(1 for _ in self._samples)
        spent = f" ({dollars(budget.spent.cost)} spent)" if budget.spent.cost else ""
        self._record.stopped = f"{stopped}{spent}, with {left} samples to go"
        return "stopped"

    def _drawn(self) -> Iterator[Sample]:
        """The samples, as long as the run is not to stop."""
        for sample in self._samples:
            self._drawn_so_far += 1
            yield sample
            if self._stopping:
                return

    def _take(self, record: SampleRecord) -> None:
        self._begin()
        self._scored.append(record)
        if len(self._scored) == AT_ONCE:
            self._keep()

    def _width(self) -> int:
        """How many samples are under way at once; few where there is a limit on the cost, so that few are half done."""
        if self._asker.budget.limit is not None:
            return AT_ONCE
        return max(AT_ONCE, *(getattr(judge, "by_sample", 0) for judge in self._asker.bench.unique()))

    async def _score(self, sample: Sample) -> SampleRecord | Stopped:
        """The record of a sample, or why there can be none."""
        waves = Rounds(sample, self._needs)
        try:
            async with self._asker.budget.sample(self._expected(sample)):
                while questions := waves.questions:
                    waves.advance(await self._asker.answer(questions))
                    self._settings.check_judges(self._asker.unable)
        except Stopped as stopped:
            self._stopping = True
            return stopped
        return self._sample_record(sample, waves)

    def _expected(self, sample: Sample) -> float:
        """The dollars that a sample is expected to cost; 0 where there is no limit to hold them against."""
        return self._counting.count(sample) if self._asker.budget.limit is not None else 0.0

    @cached_property
    def _counting(self) -> PlanCounter:
        return PlanCounter(self._settings, self._asker)

    def _sample_record(self, sample: Sample, waves: Rounds) -> SampleRecord:
        scores: dict[str, ScoreRecord] = {}
        counted: dict[str, ScoreRecord] = {}
        evidence: dict[str, tuple[Evidence, ...]] = {}
        for metric in self._settings.metrics:
            outcomes = {need.name: waves.outcomes[need.name] for need in metric.needs}
            for need, outcome in outcomes.items():
                if need not in evidence:
                    evidence[need] = getattr(outcome, "evidence", ())
            shown = tuple(need for need in outcomes if evidence[need])
            kept = counted if isinstance(metric, DatasetMetric) else scores
            for key, score in metric.scores(outcomes).items():
                kept[key] = ScoreRecord(score.value, score.undefined, score.failed, score.counts, shown)
        shown_evidence = {need: pieces for need, pieces in evidence.items() if pieces}
        return SampleRecord(sample, scores, shown_evidence, counted, tuple(waves.failures[:FAILURES]))

    def _begin(self) -> None:
        if not self._begun:
            self._store.begin(self._record)
            self._begun = True

    def _keep(self) -> None:
        """Keep the samples that were scored since the last time."""
        records, self._scored = self._scored, []
        self._store.keep_samples(self._record.id, self._record.samples, records)
        self._record.samples += len(records)
        for record in records:
            self._digest.update(msgspec.json.encode(record.sample))
            self._tallies.add(record)

    def _finish(self, status: str) -> None:
        self._begin()
        self._keep()
        record, asker = self._record, self._asker
        record.status, record.finished = status, _now()
        record.seconds = round(time.monotonic() - self._began, 3)
        record.metrics = tuple(metric.spec for metric in self._settings.metrics)
        record.left_out = dict(self._settings.left_out)
        record.asked, record.reused, record.spent = asker.asked, asker.reused, asker.budget.spent
        record.notes = tuple(note for judge in asker.bench.unique() for note in notes_of(judge))
        record.labels, record.labelled = len(asker.keeper.labels), asker.labelled
        record.failures, record.undefined = self._tallies.failures(), self._tallies.undefined()
        record.empty = self._tallies.empty
        record.bad_rows = tuple(str(bad) for bad in self._reading.bad_rows)
        record.data_hash = self._digest.hexdigest()[:32]
        measured = {key for metric in self._settings.metrics for key in metric.values}
        record.estimates = {key: one for key, one in self._tallies.estimates().items() if key in measured}
        self._store.finish(record)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
