"""Slices: the estimates for each value of a metadata column, and which are worse than the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.base import Measure
from ragauge.run.aggregation import Accumulator, Accumulators
from ragauge.scores import Gate, SampleRecord, Slice, slice_columns, slice_value
from ragauge.statistics.intervals import Summary
from ragauge.types import Sample

#: The most values of a column that is sliced by.
MAX_SLICES = 50
#: The chance of any slice that is no worse than the others being marked as worse.
LEVEL = 0.05


def slices_of(
    samples: Iterable[SampleRecord],
    metrics: Collection[Measure],
    column: str,
    compared: Collection[str],
    group_column: str,
) -> list[Slice]:
    """The estimates for each value of a metadata column, or of that of the groups, in order of first occurrence.

    A metric is worse in a slice if its interval lies on the worse side of that in all other samples, at the confidence
    of a Bonferroni correction for all slices and `compared` metrics. Raises UnknownName and UsageError as `Run.by`.
    """
    parts: dict[str, Accumulators] = {}
    sizes: Counter[str] = Counter()
    columns: set[str] = set()
    for record in samples:
        value = slice_value(record.sample, column, group_column)
        columns.update(slice_columns(record.sample, group_column))
        parts.setdefault(value, Accumulators(metrics)).add(record)
        sizes[value] += 1
        _check_number(column, parts)
    _check_column(column, columns)
    confidence = 1 - LEVEL / max(1, len(parts) * len(compared))
    return [
        Slice(
            value,
            sizes[value],
            part.estimates(),
            tuple(key for key in compared if key in part.by_key and _is_worse(key, value, parts, confidence)),
        )
        for value, part in parts.items()
    ]


def check_slices(samples: Iterable[Sample], by: Iterable[str], gates: Iterable[Gate], group_column: str) -> None:
    """Find out before anything is judged whether a run can be sliced and held to gates.

    Args:
        samples: those of the run.
        by: columns to slice by.
        gates: of which those on slices count.
        group_column: the name of the column that groups samples.

    Raises:
        UnknownName: no sample has a column, or the value of a gate's slice.
        UsageError: a column has too many values.
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
        few = "slice by a column of few, such as a domain or a language"
        raise UsageError(f"{column!r} has more than {MAX_SLICES} values; {few}")


def _check_column(column: str, columns: Collection[str]) -> None:
    if column not in columns:
        if not columns:
            raise UsageError(f"there is no column {column!r}: the samples have no columns beyond the known fields")
        raise UnknownName("metadata column", column, columns)


def _is_worse(key: str, value: str, parts: dict[str, Accumulators], confidence: float) -> bool:
    here = parts[value].by_key[key]
    others = Accumulator(here.measure, Summary(here.summary.scale))
    for name, part in parts.items():
        if name != value:
            others.extend(part.by_key[key])
    interval, rest = here.interval(confidence), others.interval(confidence)
    if interval.low is None or interval.high is None or rest.low is None or rest.high is None:
        return False
    return interval.high < rest.low if here.measure.better == "higher" else interval.low > rest.high
