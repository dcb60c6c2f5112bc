"""`ragauge report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ragauge.cli.options import DEFAULT_STORE, output_option, show_option
from ragauge.cli.run import show_run
from ragauge.errors import UsageError
from ragauge.run.run import Run
from ragauge.store import Store


@click.command("report")
@click.argument("run", default="latest")
@click.option(
    "--store", type=click.Path(path_type=Path), default=DEFAULT_STORE, show_default=True, help="Where the run is kept."
)
@output_option("Write it")
@show_option(3)
@click.option("--list", "listed", is_flag=True, help="List the runs of the store instead.")
def command(run: str, store: Path, output: Sequence[Path], show: int, listed: bool) -> None:
    """Show RUN, by its id, the beginning of it, or its name; without one, the newest. Nothing is judged again."""
    if not store.exists():
        raise UsageError(f"there is no store at {store}; `ragauge run` makes one, --store names another")
    with Store.open(store) as opened:
        if listed:
            for record in opened.runs():
                click.echo(
                    f"{record.id}  {record.status:<11} {record.samples:>7} samples  {record.name or record.data}"
                )
            return
        found = Run.open(opened, run)
        for path in output:
            click.echo(f"wrote {found.save(path)}")
        if not output:
            show_run(found, show)
