"""`compare`: is one run better than another on the same samples, and where?"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from ragauge.analysis.comparison import Change, ChangedPiece, ComparedRunInfo, Comparison, Difference, Missing
from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.metrics.registry import split_specs
from ragauge.questions import KINDS
from ragauge.report.explain import MAX_PIECES, decisive, piece_words
from ragauge.report.wording import counted, shortened
from ragauge.run.results import Run, recovered_record
from ragauge.scores import Better, Estimate, RunRecord, SampleRecord, Score, ScoreRecord
from ragauge.statistics.intervals import Clusters
from ragauge.statistics.paired import detectable, holm, paired_aggregate, paired_mean
from ragauge.types import Identity

#: A metric on a sample: its value, or its counts if the metric is over the data set, or why it has neither.
Cell: TypeAlias = float | tuple[float, ...] | Literal["undefined", "failed", "absent"]


class PairedRow(NamedTuple):
    """A sample without its texts.

    asks: its query, or the beginning of its source. content: identifies the sample in every system, by its query and
    source, else its references; None if it has none of these.
    """

    id: str
    asks: str
    content: int | None
    group: str | None


@dataclass
class ComparedRun:
    """The samples of one run: their rows, and the cells of each metric in the same order.

    others: the columns of the data other than the fields. grouped: whether the run was made with groups.
    """

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


def side(records: Iterable[SampleRecord], keys: Iterable[str], group: str | None = None) -> ComparedRun:
    """The samples of a run, with the cells of `keys`. group: the column that groups them; None for the run's groups."""
    found = ComparedRun(cells={key: [] for key in keys})
    for record in records:
        sample = record.sample
        asks = sample.query or shortened(sample.source or "")
        given = (sample.query, sample.source) if sample.query or sample.source else sample.references
        grouped = sample.group if group is None else sample.metadata.get(group)
        content = hash(given) if given else None
        found.rows.append(PairedRow(sample.id, asks, content, None if grouped is None else str(grouped)))
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


def check_group(column: str, sides: Sequence[ComparedRun]) -> None:
    """Raise UnknownName unless a run has the column, UsageError if the runs already have groups."""
    known = {name for one in sides for name in one.others}
    if column in known:
        return
    unknown = UnknownName("column", column, known) if known else UsageError(f"the runs have kept no column {column!r}")
    if any(one.grouped for one in sides):
        raise UsageError(f"{unknown}; leave out group (--group) to use the groups that the runs were made with")
    raise unknown


def paired(a: Sequence[PairedRow], b: Sequence[PairedRow]) -> Pairing:
    """Match the samples of `a` and `b`: by id if samples with the same id have the same content, else by content.

    Raises UsageError if the two runs have no sample in common, or the matching is ambiguous.
    """
    by_id = _matched(a, b, lambda row: row.id)
    differ = [(a[one], b[other]) for one, other in by_id if a[one].content != b[other].content]
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
    one, other = differ[0]
    raise UsageError(
        f"the two runs are not of the same samples: sample {one.id!r} asks “{shortened(one.asks, 60)}” in the first "
        f"and “{shortened(other.asks, 60)}” in the second; give each sample the same id, of a column 'id', in both"
    )


def _matched(
    a: Sequence[PairedRow], b: Sequence[PairedRow], key: Callable[[PairedRow], Hashable]
) -> list[tuple[int, int]]:
    """The positions of samples with the same key; none if the keys of a run are not unique."""
    first, second = ({key(row): at for at, row in enumerate(rows)} for rows in (a, b))
    if len(first) < len(a) or len(second) < len(b):
        return []
    return [(at, second[name]) for name, at in first.items() if name in second]


T = TypeVar("T")

#: Values that differ by no more than this count as ties.
EQUAL = 1e-9

#: The cells of each sample in the first run and in the second.
Cells: TypeAlias = Sequence[tuple[Cell, Cell]]


def difference(cells: Cells, groups: Clusters, measure: Measure | None, better: Better) -> Difference:
    """The difference of one metric, with unadjusted p-values. measure: None for a custom metric."""
    counts: dict[str, Any] = {}
    a: float | None
    b: float | None
    if isinstance(measure, DatasetMetric):
        sums, others, clusters = _both(cells, groups, tuple)
        n, better = len(sums), measure.better
        found = paired_aggregate(sums, others, measure.total, scale=measure.scale, clusters=clusters)
        a, b = (
            measure.total([fsum(column) for column in zip(*one, strict=True)]) if n else None for one in (sums, others)
        )
    else:
        firsts, seconds, clusters = _both(cells, groups, float)
        n, apart = len(firsts), [other - one for one, other in zip(firsts, seconds, strict=True)]
        # the scale of a custom metric is 0 to 1, or wider if its values are
        low, high = measure.scale if measure else (min([0.0, *firsts, *seconds]), max([1.0, *firsts, *seconds]))
        found = paired_mean(apart, scale=(low - high, high - low), clusters=clusters)
        a, b = (fsum(values) / n if n else None for values in (firsts, seconds))
        rises, falls = sum(one > EQUAL for one in apart), sum(-one > EQUAL for one in apart)
        wins, losses = (rises, falls) if better == "higher" else (falls, rises)
        counts = {"wins": wins, "ties": n - wins - losses, "losses": losses}
        counts["detectable"] = detectable(apart, clusters=clusters)
    return Difference(
        a=a,
        b=b,
        difference=found.interval.value,
        low=found.interval.low,
        high=found.interval.high,
        method=found.interval.method,
        p=found.p,
        better=better,
        n=n,
        missing=_missing(cells, groups),
        **counts,
    )


def _both(cells: Cells, groups: Clusters, kind: type[T]) -> tuple[list[T], list[T], Clusters]:
    """The cells of the samples with a number (or counts) in both runs, and the groups of those samples."""
    there = [
        (at, one, other) for at, (one, other) in enumerate(cells) if isinstance(one, kind) and isinstance(other, kind)
    ]
    clusters = None if groups is None else [groups[at] for at, _, _ in there]
    return [one for _, one, _ in there], [other for _, _, other in there], clusters


def _missing(cells: Cells, groups: Clusters) -> Missing:
    """The samples without a value in each run, and whether one run is undefined more often."""
    counts = {
        f"{why}_{name}": sum(pair[at] == why for pair in cells)
        for why in ("undefined", "failed")
        for at, name in enumerate("ab")
    }
    apart = [float((other == "undefined") - (one == "undefined")) for one, other in cells]
    return Missing(**counts, p=paired_mean(apart, clusters=groups).p if any(apart) else None)


def cautions(a: RunRecord, b: RunRecord, measures: Sequence[Measure | None]) -> Iterator[str]:
    """Warnings about the comparison. measures: the compared metrics, None for a custom metric."""
    if a.id == b.id:
        yield "A and B are the same run."
    yield from _judges(a, b, measures)
    if a.labelled or b.labelled:
        yield f"People answered {counted(a.labelled, 'question')} of A and {b.labelled} of B, judges the others."
    if a.version != b.version:
        yield f"A was made by ragauge {a.version} and B by {b.version}, which may measure differently."
    for name, run in (("A", a), ("B", b)):
        if run.status != "finished":
            yield f"{name} is {run.status}: only its first {counted(run.samples, 'sample')} are compared."


def _judges(a: RunRecord, b: RunRecord, measures: Sequence[Measure | None]) -> Iterator[str]:
    """A sentence for each pair of judges that answered the same topics; a custom metric may ask about all kinds."""
    topics = sorted({topic for one in measures if one for need in one.needs for topic in need.asks})
    kinds: dict[tuple[Identity | None, Identity | None], dict[str, None]] = {}
    for topic in KINDS if None in measures else topics:
        kind = topic.partition(":")[0]
        one, other = (
            next((run.judges[key] for key in (topic, kind, "*") if key in run.judges), None) for run in (a, b)
        )
        kinds.setdefault((one, other), {})[kind] = None
    for (one, other), asked in kinds.items():
        if one != other:
            of_kinds = f" ({', '.join(asked)})" if len(kinds) > 1 else ""
            names = " and ".join(_distinct_names(one, other))
            yield f"Different judges{of_kinds}: {names}. The difference may come from the judges, not the systems."


def _distinct_names(one: Identity | None, other: Identity | None) -> tuple[str, str]:
    """The names of two judges, with the settings that differ if the names are the same."""
    if one is None or other is None or one.name != other.name:
        return str(one or "no judge"), str(other or "no judge")
    return _settings(one, other), _settings(other, one)


def _settings(judge: Identity, other: Identity) -> str:
    own = [f"{key}={shortened(value, 40)}" for key, value in judge.settings if (key, value) not in other.settings]
    return f"{judge} with {', '.join(own) or 'no more'}"


def changes(
    runs: tuple[Run, Run],
    sides: tuple[ComparedRun, ComparedRun],
    pairs: Sequence[tuple[int, int]],
    differences: Mapping[str, Difference],
    count: int,
) -> Iterator[Change]:
    """For each metric over samples, the `count` samples on which it differs most, the largest difference first."""
    for key, difference in differences.items():
        values = ((sides[0].cells[key][one], sides[1].cells[key][other], (one, other)) for one, other in pairs)
        apart = [
            (first, second, places)
            for first, second, places in values
            if isinstance(first, float) and isinstance(second, float) and first != second
        ]
        for first, second, (one, other) in heapq.nsmallest(count, apart, key=lambda c: (-abs(c[1] - c[0]), c[2])):
            scores = [("a", runs[0].scores[one][key]), ("b", runs[1].scores[other][key])]
            b_is_worse = (second < first) == (difference.better == "higher")
            worse, better = reversed(scores) if b_is_worse else scores
            row = sides[0].rows[one]
            pieces = tuple(_pieces(worse, better, difference.better))[:MAX_PIECES]
            yield Change(key, row.id, row.asks, first, second, pieces)


def _pieces(worse: tuple[str, Score], other: tuple[str, Score], better: Better) -> Iterator[ChangedPiece]:
    """The pieces that count only against the worse of two scores; if there are none, those only for the better one."""
    for (name, score), against, raising in (
        (worse, other[1], better == "lower"),
        (other, worse[1], better == "higher"),
    ):
        common = [piece_words(piece) for piece in decisive(against, raising, better)]
        alone = [piece_words(piece) for piece in decisive(score, raising, better)]
        found = [ChangedPiece(name, words) for words in alone if words not in common]
        if found:
            yield from found
            return


def compare(
    a: Run, b: Run, metrics: str | Collection[str] = (), *, group: str | None = None, show: int = 3
) -> Comparison:
    """Compare run `b` with run `a`, sample by sample; no judge is asked.

    Samples are matched by id if their queries agree, else by query. A metric is compared over the samples in which it
    has a value in both runs. How often it has none is compared as well, since a system that refuses to answer drops out
    of metrics such as faithfulness. See docs/compare.md.

    Args:
        a: The baseline run.
        b: The run that is compared with it.
        metrics: Keys of estimates, as a list or one text such as "faithfulness,rouge.rougeL"; "rouge" stands for all
            values of rouge. Empty for all that both runs measured.
        group: The column that groups samples that are not independent, if the runs were not made with groups.
        show: The number of samples shown for each metric that differs, with the claims that made the difference.

    Returns:
        The differences (b - a) with 95 % intervals and p-values adjusted by Holm.

    Raises:
        UsageError: The runs do not have the same samples, or a metric was measured in two ways.
        UnknownName: A metric was measured in neither run, or a column is in neither.
    """
    kept, left_out = _chosen(a.record, b.record, split_specs(metrics) if isinstance(metrics, str) else metrics)
    sides = side(a.records(), kept, group), side(b.records(), kept, group)
    if group is not None:
        check_group(group, sides)
    pairing = paired(sides[0].rows, sides[1].rows)
    names = [sides[0].rows[one].group or sides[1].rows[other].group for one, other in pairing.pairs]
    groups: Clusters = names if any(names) else None
    known = _measures(b.record)
    found = {}
    for key in kept:
        cells = [(sides[0].cells[key][one], sides[1].cells[key][other]) for one, other in pairing.pairs]
        found[key] = difference(cells, groups, known.get(key), b.estimates[key].better)
    differences = _adjusted(found)
    return Comparison(
        ComparedRunInfo(a.id, a.record.name, a.record.data),
        ComparedRunInfo(b.id, b.record.name, b.record.data),
        len(pairing.pairs),
        pairing.by,
        pairing.only_a,
        pairing.only_b,
        # a sample without a group is its own
        None if groups is None else len({at if name is None else name for at, name in enumerate(groups)}),
        differences,
        tuple(changes((a, b), sides, pairing.pairs, differences, show)),
        left_out,
        tuple(cautions(a.record, b.record, [known.get(key) for key in kept])),
    )


def _measures(run: RunRecord) -> dict[str, Measure]:
    """The metric of each value of a run, if the catalogue has it."""
    return {key: measure for measure in recovered_record(run) for key in measure.values}


def _chosen(a: RunRecord, b: RunRecord, wanted: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """The keys that both runs measured in the same way, and the others with the reason why not."""
    left = {key: "only the first run has it" for key in a.estimates if key not in b.estimates}
    left |= {key: "only the second run has it" for key in b.estimates if key not in a.estimates}
    first, second = _measures(a), _measures(b)
    for key in (key for key in a.estimates if key in b.estimates):
        if reason := _unlike(first.get(key), second.get(key), a.estimates[key]):
            left[key] = reason
    asked = [key for name in wanted for key in _named(name, a, left)]
    kept = [key for key in a.estimates if key not in left and (not wanted or key in asked)]
    if not kept:
        raise UsageError("the two runs have no metric in common; measure both with the same -m")
    return kept, {} if wanted else left


def _named(name: str, a: RunRecord, left: Mapping[str, str]) -> list[str]:
    """The keys that `name` stands for: a key, or a metric with several values."""
    keys = [key for key in (*a.estimates, *left) if key == name or key.startswith(f"{name}.")]
    for key in keys:
        if key in left:
            raise UsageError(f"{key} cannot be compared: {left[key]}")
    if not keys:
        raise UnknownName("metric of both runs", name, a.estimates.keys() - left.keys())
    return keys


def _unlike(first: Measure | None, second: Measure | None, estimate: Estimate) -> str | None:
    """Why a value of both runs cannot be compared."""
    one, other = ("a custom metric" if measure is None else measure.spec for measure in (first, second))
    if one != other:
        return f"it was measured as {one} in the first run and as {other} in the second"
    if first is None and estimate.over == "data":
        return "the formula of a custom metric over the data set is not known"
    return None


def _adjusted(found: Mapping[str, Difference]) -> dict[str, Difference]:
    """The differences with adjusted p-values; those of missing values are adjusted separately."""
    of_values = holm({key: one.p for key, one in found.items() if one.p is not None})
    of_missing = holm({key: one.missing.p for key, one in found.items() if one.missing.p is not None})
    return {
        key: msgspec.structs.replace(
            one,
            p_adjusted=of_values.get(key),
            missing=msgspec.structs.replace(one.missing, p_adjusted=of_missing.get(key)),
        )
        for key, one in found.items()
    }
