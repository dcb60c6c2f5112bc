"""Matching the samples of one run to those of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.report.wording import shortened
from ragauge.run.results import Run
from ragauge.scores import SampleRecord, ScoreRecord
from ragauge.statistics.intervals import Clusters, sampling_units

#: The result of a metric on a sample: its value; its counts for a metric over the data set; or why it has neither.
Cell: TypeAlias = float | tuple[float, ...] | Literal["undefined", "failed", "absent"]

#: For each pair of samples, the cell in the first run and the cell in the second.
Cells: TypeAlias = Sequence[tuple[Cell, Cell]]


class ComparedRunInfo(msgspec.Struct, frozen=True):
    """A compared run: its id, its name ("" if it has none), and the data that it evaluated."""

    id: str
    name: str
    data: str

    @classmethod
    def of(cls, run: Run) -> ComparedRunInfo:
        """The id, name and data of `run`."""
        return cls(run.id, run.record.name, run.record.data)

    def __str__(self) -> str:
        return f"{self.name or self.data} ({self.id})"


#: The fields that say what is right of a sample, and so change its scores where the response is the same.
GOLD_FIELDS = ("references", "answers", "answer_weights", "criteria", "reference_contexts", "reference_tool_calls")
_gold_of = attrgetter(*GOLD_FIELDS)


class PairedRow(NamedTuple):
    """What matching reads of a sample.

    content: the hash of its query and source, else of its references, if any. group: with which it is drawn. task: its
    group in the run, such as the task of a trial. gold: the hash of each of GOLD_FIELDS, None for an absent one.
    """

    id: str
    question: str
    content: int | None
    group: str | None
    task: str | None
    gold: tuple[int | None, ...]


@dataclass
class ComparedRun:
    """The samples of a run, and the cells of each metric in the same order. columns: those of the metadata."""

    rows: list[PairedRow] = field(default_factory=list)
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)


class Pairing(NamedTuple):
    """Positions of matching samples. by: "id" or "query". only_a, only_b: numbers of unmatched samples."""

    pairs: Sequence[tuple[int, int]]
    by: str
    only_a: int
    only_b: int


def check_run(run: Run) -> Run:
    """Return `run`. Raises BadParameter if it is not a Run."""
    if not isinstance(run, Run):
        raise BadParameter(f"{run!r} is not a run; give what `evaluate` returned, or Run.open(STORE, NAME)")
    return run


def _compared_run(records: Iterable[SampleRecord], keys: Collection[str], group: str | None) -> ComparedRun:
    run = ComparedRun(cells={key: [] for key in keys})
    for record in records:
        sample = record.sample
        question = sample.query or shortened(sample.source or "")
        texts = (sample.query, sample.source) if sample.query or sample.source else sample.references
        content = hash(texts) if texts else None
        group_name = sample.group if group is None else sample.metadata.get(group)
        name = None if group_name is None else str(group_name)
        gold = tuple(None if value is None else hash(msgspec.json.encode(value)) for value in _gold_of(sample))
        run.rows.append(PairedRow(sample.id, question, content, name, sample.group, gold))
        run.columns |= sample.metadata.keys()
        for key, cells in run.cells.items():
            cells.append(cell_of(record.scores.get(key) or record.counted.get(key)))
    return run


def changed_gold(matches: Iterable[tuple[PairedRow, PairedRow]]) -> dict[str, int]:
    """By field of GOLD_FIELDS, the number of matched samples that have it in both runs, but not the same."""
    changed = Counter(
        field
        for first, second in matches
        for field, in_first, in_second in zip(GOLD_FIELDS, first.gold, second.gold, strict=True)
        if None not in (in_first, in_second) and in_first != in_second
    )
    return {field: changed[field] for field in GOLD_FIELDS if changed[field]}


def compared_runs(
    runs: Iterable[Iterable[SampleRecord]], keys: Collection[str] = (), group: str | None = None
) -> list[ComparedRun]:
    """The samples of several runs as they are compared, with the cells of the metrics `keys`.

    group: the column that groups the samples; None keeps the groups of the runs. Raises UnknownName where no run has
    it.
    """
    sides = [_compared_run(records, keys, group) for records in runs]
    columns = {name for side in sides for name in side.columns}
    if group is not None and group not in columns:
        raise UnknownName("column", group, columns, listing="(without group, the groups of the runs count)")
    return sides


def cell_of(score: ScoreRecord | None) -> Cell:
    """What a comparison reads of a score; "absent" where there is none."""
    if score is None:
        return "absent"
    if score.failed is not None:
        return "failed"
    if score.undefined is not None:
        return "undefined"
    return score.counts if score.value is None else score.value


def paired(a: Sequence[PairedRow], b: Sequence[PairedRow]) -> Pairing:
    """Match samples by id if equal ids have equal contents, else by content. Raises UsageError if none match."""
    by_id = _matched(a, b, lambda row: row.id)
    same_id = [(a[first], b[second]) for first, second in by_id]
    differing = [(first, second) for first, second in same_id if first.content != second.content]
    has_content = all(row.content is not None for row in (*a, *b))
    by_content = _matched(a, b, lambda row: row.content) if has_content else []
    ids_match = by_id and not differing and len(by_id) >= len(by_content)
    pairs, by = (by_id, "id") if ids_match else (by_content, "query")
    if pairs:
        return Pairing(pairs, by, len(a) - len(pairs), len(b) - len(pairs))
    if not differing:
        raise UsageError(
            "the two runs have no sample in common: neither their ids agree, nor their queries, or these repeat"
        )
    first, second = differing[0]
    raise UsageError(
        f"the two runs are not of the same samples: sample {first.id!r} asks “{shortened(first.question, 60)}” in the "
        f"first and “{shortened(second.question, 60)}” in the second; give each sample the same id, of a column 'id', "
        "in both"
    )


def _matched(
    a: Sequence[PairedRow], b: Sequence[PairedRow], key: Callable[[PairedRow], Hashable]
) -> list[tuple[int, int]]:
    """The positions of samples with the same key; none if the keys of a run are not unique."""
    in_a, in_b = ({key(row): position for position, row in enumerate(rows)} for rows in (a, b))
    if len(in_a) < len(a) or len(in_b) < len(b):
        return []
    return [(position, in_b[name]) for name, position in in_a.items() if name in in_b]


def groups_of(matches: Iterable[Sequence[PairedRow]], name: Literal["group", "task"] = "group") -> Clusters:
    """The group, or task, of each matched sample, from the first run that has one; None if no sample has any."""
    names = [next(filter(None, map(attrgetter(name), rows)), None) for rows in matches]
    return names if any(names) else None


def count_groups(groups: Clusters) -> int | None:
    """The number of groups, counting each sample without one as its own; None without groups."""
    return None if groups is None else len(set(sampling_units(groups, len(groups))))
