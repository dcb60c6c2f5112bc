"""A comparison for people: a table in the terminal, and Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ragauge.comparison.outcome import LEVEL, Change, Comparison, Difference
from ragauge.report.markdown import LENGTH, plain
from ragauge.report.terminal import plain_text
from ragauge.report.wording import arrow, by_reason, counted, difference_bar, number, printable, shortened

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

#: The table. p: adjusted. +/=/−: the samples on which B is better, equal, worse, which are n together. detects: the
#: smallest true difference that so many samples would show in 80 of 100 comparisons.
HEAD = ("metric", "A", "B", "B − A", "95 % interval", "p", "+/=/−", "B is", "detects")

#: The column of the terminal that shows the differences as bars.
BAR = "−  0  +"

#: What a narrow terminal does without, the first first.
SPARED = (BAR, "detects", "+/=/−", "A")

#: How many metrics the terminal shows the changes of: those of which a difference is most certain.
TOLD = 3

_STYLES = {"better": "green", "worse": "red", "": None}


def comparison_view(comparison: Comparison, width: int) -> list[RenderableType]:
    """What is compared, what must be known first, the table, and what it leaves out."""
    from rich.text import Text

    warnings = [Text(note, style="yellow") for note in comparison.notes]
    return [*_headlines(comparison), *warnings, _table(comparison, width), *_footnotes(comparison)]


def comparison_text(comparison: Comparison, width: int = 140) -> str:
    """The same as plain text."""
    return plain_text(comparison_view(comparison, width), width)


def changes_view(comparison: Comparison) -> Iterator[RenderableType]:
    """The samples that changed most, of the metrics of which a difference is most certain."""
    from rich.text import Text

    changed = _changes(comparison, TOLD)
    if changed:
        yield from ("", "What changed most:", "")
    for change in changed:
        yield Text.assemble((f"{_change_words(change)} ", "bold"), (shortened(change.query, 100), "dim"))
        yield from (Text(f"  {piece.run.upper()}: {piece.said}") for piece in change.pieces)


def _changes(comparison: Comparison, metrics: int) -> list[Change]:
    """What changed most in so many metrics, those first of which a difference is most certain."""
    known = {key: one.p for key, one in comparison.differences.items() if one.p is not None}
    told = sorted(known, key=lambda key: known[key])[:metrics]
    return [change for key in told for change in comparison.changes if change.metric == key]


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison, fit for a comment on a pull request, with as much of what changed as there is room for."""
    lines = list(_markdown(comparison))
    room = LENGTH - sum(len(line) + 1 for line in lines)
    for change in _changes(comparison, len(comparison.differences)):
        told = list(_change_lines(change))
        room -= sum(len(line) + 1 for line in told)
        if room < 0:
            break
        lines += told
    return "\n".join(lines) + "\n"


def _markdown(comparison: Comparison) -> Iterator[str]:
    yield "# Comparison"
    yield ""
    yield from (f"{plain(line)}  " for line in _headlines(comparison))
    yield from ("", *(f"**{plain(note)}**" for note in comparison.notes)) if comparison.notes else ()
    yield ""
    yield f"| {' | '.join(HEAD)} |"
    yield "|" + "---|" * len(HEAD)
    for key, one in comparison.differences.items():
        yield f"| {' | '.join(_cells(key, one))} |"
    yield ""
    yield from (f"{plain(line)}  " for line in _footnotes(comparison))
    if comparison.changes:
        yield from ("", "## What changed most", "")


def _change_lines(change: Change) -> Iterator[str]:
    yield f"- {plain(_change_words(change))} {plain(shortened(change.query, 100))}"
    yield from (f"  - {piece.run.upper()}: {plain(piece.said)}" for piece in change.pieces)


def _headlines(comparison: Comparison) -> Iterator[str]:
    yield f"A: {printable(str(comparison.a))}"
    yield f"B: {printable(str(comparison.b))}"
    groups = f" in {counted(comparison.groups, 'group')}" if comparison.groups is not None else ""
    yield f"{counted(comparison.samples, 'sample')}{groups} in both, matched by {comparison.by}."
    alone = [f"{count} only in {name}" for count, name in ((comparison.only_a, "A"), (comparison.only_b, "B")) if count]
    if alone:
        yield f"Left out: {' and '.join(alone)}."


def _table(comparison: Comparison, width: int) -> Table:
    from rich import box
    from rich.table import Table

    rows = {
        key: {**dict(zip(HEAD, _cells(key, one), strict=True)), BAR: difference_bar(one.difference).ljust(9)}
        for key, one in comparison.differences.items()
    }
    heads = _fitting([{name: name for name in (*HEAD, BAR)}, *rows.values()], width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in heads:
        table.add_column(name, justify="left" if name in ("metric", "B is", BAR) else "right", overflow="fold")
    for key, row in rows.items():
        table.add_row(*(row[name] for name in heads), style=_STYLES[comparison.differences[key].verdict])
    return table


def _fitting(rows: Sequence[Mapping[str, str]], width: int) -> list[str]:
    """The columns that `width` has room for, each with the three spaces between it and the next."""
    heads, spared = [*HEAD[:4], BAR, *HEAD[4:]], list(SPARED)
    while spared and sum(3 + max(len(row[name]) for row in rows) for name in heads) > width:
        heads.remove(spared.pop(0))
    return heads


def _cells(key: str, one: Difference) -> list[str]:
    interval = "–" if one.low is None else f"[{_signed(one.low)}, {_signed(one.high)}]"
    won = f"n {one.n}" if one.wins is None else f"{one.wins}/{one.ties}/{one.losses}"
    return [
        *(f"{key} {arrow(one.better)}", number(one.a), number(one.b), _signed(one.difference), interval),
        *(_p(one.p_adjusted), won, one.verdict, number(one.detectable)),
    ]


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"


def _p(value: float | None) -> str:
    return "–" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _footnotes(comparison: Comparison) -> Iterator[str]:
    """What the p-values are, where the runs lack values, and what was not compared."""
    tested = sum(one.p is not None for one in comparison.differences.values())
    yield f"p: two-sided, adjusted for {counted(tested, 'test')} (Holm); intervals are of each metric by itself."
    missing = {key: one.missing for key, one in comparison.differences.items()}
    undefined = [
        f"{key} {one.undefined_a} and {one.undefined_b}{_if_significant(one.p_adjusted)}"
        for key, one in missing.items()
        if one.undefined_a or one.undefined_b
    ]
    failed = [
        f"{key} {one.failed_a} and {one.failed_b}" for key, one in missing.items() if one.failed_a or one.failed_b
    ]
    if undefined:
        yield f"Undefined in A and in B, and so not compared: {', '.join(undefined)}."
    if failed:
        yield f"Failed in A and in B: {', '.join(failed)}."
    yield from (f"Not compared: {one}." for one in by_reason(comparison.left_out))


def _if_significant(p: float | None) -> str:
    return f" (p {_p(p)})" if p is not None and p < LEVEL else ""


def _change_words(change: Change) -> str:
    return f"{change.metric} {number(change.a)} → {number(change.b)}, sample {printable(change.id)}:"
