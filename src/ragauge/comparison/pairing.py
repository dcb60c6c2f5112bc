"""Which samples of two runs are the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from ragauge.errors import UnknownName, UsageError
from ragauge.report.wording import shortened
from ragauge.scores import SampleRecord, ScoreRecord
from ragauge.types import Sample

#: What a sample has of a metric: its value, or its counts where the metric is over the data set; or why neither.
Cell: TypeAlias = float | tuple[float, ...] | Literal["undefined", "failed", "absent"]


class Row(NamedTuple):
    """A sample without its texts. asks: what it asks, for people; content: the same in every system, None for none."""

    id: str
    asks: str
    content: int | None
    group: str | None


@dataclass
class Side:
    """The samples of one run: their rows, and the cells of each metric in the same order.

    others: the columns of the data that are kept beside the fields. grouped: whether the run was made with groups.
    """

    rows: list[Row] = field(default_factory=list)
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    grouped: bool = False


class Pairing(NamedTuple):
    """Positions of samples that are the same. by: "id" or "query"; only_a, only_b: how many have no counterpart."""

    pairs: Sequence[tuple[int, int]]
    by: str
    only_a: int
    only_b: int


def side(records: Iterable[SampleRecord], keys: Iterable[str], group: str | None = None) -> Side:
    """The samples of a run, with the cells of `keys`. group: the column that groups them; None for the run's own."""
    found = Side(cells={key: [] for key in keys})
    for record in records:
        sample = record.sample
        found.rows.append(Row(sample.id, asked(sample), _content(sample), _group(sample, group)))
        found.others |= sample.metadata.keys()
        found.grouped |= sample.group is not None
        for key, cells in found.cells.items():
            cells.append(_cell(record.scores.get(key) or record.counted.get(key)))
    return found


def _cell(score: ScoreRecord | None) -> Cell:
    if score is None:
        return "absent"
    if score.undefined is not None or score.failed is not None:
        return "undefined" if score.failed is None else "failed"
    return score.counts if score.value is None else score.value


def asked(sample: Sample) -> str:
    """What people know a sample by: its query, else the beginning of its source."""
    return sample.query or shortened(sample.source or "")


def _content(sample: Sample) -> int | None:
    """What tells a sample from others in every system: its query and its source, else its references."""
    given = (sample.query, sample.source) if sample.query or sample.source else sample.references
    return hash(given) if given else None


def _group(sample: Sample, column: str | None) -> str | None:
    if column is None:
        return sample.group
    found = sample.metadata.get(column)
    return None if found is None else str(found)


def check_group(column: str, sides: Sequence[Side]) -> None:
    """Raise UnknownName unless a run has kept the column, UsageError where its groups have been taken from one."""
    known = {name for one in sides for name in one.others}
    if column in known:
        return
    unknown = UnknownName("column", column, known) if known else UsageError(f"the runs have kept no column {column!r}")
    if any(one.grouped for one in sides):
        raise UsageError(f"{unknown}; the groups that a run was made with count without being named")
    raise unknown


def paired(a: Sequence[Row], b: Sequence[Row]) -> Pairing:
    """The samples of `a` beside those of `b`: by id where samples of one id ask the same, else by what they ask.

    Raises UsageError where the two runs have no sample in common, or it cannot be told which belong together.
    """
    same = _matched(a, b, lambda row: row.id)
    differ = [(a[one], b[other]) for one, other in same if a[one].content != b[other].content]
    told = all(row.content is not None for row in (*a, *b))
    asking = _matched(a, b, lambda row: row.content) if told else []
    if same and not differ and len(same) >= len(asking):
        return _pairing(same, "id", a, b)
    if asking:
        return _pairing(asking, "query", a, b)
    if not differ:
        raise UsageError(
            "the two runs have no sample in common: neither their ids agree, nor their queries, or these repeat"
        )
    one, other = differ[0]
    raise UsageError(
        f"the two runs are not of the same samples: sample {one.id!r} asks “{shortened(one.asks, 60)}” in the first "
        f"and “{shortened(other.asks, 60)}” in the second; give each sample the same id, of a column 'id', in both"
    )


def _matched(a: Sequence[Row], b: Sequence[Row], key: Callable[[Row], Hashable]) -> list[tuple[int, int]]:
    """The positions of those of the same key, where it tells them from all others of their run; none where not."""
    first, second = ({key(row): at for at, row in enumerate(rows)} for rows in (a, b))
    if len(first) < len(a) or len(second) < len(b):
        return []
    return [(at, second[name]) for name, at in first.items() if name in second]


def _pairing(pairs: Sequence[tuple[int, int]], by: str, a: Sequence[Row], b: Sequence[Row]) -> Pairing:
    return Pairing(pairs, by, len(a) - len(pairs), len(b) - len(pairs))
