"""Evaluate: samples in, scores with evidence out."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from ragauge.metrics.combined import DatasetMetric
from ragauge.nouns.records import RunRecord, SampleRecord, ScoreRecord
from ragauge.nouns.samples import Sample
from ragauge.nouns.scores import Evidence
from ragauge.run.blocking import blocking
from ragauge.run.preparing import LabelsLike, Prepared, StoreLike, prepared
from ragauge.run.run import Run
from ragauge.run.settings import MetricsLike
from ragauge.run.specs import JudgeLike
from ragauge.run.tally import Tallies
from ragauge.version import VERSION
from ragauge.waves import Window


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
    name: of the run. progress: called with the number of samples done.

    Raises UsageError (a metric, judge, column or row is wrong; nothing is asked before metrics and fields are
    checked), StoreError.
    """
    task = prepared(data, metrics, judge, store, labels, map, group, limit, skip_bad_rows)
    return await Evaluation(task, name).go(progress)


evaluate = blocking(evaluate_async, "evaluate")


class Evaluation:
    """One run under way."""

    def __init__(self, task: Prepared, name: str) -> None:
        self._reading, self._windows, self._settings, self._asker, self._store = task
        self._tallies = Tallies(task.settings.metrics)
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
        """Score all samples, window by window; whatever ends the run early, what is done is kept and marked."""
        self._store.begin(self._record)
        status = "interrupted"
        try:
            for window in self._windows:
                self._keep(await self._score(window))
                if progress:
                    progress(self._record.samples)
            status = "finished"
        finally:
            self._finish(status)
        return Run(self._store, self._record)

    async def _score(self, window: Sequence[Sample]) -> list[SampleRecord]:
        """The records of a window of samples."""
        waves = Window(window, [need for metric in self._settings.metrics for need in metric.needs])
        while questions := waves.questions:
            waves.advance(await self._asker.answer(questions))
            self._settings.check_judges(self._asker.unable)
        return [self._sample_record(sample, waves, i) for i, sample in enumerate(window)]

    def _sample_record(self, sample: Sample, waves: Window, position: int) -> SampleRecord:
        scores: dict[str, ScoreRecord] = {}
        counted: dict[str, ScoreRecord] = {}
        evidence: dict[str, tuple[Evidence, ...]] = {}
        for metric in self._settings.metrics:
            outcomes = waves.sample_outcomes(position, metric.needs)
            for need, outcome in outcomes.items():
                if need not in evidence:
                    evidence[need] = getattr(outcome, "evidence", ())
            shown = tuple(need for need in outcomes if evidence[need])
            kept = counted if isinstance(metric, DatasetMetric) else scores
            for key, score in metric.scores(outcomes).items():
                kept[key] = ScoreRecord(score.value, score.undefined, score.failed, score.counts, shown)
        return SampleRecord(sample, scores, {need: pieces for need, pieces in evidence.items() if pieces}, counted)

    def _keep(self, records: Sequence[SampleRecord]) -> None:
        self._store.keep_samples(self._record.id, self._record.samples, records)
        self._record.samples += len(records)
        for record in records:
            self._digest.update(msgspec.json.encode(record.sample))
            self._tallies.add(record)

    def _finish(self, status: str) -> None:
        record, asker = self._record, self._asker
        record.status, record.finished = status, _now()
        record.seconds = round(time.monotonic() - self._began, 3)
        record.metrics = tuple(metric.spec for metric in self._settings.metrics)
        record.left_out = dict(self._settings.left_out)
        record.asked, record.reused = asker.asked, asker.reused
        record.labels, record.labelled = len(asker.labels), asker.labelled
        record.failures = self._tallies.failures()
        record.bad_rows = tuple(str(bad) for bad in self._reading.bad_rows)
        record.data_hash = self._digest.hexdigest()[:32]
        measured = {key for metric in self._settings.metrics for key in metric.values}
        record.estimates = {key: one for key, one in self._tallies.estimates().items() if key in measured}
        self._store.finish(record)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
