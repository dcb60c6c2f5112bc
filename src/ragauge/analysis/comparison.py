"""The result of comparing two runs: as data, as a file, as Markdown and in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ragauge.errors import UnknownName, UsageError
from ragauge.report.files import save_text
from ragauge.report.text import LENGTH, markdown_table, plain, plain_text, rich_table
from ragauge.report.wording import (
    arrow,
    by_reason,
    counted,
    difference_bar,
    number,
    p_value,
    printable,
    shortened,
    signed,
)
from ragauge.scores import Better
from ragauge.statistics.paired import holm

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


SCHEMA = "ragauge.compare/1"

#: The significance level of adjusted p-values: the chance of any false positive among all that is compared.
LEVEL = 0.05


def is_significant(p: float | None, low: float | None, high: float | None) -> bool:
    """Whether an adjusted p-value is below 0.05 and the interval of the difference excludes 0."""
    return p is not None and p < LEVEL and low is not None and high is not None and not low <= 0 <= high


#: The endings of files that a comparison is written to.
COMPARISON_WRITERS = (".json", ".md")


class Missing(msgspec.Struct, frozen=True):
    """The samples of both runs in which a metric has no value.

    undefined_a, undefined_b, failed_a, failed_b: their number in each run. p: two-sided, for the hypothesis that the
    metric is undefined equally often in both runs; p_adjusted: by Holm over all metrics. Both are None if the same
    samples are undefined in both runs.
    """

    undefined_a: int
    undefined_b: int
    failed_a: int
    failed_b: int
    p: float | None
    p_adjusted: float | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A metric in two runs, over the n samples in which it has a value in both.

    a, b: its values over those samples. difference: b - a; low, high: its 95 % interval, by `method`. p: two-sided, for
    the hypothesis of no difference; p_adjusted: by Holm over all compared metrics. All of these are None if a value is
    undefined. better: which way the metric is better.
    wins, ties, losses: the number of samples on which b is better, equal, worse. detectable: the smallest true
    difference that n samples would show in 80 of 100 comparisons, None if unknown. These are None for a metric over the
    data set. missing: the samples without a value.
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

    @property
    def verdict(self) -> str:
        """b is "better" or "worse" if the difference is significant, else "".

        It is significant if p_adjusted is below 0.05 and the interval excludes 0.
        """
        if not is_significant(self.p_adjusted, self.low, self.high):
            return ""
        assert self.low is not None
        return "better" if (self.low > 0) == (self.better == "higher") else "worse"


class ChangedPiece(msgspec.Struct, frozen=True):
    """A judged piece that made the difference: its run ("a" or "b"), and its verdict in words."""

    run: str
    said: str


class Change(msgspec.Struct, frozen=True):
    """A sample on which a metric differs: its values in both runs, and the pieces that made the difference.

    The pieces count only against the worse response; if there are none, they count only for the better one.
    """

    metric: str
    id: str
    query: str
    a: float
    b: float
    pieces: tuple[ChangedPiece, ...]


class ComparedRunInfo(msgspec.Struct, frozen=True):
    """A run that is compared: its id, its name ("" for none), and the data it was made of."""

    id: str
    name: str
    data: str

    def __str__(self) -> str:
        return f"{self.name or self.data} ({self.id})"


class Comparison(msgspec.Struct, frozen=True):
    """Run `b` compared with run `a` over the same samples.

    samples: number of samples in both, matched `by` "id" or "query"; only_a, only_b: number of samples in one run only.
    groups: number of groups of samples, None if samples are independent. differences: by metric. changes: the samples
    that changed most. left_out: metrics that were not compared, with the reason. notes: warnings, such as that the
    judges differ.
    """

    a: ComparedRunInfo
    b: ComparedRunInfo
    samples: int
    by: str
    only_a: int
    only_b: int
    groups: int | None
    differences: dict[str, Difference]
    changes: tuple[Change, ...]
    left_out: dict[str, str]
    notes: tuple[str, ...]

    def worse(self, metrics: Sequence[str]) -> list[str]:
        """The metrics in which b is significantly worse than a.

        Args:
            metrics: Keys of compared metrics; p-values are adjusted over these alone.

        Raises:
            UnknownName: A metric was not compared.
            UsageError: A metric has no value in both runs.
        """
        p_values: dict[str, float] = {}
        for metric in metrics:
            if metric in self.left_out:
                raise UsageError(f"{metric} cannot be compared: {self.left_out[metric]}")
            if metric not in self.differences:
                raise UnknownName("metric of this comparison", metric, self.differences)
            if (p := self.differences[metric].p) is None:
                raise UsageError(f"{metric} cannot be compared: it has no value over the samples of both runs")
            p_values[metric] = p
        adjusted = {
            metric: msgspec.structs.replace(self.differences[metric], p_adjusted=p)
            for metric, p in holm(p_values).items()
        }
        return [metric for metric, one in adjusted.items() if one.verdict == "worse"]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as one document of schema "ragauge.compare/1"; see docs/compare.md."""
        plain = msgspec.to_builtins(self)
        for key, one in self.differences.items():
            plain["differences"][key]["verdict"] = one.verdict
        return {"schema": SCHEMA, **plain}

    def save(self, path: str | Path) -> Path:
        """Write the comparison to a .json or .md file. Raises UsageError for other endings."""
        as_json = msgspec.json.encode(self.to_dict()).decode() + "\n"
        return save_text(Path(path), {".json": lambda: as_json, ".md": lambda: comparison_markdown(self)})

    def __str__(self) -> str:
        return comparison_text(self)

    def _repr_markdown_(self) -> str:
        return comparison_markdown(self)


#: The columns. p: adjusted. +/=/−: the number of samples on which B is better, equal, worse; their sum is n. detects:
#: the smallest true difference that n samples would show in 80 of 100 comparisons.
HEAD = ("metric", "A", "B", "B − A", "95 % interval", "p", "+/=/−", "B is", "detects")

#: The column of the terminal that shows the differences as bars.
BAR = "−  0  +"

#: The columns that a narrow terminal drops, in this order.
SPARED = (BAR, "detects", "+/=/−", "A")

#: The number of metrics whose changes the terminal shows: those with the smallest p-values.
TOP_METRICS = 3

_STYLES = {"better": "green", "worse": "red", "": None}


def comparison_view(comparison: Comparison, width: int) -> list[RenderableType]:
    """The two runs, the warnings, the table of differences, and the footnotes."""
    from rich.text import Text

    warnings = [Text(note, style="yellow") for note in comparison.notes]
    return [*_headlines(comparison), *warnings, _table(comparison, width), *_footnotes(comparison)]


def comparison_text(comparison: Comparison, width: int = 140) -> str:
    """The same as plain text."""
    return plain_text(comparison_view(comparison, width), width)


def changes_view(comparison: Comparison) -> Iterator[RenderableType]:
    """The samples that changed most, for the metrics with the smallest p-values."""
    from rich.text import Text

    changed = _changes(comparison, TOP_METRICS)
    if changed:
        yield from ("", "What changed most:", "")
    for change in changed:
        yield Text.assemble((f"{_change_words(change)} ", "bold"), (shortened(change.query, 100), "dim"))
        yield from (Text(f"  {piece.run.upper()}: {piece.said}") for piece in change.pieces)


def _changes(comparison: Comparison, metrics: int) -> list[Change]:
    """The changes of the `metrics` metrics with the smallest p-values, in that order."""
    known = {key: one.p for key, one in comparison.differences.items() if one.p is not None}
    surest = sorted(known, key=lambda key: known[key])[:metrics]
    return [change for key in surest for change in comparison.changes if change.metric == key]


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison, short enough for a comment on a pull request, with as many changes as fit."""
    lines = ["# Comparison", "", *(f"{plain(line)}  " for line in _headlines(comparison))]
    if comparison.notes:
        lines += ["", *(f"**{plain(note)}**" for note in comparison.notes)]
    lines += ["", *markdown_table(HEAD, (_cells(key, one) for key, one in comparison.differences.items())), ""]
    lines += [f"{plain(line)}  " for line in _footnotes(comparison)]
    if comparison.changes:
        lines += ["", "## What changed most", ""]
    room = LENGTH - sum(len(line) + 1 for line in lines)
    for change in _changes(comparison, len(comparison.differences)):
        added = [f"- {plain(_change_words(change))} {plain(shortened(change.query, 100))}"]
        added += [f"  - {piece.run.upper()}: {plain(piece.said)}" for piece in change.pieces]
        room -= sum(len(line) + 1 for line in added)
        if room < 0:
            break
        lines += added
    return "\n".join(lines) + "\n"


def _headlines(comparison: Comparison) -> Iterator[str]:
    yield f"A: {printable(str(comparison.a))}"
    yield f"B: {printable(str(comparison.b))}"
    groups = f" in {counted(comparison.groups, 'group')}" if comparison.groups is not None else ""
    yield f"{counted(comparison.samples, 'sample')}{groups} in both, matched by {comparison.by}."
    alone = [f"{count} only in {name}" for count, name in ((comparison.only_a, "A"), (comparison.only_b, "B")) if count]
    if alone:
        yield f"Left out: {' and '.join(alone)}."


def _table(comparison: Comparison, width: int) -> Table:
    """The differences, without the columns in SPARED that do not fit, at three spaces between columns."""
    rows = {
        key: {**dict(zip(HEAD, _cells(key, one), strict=True)), BAR: difference_bar(one.difference).ljust(9)}
        for key, one in comparison.differences.items()
    }
    heads, spared = [*HEAD[:4], BAR, *HEAD[4:]], list(SPARED)
    while spared and sum(3 + max(map(len, (name, *(row[name] for row in rows.values())))) for name in heads) > width:
        heads.remove(spared.pop(0))
    styles = [_STYLES[one.verdict] for one in comparison.differences.values()]
    cells = ([row[name] for name in heads] for row in rows.values())
    return rich_table(heads, cells, left=("metric", "B is", BAR), styles=styles)


def _cells(key: str, one: Difference) -> list[str]:
    interval = "–" if one.low is None else f"[{signed(one.low)}, {signed(one.high)}]"
    won = f"n {one.n}" if one.wins is None else f"{one.wins}/{one.ties}/{one.losses}"
    return [
        *(f"{key} {arrow(one.better)}", number(one.a), number(one.b), signed(one.difference), interval),
        *(p_value(one.p_adjusted), won, one.verdict, number(one.detectable)),
    ]


def _footnotes(comparison: Comparison) -> Iterator[str]:
    """How p-values are adjusted, where the runs lack values, and what was not compared."""
    tested = sum(one.p is not None for one in comparison.differences.values())
    yield f"p: two-sided, adjusted for {counted(tested, 'test')} (Holm); intervals are of each metric by itself."
    undefined, failed = [], []
    for key, one in comparison.differences.items():
        missing = one.missing
        if missing.undefined_a or missing.undefined_b:
            significant = missing.p_adjusted is not None and missing.p_adjusted < LEVEL
            p = f" (p {p_value(missing.p_adjusted)})" if significant else ""
            undefined.append(f"{key} {missing.undefined_a} and {missing.undefined_b}{p}")
        if missing.failed_a or missing.failed_b:
            failed.append(f"{key} {missing.failed_a} and {missing.failed_b}")
    if undefined:
        yield f"Undefined in A and in B, and so not compared: {', '.join(undefined)}."
    if failed:
        yield f"Failed in A and in B: {', '.join(failed)}."
    yield from (f"Not compared: {one}." for one in by_reason(comparison.left_out))


def _change_words(change: Change) -> str:
    return f"{change.metric} {number(change.a)} → {number(change.b)}, sample {printable(change.id)}:"
