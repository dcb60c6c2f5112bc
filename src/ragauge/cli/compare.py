"""`ragauge compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ragauge.analysis.compare import compare
from ragauge.analysis.comparison import COMPARISON_WRITERS, changes_view, comparison_view
from ragauge.cli.options import open_store_option, output_option
from ragauge.cli.screen import say, screen
from ragauge.report.files import check_ending, check_place
from ragauge.run.results import Run
from ragauge.store import Store


@click.command("compare")
@click.argument("a")
@click.argument("b")
@open_store_option("Where the runs are kept.")
@click.option("-m", "--metrics", metavar="LIST", help="Compare only these, such as faithfulness,rouge.rougeL.")
@click.option("--group", metavar="COLUMN", help="Samples with the same value here are not independent.")
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Show the N samples that changed most, of each of the three metrics that differ most clearly.",
)
@output_option("Write the comparison", COMPARISON_WRITERS)
@click.option(
    "--fail-if-worse",
    multiple=True,
    metavar="METRIC",
    help="Exit with 3 if B is significantly worse than A, repeatable.",
)
def command(
    a: str,
    b: str,
    store: Store,
    metrics: str | None,
    group: str | None,
    show: int,
    output: Sequence[Path],
    fail_if_worse: Sequence[str],
) -> None:
    """Say whether run B is really better than run A: paired differences, with intervals and p-values.

    Runs are given by id, by --name (the newest of that name), by the beginning of an id, or as "latest". Nothing is
    judged again.
    """
    for path in output:
        check_ending(path, COMPARISON_WRITERS)
        check_place(path)
    found = compare(Run.open(store, a), Run.open(store, b), metrics or "", group=group, show=show)
    worse = found.worse(fail_if_worse)
    written = [found.save(path) for path in output]
    console = screen()
    for part in (*comparison_view(found, console.width), *changes_view(found)):
        console.print(part)
    for path in written:
        say(f"wrote {path}")
    for metric in worse:
        say(f"gate failed: {metric} is significantly worse", err=True)
    if worse:
        raise SystemExit(3)
