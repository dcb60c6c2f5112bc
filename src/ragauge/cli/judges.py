"""`ragauge judges`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragauge.cli.running import progress_bar
from ragauge.cli.screen import screen
from ragauge.errors import BadData
from ragauge.judges.judge import Judge
from ragauge.measure import Measured, measure
from ragauge.report.wording import number
from ragauge.run.specs import DESCRIPTIONS, judge_of

if TYPE_CHECKING:
    from rich.table import Table


@click.group("judges", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the judges, or measure one against people's labels."""
    if ctx.invoked_subcommand:
        return
    for spec, description in DESCRIPTIONS.items():
        click.echo(f"{spec:<18} {description}")
    answers = ", ".join(sorted(judge_of("embedded").answers))
    click.echo(f"\nembedded answers: {answers}. In Python any function can judge: ragauge.judge_from(...).")


@command.command("measure")
@click.argument("judge", default="embedded")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Folder of labelled sets (.jsonl.gz).",
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="At most N rows of each set, drawn with a fixed seed."
)
def measure_command(judge: str, data: Path, limit: int | None) -> None:
    """Measure JUDGE against people's labels, set by set: AUC with its 95 % interval, and balanced accuracy.

    "words" is the AUC of merely counting the share of words that occur in the text, on the same rows.
    """
    results = asyncio.run(_measured(judge_of(judge), data, limit))
    answered = [one for one in results if one.auc is not None]
    if not answered:
        raise BadData(f"{data}: no labelled set here that {judge} can be measured on; see docs/embedded-judge.md")
    screen().print(_table(answered))
    for one in results:
        if one.note:
            click.echo(f"{one.name}: {one.note}")


async def _measured(judge: Judge, data: Path, limit: int | None) -> list[Measured]:
    results: list[Measured] = []
    with progress_bar("measuring") as progress:
        async for one in measure(judge, data, limit):
            results.append(one)
            progress(len(results))
    return results


def _table(results: Sequence[Measured]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("set", "rows", "AUC", "95 % interval", "balanced", "words", "rows/s"):
        table.add_column(column, justify="left" if column == "set" else "right", no_wrap=True)
    for one in results:
        low, high = one.interval or (None, None)
        figures = [number(one.auc), f"[{number(low)}, {number(high)}]", number(one.balanced_accuracy)]
        speed = f"{one.rows / one.seconds:.0f}" if one.seconds else ""
        table.add_row(one.name, str(one.rows), *figures, number(one.overlap_auc), speed)
    return table
