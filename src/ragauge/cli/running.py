"""Running from the command line: a progress bar while it lasts, and a word on how to go on when it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ragauge.run.evaluate import evaluate
from ragauge.run.run import Run


@contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal's standard error, nothing where that is piped. Gives a function of the samples done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def measure(data: Any, label: str, store: Path | None, **options: Any) -> Run:
    """`evaluate` with a progress bar; when it is interrupted the process ends with code 130 and says how to go on."""
    try:
        with progress_bar(label, options.get("limit")) as progress:
            return evaluate(data, store=store, progress=progress, **options)
    except KeyboardInterrupt:
        kept = (
            f"Every judgment made so far is kept in {store}: the same command goes on from there, "
            "and `ragauge report` shows what is done."
            if store
            else "Nothing was kept, because of --no-store."
        )
        click.echo(f"\nStopped. {kept}", err=True)
        raise SystemExit(130) from None
