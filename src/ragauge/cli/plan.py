"""`ragauge plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.options import data_options, store_options
from ragauge.cli.running import progress_bar
from ragauge.cli.screen import say
from ragauge.run.plan import plan


@click.command("plan")
@data_options
@store_options
def command(data: str, asked: dict[str, Any], store: Path | None) -> None:
    """Say what `run` would ask and cost, without asking: questions, calls, tokens, price and time, by metric too."""
    with progress_bar("planning", asked["limit"]) as progress:
        planned = plan(data, store=store, progress=progress, **asked)
    say(*str(planned).splitlines())
