"""Slices: the estimates for each value of a metadata column, and which are worse than the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.base import Measure
from ragauge.report.explain import compared_metrics, slice_comparisons
from ragauge.run.aggregation import Accumulator, Accumulators
from ragauge.scores import Gate, RunRecord, SampleRecord, Slice, SliceDifference, slice_columns, slice_value
from ragauge.statistics.intervals import Summary, difference_interval
from ragauge.types import Sample

#: The most values of a column that is sliced by.
MAX_SLICES = 50
#: The chance of any slice that is no worse than the others being marked as worse.
LEVEL = 0.05


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
