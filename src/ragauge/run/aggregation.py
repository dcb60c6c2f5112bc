"""Aggregation: the scores of samples into the estimates of a run, and of its slices, and which of these are worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.metrics.checks import column_number
from ragauge.metrics.registry import registered_metrics
from ragauge.report.explain import compared_metrics, is_share, slice_comparisons
from ragauge.report.wording import reasons_words
from ragauge.scores import (
    Estimate,
    Gate,
    RunRecord,
    SampleRecord,
    ScoreRecord,
    Slice,
    SliceDifference,
    SystemFacts,
    slice_columns,
    slice_value,
)
from ragauge.statistics.intervals import (
    Interval,
    Summary,
    difference_interval,
    interval_of_aggregate,
    interval_of_groups,
    interval_of_mean,
)
from ragauge.store import Store
from ragauge.types import Sample

#: The most values of a column that is sliced by.
MAX_SLICES = 50
#: The chance of any slice that is no worse than the others being marked as worse.
LEVEL = 0.05
#: The most models of the measured system that a run names.
MAX_MODELS = 20
#: The most reasons for undefined scores that are counted apart.
MAX_COUNTED_REASONS = 50


@dataclass
class Accumulator:
    """The scores of one value of one metric. counted: the pieces that count for a share; pieces: all of its pieces."""

    measure: Measure
    summary: Summary
    undefined: int = 0
    failed: int = 0
    first_failure: str = ""
    undefined_because: Counter[str] = field(default_factory=Counter)
    counted: float = 0.0
    pieces: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "measure": None}  # its functions need not be picklable, and `extend` does without

    def add(self, score: ScoreRecord, group: str | None) -> None:
        """Add the score of one sample; `group` is its group, None if samples are independent."""
        if score.failed is not None:
            self.failed += 1
            self.first_failure = self.first_failure or score.failed
        elif score.undefined is not None:
            self.undefined += 1
            self._count_reason(score.undefined, 1)
        else:
            self.summary.add(score.counts if score.value is None else (score.value,), group)
            if is_share(score):
                self.counted += score.counts[0]
                self.pieces += score.counts[1]

    def _count_reason(self, reason: str, samples: int) -> None:
        """Count why scores are undefined; reasons beyond the first MAX_COUNTED_REASONS under ""."""
        is_counted = reason in self.undefined_because or len(self.undefined_because) < MAX_COUNTED_REASONS
        self.undefined_because[reason if is_counted else ""] += samples

    def estimate(self) -> Estimate:
        """The estimate over the scores added so far."""
        interval, measure = self.interval(), self.measure
        left_over = self.left_over if isinstance(measure, DatasetMetric) and measure.by_group else 0
        return Estimate(
            *(interval.value, interval.low, interval.high),
            n=self.summary.n - left_over,
            undefined=self.undefined + left_over,
            failed=self.failed,
            method=interval.method,
            better=measure.better,
            over="data" if isinstance(measure, DatasetMetric) else "samples",
            scale=measure.scale,
            counts=(self.counted, self.pieces) if self.pieces else None,
        )

    @property
    def left_over(self) -> int:
        """The samples with a score in groups that are too small for a metric by group."""
        assert isinstance(self.measure, DatasetMetric)
        return self.summary.n - interval_of_groups(self.summary, self.measure.total)[1]

    def interval(self, confidence: float = 0.95) -> Interval:
        """The value over the scores added so far, with its interval."""
        measure = self.measure
        if isinstance(measure, DatasetMetric) and measure.by_group:
            return interval_of_groups(self.summary, measure.total, confidence=confidence)[0]
        if isinstance(measure, DatasetMetric):
            return interval_of_aggregate(self.summary, measure.total, scale=measure.scale, confidence=confidence)
        return interval_of_mean(self.summary, confidence)

    def extend(self, other: Accumulator) -> None:
        """Add the scores of another accumulator of the same value, of samples that come after these."""
        self.summary.merge(other.summary)
        self.undefined += other.undefined
        self.failed += other.failed
        self.counted += other.counted
        self.pieces += other.pieces
        self.first_failure = self.first_failure or other.first_failure
        for reason, samples in other.undefined_because.items():
            self._count_reason(reason, samples)


class Accumulators:
    """The scores of a run, by value of a metric.

    empty: the number of empty responses. columns: of the metadata. models: of the measured system, up to MAX_MODELS.
    spent: by column, the number of samples in which it holds a number, and the sum of these numbers.
    """

    def __init__(self, metrics: Iterable[Measure]) -> None:
        self.empty = 0
        self.columns: dict[str, None] = {}
        self.models: dict[str, None] = {}
        self.spent: dict[str, tuple[int, float]] = {"latency": (0, 0.0), "cost": (0, 0.0)}
        self.by_key: dict[str, Accumulator] = {}
        for metric in metrics:
            scale = None if isinstance(metric, DatasetMetric) else metric.scale
            for key in metric.values:
                self.by_key[key] = Accumulator(metric, Summary(scale))

    def add(self, record: SampleRecord) -> None:
        """Add one sample; scores of other metrics are ignored."""
        response, group = record.sample.response, record.sample.group
        self.columns.update(dict.fromkeys(record.sample.metadata))
        self.empty += response is not None and not response.strip()
        if record.sample.system:
            self._add_models([record.sample.system])
        for column in self.spent.keys() & record.sample.metadata.keys():
            number, total = self.spent[column]
            with suppress(ValueError):
                self.spent[column] = number + 1, total + column_number(record.sample, column)
        for key, score in (record.scores | record.counted).items():
            if key in self.by_key:
                self.by_key[key].add(score, group)

    def extend(self, other: Accumulators) -> None:
        """Add the scores of other samples, which come after these, by some or all of the metrics."""
        self.columns.update(other.columns)
        self.empty += other.empty
        self._add_models(other.models)
        for column, (number, total) in other.spent.items():
            self.spent[column] = self.spent[column][0] + number, self.spent[column][1] + total
        for key, accumulator in other.by_key.items():
            self.by_key[key].extend(accumulator)

    def _add_models(self, models: Iterable[str]) -> None:
        for model in models:
            if len(self.models) < MAX_MODELS:
                self.models[model] = None

    def estimates(self) -> dict[str, Estimate]:
        """An estimate for each value of each metric."""
        return {key: accumulator.estimate() for key, accumulator in self.by_key.items()}

    def fields(self) -> dict[str, Any]:
        """The fields of a run's record that follow from the scores, but for the estimates."""
        failures, undefined, few_trials = {}, {}, {}
        for key, accumulator in self.by_key.items():
            if accumulator.failed:
                failures[key] = accumulator.first_failure
            if accumulator.undefined:
                undefined[key] = reasons_words(accumulator.undefined_because)
            if getattr(accumulator.measure, "by_group", False) and accumulator.left_over:
                few_trials[key] = "too few trials in its group"
        means = {column: total / n for column, (n, total) in self.spent.items() if n}
        grouped = [  # a sample without a group is one of its own
            accumulator.summary.tables()
            for accumulator in self.by_key.values()
            if accumulator.summary.clustered and not getattr(accumulator.measure, "by_group", False)
        ]
        return {
            "failures": failures,
            "undefined": few_trials | undefined,
            "empty": self.empty,
            "columns": tuple(self.columns),
            "groups": max((int(times[:, 0].sum()) + len(clusters) for _, times, _, clusters in grouped), default=0),
            "system": SystemFacts(tuple(self.models), **means),
        }


def recovered_run(store: Store, record: RunRecord, metrics: Iterable[Measure] | None = None) -> RunRecord:
    """The record of an unfinished run with what follows from the samples stored so far.

    Args:
        store: the store of the run.
        record: the record as the run began.
        metrics: of the run; None: those that the registry knows.
    """
    accumulators = Accumulators(registered_metrics(record) if metrics is None else metrics)
    digest, samples = sha256(), 0
    for sample_record in store.samples(record.id):
        accumulators.add(sample_record)
        digest.update(msgspec.json.encode(sample_record.sample))
        samples += 1
    fields = {**accumulators.fields(), "data_hash": digest.hexdigest()[:32]}
    estimates = accumulators.estimates() if samples else {}
    return msgspec.structs.replace(record, samples=samples, estimates=estimates, **fields)


def slices_of(
    samples: Iterable[SampleRecord], metrics: Collection[Measure], column: str, run: RunRecord
) -> list[Slice]:
    """The estimates for each value of a metadata column, or of that of the groups, in order of first occurrence.

    A metric is worse in a slice if the interval of its difference from all other samples lies on the worse side of 0,
    at the confidence of a Bonferroni correction for all comparisons. Raises UnknownName and UsageError as `Run.by`.
    """
    compared, parts = compared_metrics(run), dict[str, Accumulators]()
    sizes: Counter[str] = Counter()
    columns: set[str] = set()
    for record in samples:
        value = slice_value(record.sample, column, run.group_column)
        columns.update(slice_columns(record.sample, run.group_column))
        parts.setdefault(value, Accumulators(metrics)).add(record)
        sizes[value] += 1
        _check_number(column, parts)
    _check_column(column, columns)
    confidence = 1 - LEVEL / max(1, slice_comparisons(run, len(parts)))
    slices = []
    for value, part in parts.items():
        keys = [key for key in compared if key in part.by_key]
        differences = {key: change for key in keys if (change := _from_others(key, value, parts, confidence))}
        worse = tuple(key for key in differences if differences[key].is_worse(part.by_key[key].measure.better))
        slices.append(Slice(value, sizes[value], part.estimates(), worse, differences))
    return slices


def check_slices(samples: Iterable[Sample], by: Iterable[str], gates: Iterable[Gate], group_column: str) -> None:
    """Find out before anything is judged whether a run can be sliced by columns and held to gates.

    Raises UnknownName where no sample has a column, or the value of a gate's slice; UsageError for too many values.
    """
    wanted = [(gate.column, gate.value) for gate in gates if gate.column]
    values: dict[str, set[str]] = {column: set() for column in (*by, *(column for column, _ in wanted))}
    columns: set[str] = set()
    for sample in samples:
        columns.update(slice_columns(sample, group_column))
        for column, value_counts in values.items():
            value_counts.add(slice_value(sample, column, group_column))
            _check_number(column, value_counts)
    for column in values:
        _check_column(column, columns)
    for column, value in wanted:
        if value not in values[column]:
            raise UnknownName(f"value of {column!r}", value, values[column])


def _check_number(column: str, values: Collection[str]) -> None:
    if len(values) > MAX_SLICES:
        raise UsageError(f"{column!r} has more than {MAX_SLICES} values; slice by one of few, such as a language")


def _check_column(column: str, columns: Collection[str]) -> None:
    if column not in columns:
        if not columns:
            raise UsageError(f"there is no column {column!r}: the samples have no columns beyond the known fields")
        raise UnknownName("metadata column", column, columns)


def _from_others(key: str, value: str, parts: Mapping[str, Accumulators], confidence: float) -> SliceDifference | None:
    """By how much a metric is higher in a slice than in all others; None where it has no value in either."""
    here = parts[value].by_key[key]
    others = Accumulator(here.measure, Summary(here.summary.scale))
    for name, part in parts.items():
        if name != value:
            others.extend(part.by_key[key])
    numbers = difference_interval(here.interval(confidence), others.interval(confidence)).numbers
    return SliceDifference(*numbers) if numbers else None
