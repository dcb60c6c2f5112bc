"""`ragauge judges`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragauge.cli.running import progress_bar
from ragauge.cli.screen import screen
from ragauge.errors import BadData, BadParameter
from ragauge.judges.judge import Judge
from ragauge.measure import Fitted, Measured, fit_threshold, labelled_sets, measure
from ragauge.report.wording import number
from ragauge.run.specs import DESCRIPTIONS, judge_of
from ragauge.store import read_labels

if TYPE_CHECKING:
    from rich.table import Table


@click.group("judges", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the judges, or measure one against people's labels."""
    if ctx.invoked_subcommand:
        return
    for spec, description in DESCRIPTIONS.items():
        click.echo(f"{spec:<33} {description}")
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


@command.command("fit")
@click.argument("judge", default="embedded")
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="People's labels (.jsonl), as for `ragauge run`.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of labelled sets (.jsonl.gz), as for `measure`.",
)
@click.option("--accuracy", type=float, default=0.95, show_default=True, help="How often JUDGE has to be right.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N rows of each set of --data.")
def fit_command(judge: str, labels: Path | None, data: Path | None, accuracy: float, limit: int | None) -> None:
    """Fit the threshold beyond which JUDGE is right often enough to be the first of a cascade, on people's labels.

    What counts is the lower end of a one-sided 95 % interval of how often it is right.
    """
    labelled = [*(read_labels(labels) if labels else ()), *(labelled_sets(data, limit) if data else ())]
    if not (labels or data):
        raise BadParameter("give people's labels: --labels FILE, or --data FOLDER of labelled sets")
    found = asyncio.run(fit_threshold(judge_of(judge), labelled, accuracy))
    for kind, fitted in found.items():
        click.echo(f"{kind}: {_fit_words(fitted, accuracy)}")
    thresholds = ",".join(f"{kind}={fitted.threshold:g}" for kind, fitted in found.items() if fitted.threshold)
    click.echo(f"use: cascade({judge},JUDGE,{thresholds})" if thresholds else "a cascade would leave nothing to it")


def _fit_words(fitted: Fitted, accuracy: float) -> str:
    if fitted.accuracy is None:
        return f"no probability with any of {fitted.labelled} answers"
    figures = f"{fitted.share:.0%} of {fitted.labelled} answers, right in {fitted.accuracy:.1%}, at least "
    reached = f"beyond {fitted.at:g} lie {figures}{fitted.bound:.1%}"
    return reached if fitted.threshold else f"no threshold reaches {accuracy:.0%}; {reached}, the nearest to it"


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
