"""`ragauge compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ragauge.cli.options import DEFAULT_STORE
from ragauge.cli.screen import screen
from ragauge.comparison import compare
from ragauge.comparison.outcome import WRITERS, check_output
from ragauge.comparison.report import changes_view, comparison_view
from ragauge.errors import UsageError
from ragauge.run.run import Run
from ragauge.store import Store


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    default=DEFAULT_STORE,
    show_default=True,
    help="Where the runs are kept.",
)
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
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    help=f"Write the comparison: {' '.join(WRITERS)}; repeatable.",
)
@click.option(
    "--fail-if-worse",
    multiple=True,
    metavar="METRIC",
    help="Exit with 3 if B is significantly worse than A, repeatable.",
)
def command(
    a: str,
    b: str,
    store: Path,
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
        check_output(path)
    if not store.exists():
        raise UsageError(f"there is no store at {store}; `ragauge run` makes one, --store names another")
    with Store.open(store) as opened:
        runs = Run.open(opened, a), Run.open(opened, b)
        found = compare(*runs, metrics or "", group=group, show=show)
    worse = found.worse(fail_if_worse)
    written = [found.save(path) for path in output]
    console = screen()
    for part in (*comparison_view(found, console.width), *changes_view(found)):
        console.print(part)
    for path in written:
        click.echo(f"wrote {path}")
    for metric in worse:
        click.echo(f"gate failed: {metric} is significantly worse", err=True)
    if worse:
        raise SystemExit(3)
