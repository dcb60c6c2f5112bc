"""`ragauge report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ragauge.cli.options import open_store_option, output_option, raw_csv_option, show_option
from ragauge.cli.run import show_run
from ragauge.cli.screen import say
from ragauge.run.results import Run
from ragauge.store import Store


@click.command("report")
@click.argument("run", default="latest")
@open_store_option("Where the run is kept.")
@output_option("Write it")
@raw_csv_option
@show_option(3)
@click.option("--list", "listed", is_flag=True, help="List the runs of the store instead.")
def command(run: str, store: Store, output: Sequence[Path], raw_csv: bool, show: int, listed: bool) -> None:
    """Show RUN, by its id, the beginning of it, or its name; without one, the newest. Nothing is judged again."""
    if listed:
        for record in store.runs():
            say(f"{record.id}  {record.status:<11} {record.samples:>7} samples  {record.name or record.data}")
        return
    found = Run.open(store, run)
    for path in output:
        say(f"wrote {found.save(path, raw_csv=raw_csv)}")
    if not output:
        show_run(found, show)
