"""Two runs over the same samples: how these are matched, and the differences of metrics, tested and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.report.text import rich_table
from ragauge.report.wording import arrow, number, p_value, shortened, signed
from ragauge.run.results import Run
from ragauge.scores import Better, SampleRecord, ScoreRecord
from ragauge.statistics.intervals import Clusters, CountFunction, Interval, count_rows, sampling_units, sums_by_cluster
from ragauge.statistics.paired import CONFIDENCE, Paired, detectable, holm, paired_aggregate, paired_mean

if TYPE_CHECKING:
    from rich.table import Table

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


#: The significance level of adjusted p-values: the chance of any false positive among all that is compared.
LEVEL = 0.05


def is_significant(p: float | None, low: float | None, high: float | None) -> bool:
    """Whether an adjusted p-value is below 0.05 and the interval of the difference excludes 0."""
    return p is not None and p < LEVEL and low is not None and high is not None and not low <= 0 <= high


class Missing(msgspec.Struct, frozen=True):
    """The samples without a value in each run. p: for being undefined equally often; p_adjusted: by Holm."""

    undefined_a: int
    undefined_b: int
    failed_a: int
    failed_b: int
    p: float | None
    p_adjusted: float | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A metric in two runs, over the n samples in which it has a value in both; None where a value is undefined.

    difference: b - a with its 95 % interval. p: two-sided, for no difference; p_adjusted: by Holm over all compared
    metrics. low_adjusted, high_adjusted: the interval that agrees with p_adjusted, which excludes 0 where b is better
    or worse, and contains it elsewhere. wins, ties, losses: the number of samples on which b is better, equal, worse.
    detectable: the smallest true difference that n samples would show in 80 of 100 comparisons of as many metrics,
    even if no other differs. The last four are None for a metric over the data set.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    method: str
    p: float | None
    p_adjusted: float | None = None
    better: Better
    n: int
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    detectable: float | None = None
    missing: Missing
    low_adjusted: float | None = None
    high_adjusted: float | None = None

    @property
    def verdict(self) -> str:
        """Whether b is significantly "better" or "worse", else ""; see `is_significant`."""
        if not is_significant(self.p_adjusted, self.low, self.high):
            return ""
        assert self.low is not None
        return "better" if (self.low > 0) == (self.better == "higher") else "worse"


#: The columns. p: adjusted. +/=/−: the number of samples on which B is better, equal, worse; their sum is n. can
#: detect: the smallest true difference that n samples would show in 80 of 100 such comparisons.
HEAD = ("metric", "A", "B", "B − A", "95 % interval", "p", "+/=/−", "B is", "can detect")

#: The columns that a narrow terminal drops, in this order.
SPARED = ("can detect", "+/=/−", "A")

_STYLES = {"better": "green", "worse": "red", "": None}


def differences_table(differences: Mapping[str, Difference], width: int, heads: Sequence[str] = HEAD) -> Table:
    """The differences, without the columns in SPARED that do not fit, at three spaces between columns."""
    rows = [dict(zip(HEAD, difference_cells(key, difference), strict=True)) for key, difference in differences.items()]
    heads, spared = list(heads), [head for head in SPARED if head in heads]
    while spared and sum(3 + max(map(len, (name, *(row[name] for row in rows)))) for name in heads) > width:
        heads.remove(spared.pop(0))
    styles = [_STYLES[difference.verdict] for difference in differences.values()]
    return rich_table(heads, ([row[name] for name in heads] for row in rows), left=("metric", "B is"), styles=styles)


def difference_cells(key: str, change: Difference) -> list[str]:
    """A row of the table, in the order of HEAD."""
    low, high = change.low_adjusted, change.high_adjusted
    interval = "–" if low is None else f"[{signed(low)}, {signed(high)}]"
    won = f"n {change.n}" if change.wins is None else f"{change.wins}/{change.ties}/{change.losses}"
    return [
        *(f"{key} {arrow(change.better)}", number(change.a), number(change.b), signed(change.difference), interval),
        *(p_value(change.p_adjusted), won, change.verdict, number(change.detectable)),
    ]


def compared(
    keys: Iterable[str],
    cells_of: Callable[[str], Cells],
    groups: Clusters,
    measures: Mapping[str, Measure],
    better: Mapping[str, Better],
    tasks: Clusters = None,
) -> dict[str, Difference]:
    """The differences of several values, adjusted for their number.

    Their intervals agree with the verdicts: those of the values that Holm's test does not decide have a confidence of
    95 % together (Strassburger and Bretz 2008).

    groups: of the samples, drawn together. tasks: of which a metric by group has a value each; all samples of a task
    are in one group.
    """
    sides = {key: _Sides(cells_of(key), groups, measures.get(key), tasks) for key in keys}
    alone = {key: _difference(of_key, better[key]) for key, of_key in sides.items()}
    tests = max(1, number_of_tests(alone))
    alone = {
        key: msgspec.structs.replace(change, detectable=sides[key].detectable(tests)) for key, change in alone.items()
    }
    together = adjusted(alone)
    undecided = sum(not change.verdict for change in together.values() if change.p is not None)
    confidence = 1 - LEVEL / max(1, undecided)
    return {
        key: _adjusted_interval(change, _tested(sides[key], confidence).interval if undecided > 1 else None)
        for key, change in together.items()
    }


def number_of_tests(differences: Mapping[str, Difference]) -> int:
    """How many differences have a p-value, for whose number they are adjusted."""
    return sum(change.p is not None for change in differences.values())


def of_pairs(difference: Difference) -> Difference:
    """A difference of preferences, of which neither run has a value alone."""
    return msgspec.structs.replace(difference, a=None, b=None)


#: Values that differ by no more than this count as ties.
EQUAL = 1e-9


class _Sides:
    """A metric in two runs.

    first, second: the values, or counts, of the samples that have some in both runs; clusters: the groups of these.
    measure: None for a custom metric.
    """

    def __init__(self, cells: Cells, groups: Clusters, measure: Measure | None, tasks: Clusters) -> None:
        if isinstance(measure, DatasetMetric) and measure.by_group:
            cells, groups = _of_tasks(cells, tasks, groups, measure.total)
        self.measure, self.missing = measure, _missing(cells, groups)
        self.total = measure.total if isinstance(measure, DatasetMetric) and not measure.by_group else None
        self.first, self.second, self.clusters = _both(cells, groups, tuple if self.total else float)

    @property
    def changes(self) -> list[float]:
        """By how much the second value is larger."""
        return [second - first for first, second in zip(self.first, self.second, strict=True)]

    def detectable(self, tests: int) -> float | None:
        """The smallest true difference that would be shown among so many tests; None for a metric over the data set."""
        return None if self.total else detectable(self.changes, clusters=self.clusters, tests=tests)


def _of_tasks(cells: Cells, tasks: Clusters, groups: Clusters, total: CountFunction) -> tuple[Cells, Clusters]:
    """The value of each task in the two runs, and its group; no groups where these are the tasks."""
    (firsts, seconds, of_samples), (*_, within) = (_both(cells, names, tuple) for names in (tasks, groups))
    if not firsts:
        return [], None
    first, second = (sums_by_cluster(count_rows(rows), of_samples).tolist() for rows in (firsts, seconds))
    pairs = (map(total, sums) for sums in zip(first, second, strict=True))
    values: Any = [tuple("undefined" if value is None else value for value in pair) for pair in pairs]
    group_of = dict(zip(sampling_units(of_samples, len(firsts)), within or (), strict=False))
    return values, list(group_of.values()) if within and groups != tasks else None


def _tested(sides: _Sides, confidence: float = CONFIDENCE) -> Paired:
    """The difference with its interval and unadjusted p-value."""
    first, second, measure = sides.first, sides.second, sides.measure
    # the scale of a custom metric is 0 to 1, or wider if its values are
    low, high = measure.scale if measure else (min([0.0, *first, *second]), max([1.0, *first, *second]))
    shared: dict[str, Any] = {"clusters": sides.clusters, "confidence": confidence}
    if sides.total:
        return paired_aggregate(first, second, sides.total, scale=(low, high), **shared)
    return paired_mean(sides.changes, scale=(low - high, high - low), **shared)


def _difference(sides: _Sides, better: Better) -> Difference:
    """The difference, not adjusted for those of other metrics."""
    tested, n = _tested(sides), len(sides.first)
    counts: dict[str, Any] = {}
    if sides.total:
        sums = [[fsum(column) for column in zip(*rows, strict=True)] for rows in (sides.first, sides.second)]
        values = [sides.total(row) if n else None for row in sums]
    else:
        changes = sides.changes
        values = [fsum(numbers) / n if n else None for numbers in (sides.first, sides.second)]
        rises, falls = sum(change > EQUAL for change in changes), sum(-change > EQUAL for change in changes)
        wins, losses = (rises, falls) if better == "higher" else (falls, rises)
        counts = {"wins": wins, "ties": n - wins - losses, "losses": losses}
    return Difference(
        a=values[0],
        b=values[1],
        difference=tested.interval.value,
        low=tested.interval.low,
        high=tested.interval.high,
        method=tested.interval.method,
        p=tested.p,
        better=better,
        n=n,
        missing=sides.missing,
        **counts,
    )


def _both(cells: Cells, groups: Clusters, kind: type) -> tuple[list[Any], list[Any], Clusters]:
    """The cells of the samples with a number (or counts) in both runs, and the groups of those samples."""
    places = [place for place, pair in enumerate(cells) if all(isinstance(cell, kind) for cell in pair)]
    clusters = None if groups is None else [groups[place] for place in places]
    return [cells[place][0] for place in places], [cells[place][1] for place in places], clusters


def _missing(cells: Cells, groups: Clusters) -> Missing:
    """The samples without a value in each run, and whether one run is undefined more often."""
    counts = {
        f"{why}_{name}": sum(pair[side] == why for pair in cells)
        for why in ("undefined", "failed")
        for side, name in enumerate("ab")
    }
    changes = [float((second == "undefined") - (first == "undefined")) for first, second in cells]
    return Missing(**counts, p=paired_mean(changes, clusters=groups).p if any(changes) else None)


def adjusted(differences: Mapping[str, Difference]) -> dict[str, Difference]:
    """The differences with adjusted p-values; those of missing values are adjusted separately."""
    of_values = holm({key: change.p for key, change in differences.items() if change.p is not None})
    of_missing = holm({key: change.missing.p for key, change in differences.items() if change.missing.p is not None})
    replace = msgspec.structs.replace
    return {
        key: replace(
            change, p_adjusted=of_values.get(key), missing=replace(change.missing, p_adjusted=of_missing.get(key))
        )
        for key, change in differences.items()
    }


def _adjusted_interval(difference: Difference, wider: Interval | None) -> Difference:
    """The difference with its adjusted interval: one that excludes 0 if it is significant, and else contains it."""
    low, high = (wider.low, wider.high) if wider else (difference.low, difference.high)
    if low is None or high is None:
        return difference
    if difference.verdict and low <= 0 <= high:
        low, high = difference.low, difference.high
    elif not difference.verdict:
        low, high = min(low, 0.0), max(high, 0.0)
    return msgspec.structs.replace(difference, low_adjusted=low, high_adjusted=high)
