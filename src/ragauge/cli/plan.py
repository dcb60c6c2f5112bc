"""`ragauge plan`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ragauge.cli.options import data_options, judge_option, pairs, store_options
from ragauge.cli.running import progress_bar
from ragauge.run.planning import plan


@click.command("plan")
@data_options
@store_options
def command(
    data: str,
    metrics: str | None,
    judges: Sequence[str],
    mapping: Sequence[str],
    group: str | None,
    limit: int | None,
    skip_bad_rows: bool,
    labels: Path | None,
    store: Path,
    no_store: bool,
) -> None:
    """Say what `run` would ask and cost, without asking: questions, calls, tokens, price and time, by metric too."""
    with progress_bar("planning", limit) as progress:
        planned = plan(
            data,
            metrics,
            judge_option(judges),
            None if no_store else store,
            labels=labels,
            map=pairs(mapping, "--map"),
            group=group,
            limit=limit,
            skip_bad_rows=skip_bad_rows,
            progress=progress,
        )
    click.echo(str(planned))
