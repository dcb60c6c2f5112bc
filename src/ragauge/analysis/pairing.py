"""Samples of runs, matched: which of one run is which of another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.report.wording import shortened
from ragauge.run.results import Run
from ragauge.scores import SampleRecord
from ragauge.statistics.intervals import Clusters, sampling_units

#: A metric on a sample: its value, or its counts if the metric is over the data set, or why it has neither.
Cell: TypeAlias = float | tuple[float, ...] | Literal["undefined", "failed", "absent"]


#: The cells of each sample in the first run and in the second.
Cells: TypeAlias = Sequence[tuple[Cell, Cell]]


class ComparedRunInfo(msgspec.Struct, frozen=True):
    """A run that is compared: its id, its name ("" for none), and the data it was made of."""

    id: str
    name: str
    data: str

    @classmethod
    def of(cls, run: Run) -> ComparedRunInfo:
        """That of a run."""
        return cls(run.id, run.record.name, run.record.data)

    def __str__(self) -> str:
        return f"{self.name or self.data} ({self.id})"


class PairedRow(NamedTuple):
    """A sample without its texts. content: of its query and source, else its references, None without these."""

    id: str
    asks: str
    content: int | None
    group: str | None


@dataclass
class ComparedRun:
    """The samples of one run, and the cells of each metric in the same order. others: columns that are no fields."""

    rows: list[PairedRow] = field(default_factory=list)
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    grouped: bool = False


class Pairing(NamedTuple):
    """Positions of matching samples. by: "id" or "query"; only_a, only_b: number of samples without a counterpart."""

    pairs: Sequence[tuple[int, int]]
    by: str
    only_a: int
    only_b: int


def check_run(run: Run) -> Run:
    """The run. Raises BadParameter for what is none."""
    if not isinstance(run, Run):
        raise BadParameter(f"{run!r} is not a run; give what `evaluate` returned, or Run.open(STORE, NAME)")
    return run


def side(records: Iterable[SampleRecord], keys: Iterable[str], group: str | None = None) -> ComparedRun:
    """The samples of a run, with the cells of `keys`. group: the column that groups them; None for the run's groups."""
    run = ComparedRun(cells={key: [] for key in keys})
    for record in records:
        sample = record.sample
        asks = sample.query or shortened(sample.source or "")
        texts = (sample.query, sample.source) if sample.query or sample.source else sample.references
        grouped = sample.group if group is None else sample.metadata.get(group)
        content = hash(texts) if texts else None
        run.rows.append(PairedRow(sample.id, asks, content, None if grouped is None else str(grouped)))
        run.others |= sample.metadata.keys()
        run.grouped |= sample.group is not None
        for key, cells in run.cells.items():
            score = record.scores.get(key) or record.counted.get(key)
            if score is None:
                cells.append("absent")
            elif score.undefined is not None or score.failed is not None:
                cells.append("undefined" if score.failed is None else "failed")
            else:
                cells.append(score.counts if score.value is None else score.value)
    return run


def check_group(column: str, sides: Sequence[ComparedRun]) -> None:
    """Raise UnknownName unless a run has the column, UsageError if the runs already have groups."""
    columns = {name for run in sides for name in run.others}
    if column in columns:
        return
    none_kept = UsageError(f"the runs have kept no column {column!r}")
    unknown = UnknownName("column", column, columns) if columns else none_kept
    if any(run.grouped for run in sides):
        raise UsageError(f"{unknown}; leave out group (--group) to use the groups that the runs were made with")
    raise unknown


def paired(a: Sequence[PairedRow], b: Sequence[PairedRow]) -> Pairing:
    """Match samples by id if those with one id have the same content, else by content. Else raises UsageError."""
    by_id = _matched(a, b, lambda row: row.id)
    rows = [(a[first], b[second]) for first, second in by_id]
    differ = [(first, second) for first, second in rows if first.content != second.content]
    has_content = all(row.content is not None for row in (*a, *b))
    by_content = _matched(a, b, lambda row: row.content) if has_content else []
    usable = by_id and not differ and len(by_id) >= len(by_content)
    pairs, by = (by_id, "id") if usable else (by_content, "query")
    if pairs:
        return Pairing(pairs, by, len(a) - len(pairs), len(b) - len(pairs))
    if not differ:
        raise UsageError(
            "the two runs have no sample in common: neither their ids agree, nor their queries, or these repeat"
        )
    first, second = differ[0]
    raise UsageError(
        f"the two runs are not of the same samples: sample {first.id!r} asks “{shortened(first.asks, 60)}” in the "
        f"first and “{shortened(second.asks, 60)}” in the second; give each sample the same id, of a column 'id', "
        "in both"
    )


def _matched(
    a: Sequence[PairedRow], b: Sequence[PairedRow], key: Callable[[PairedRow], Hashable]
) -> list[tuple[int, int]]:
    """The positions of samples with the same key; none if the keys of a run are not unique."""
    first, second = ({key(row): position for position, row in enumerate(rows)} for rows in (a, b))
    if len(first) < len(a) or len(second) < len(b):
        return []
    return [(position, second[name]) for name, position in first.items() if name in second]


def groups_of(pairs: Iterable[Sequence[PairedRow]]) -> Clusters:
    """The group of each sample, of the first run that names one; None where none does."""
    names = [next((row.group for row in rows if row.group), None) for rows in pairs]
    return names if any(names) else None


def count_groups(groups: Clusters) -> int | None:
    """How many groups there are; a sample without one is its own."""
    return None if groups is None else len(set(sampling_units(groups, len(groups))))
