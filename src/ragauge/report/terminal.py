"""A run in a terminal: tables and colours by rich."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ragauge.report.caution import caution
from ragauge.report.wording import (
    BAD,
    GOOD,
    arrow,
    bar,
    chunk_words,
    footnotes,
    headline,
    interval,
    number,
    one_line,
    score_words,
    shortened,
    verdict_words,
)
from ragauge.scores import Evidence, RunRecord, SampleRecord

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text


#: How wide a terminal must be for bars beside the estimates.
BARS_FROM = 88


def run_text(run: RunRecord, width: int = 100) -> str:
    """The estimates as plain text."""
    return plain_text(run_view(run, width), width)


def plain_text(parts: Iterable[RenderableType], width: int) -> str:
    """What a terminal of this width would show of these parts, without colours."""
    console = printing_console(width=width, color_system=None)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return captured.get().rstrip()


def printing_console(**options: Any) -> Console:
    """A console of rich that prints each string and each Text, alone or in a cell, as one line that nothing obeys.

    options: of `rich.console.Console`.
    """
    from rich.console import Console
    from rich.text import Text

    class Printing(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(one_line(text), **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            return super().render(_harmless(renderable) if isinstance(renderable, Text) else renderable, options)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Printing(highlight=False, markup=False, emoji=False, **options)


def _harmless(text: Text) -> Text:
    """The same text with its styles, as one line."""
    copy = text.copy()
    copy.plain = one_line(text.plain)
    return copy


def run_view(run: RunRecord, width: int) -> list[RenderableType]:
    """The headline, the table of estimates, with bars where there is room, the footnotes, and how far to trust it."""
    table = estimates_table({"value": run}, bars=width >= BARS_FROM)
    return [headline(run), table, *footnotes(run), *filter(None, [caution(run)])]


def estimates_table(runs: dict[str, RunRecord], bars: bool = False) -> Table:
    """The estimates of one run, or of several side by side under their names; n is counted for each.

    bars: whether the values of a run that stands alone are drawn too.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for name in runs:
        table.add_column(name, justify="right", style="bold", no_wrap=True)
        table.add_column("95 % interval", style="dim", no_wrap=True)
        table.add_column("n", justify="right")
    single = len(runs) == 1
    if single:
        if bars:
            table.add_column("0 to 1", style="blue", min_width=8, no_wrap=True)
        table.add_column("undefined", justify="right", style="dim", no_wrap=True)
        table.add_column("failed", justify="right", style="red", no_wrap=True)
    for key in dict.fromkeys(key for run in runs.values() for key in run.estimates):
        better = next(run.estimates[key].better for run in runs.values() if key in run.estimates)
        table.add_row(f"{key} {arrow(better)}", *_cells(key, runs), *(_alone(key, runs, bars) if single else ()))
    return table


def _cells(key: str, runs: dict[str, RunRecord]) -> list[str]:
    cells: list[str] = []
    for run in runs.values():
        estimate = run.estimates.get(key)
        cells += [number(estimate.value), interval(estimate), str(estimate.n)] if estimate else ["", "", ""]
    return cells


def _alone(key: str, runs: dict[str, RunRecord], bars: bool) -> list[str]:
    """What there is room for where a run stands alone: its value as a bar, and the samples without one."""
    (run,) = runs.values()
    estimate = run.estimates[key]
    return [*([bar(estimate.value)] if bars else []), str(estimate.undefined or ""), str(estimate.failed or "")]


def sample_view(record: SampleRecord, key: str) -> list[RenderableType]:
    """One sample: what was asked and answered, its score by `key`, and each judged piece with the chunks behind it."""
    from rich.text import Text

    score = record.score(key)
    lines: list[RenderableType] = [
        Text.assemble((f"{record.sample.id}  ", "dim"), (record.sample.query or "", "bold")),
        Text(shortened(record.sample.response or "(empty)", 600)),
        Text.assemble((f"{key} ", "dim"), (score_words(score), "bold")),
    ]
    for piece in score.evidence:
        lines.append(Text.assemble("  ", (f"{verdict_words(piece)}  ", _style(piece)), shortened(piece.text, 200)))
        lines.extend(Text(f"      {line}", style="dim") for line in chunk_words(piece, record))
    return [*lines, ""]


def _style(piece: Evidence) -> str:
    if piece.label in GOOD:
        return "green"
    return "red" if piece.label in BAD else "yellow"
