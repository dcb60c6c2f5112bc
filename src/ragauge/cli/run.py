"""`ragauge run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.gates import failures, gates
from ragauge.cli.options import data_options, max_cost_option, output_option, raw_csv_option, show_option, store_options
from ragauge.cli.running import measure, stop
from ragauge.cli.screen import say, screen
from ragauge.errors import RunFailed
from ragauge.report.explain import chooser, worst
from ragauge.report.files import check_output
from ragauge.report.text import run_view, sample_view
from ragauge.run.results import Run
from ragauge.scores import Gate

if TYPE_CHECKING:
    from rich.console import Console


@click.command("run")
@data_options
@store_options
@output_option("Write the run")
@raw_csv_option
@click.option("--name", default="", help="A name for the run.")
@max_cost_option
@show_option(0)
@click.option(
    "--fail-under",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Exit with 3 if the estimate is lower, for metrics of which more is better; repeatable.",
)
@click.option(
    "--fail-over",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Exit with 3 if the estimate is higher, for metrics of which less is better; repeatable.",
)
def command(
    data: str,
    asked: dict[str, Any],
    store: Path | None,
    output: Sequence[Path],
    raw_csv: bool,
    name: str,
    max_cost: float | None,
    show: int,
    fail_under: Sequence[str],
    fail_over: Sequence[str],
) -> None:
    """Measure DATA: a .jsonl .json .csv .tsv or .parquet file with queries, responses, contexts, references.

    Columns are recognised by the names that ragas, DeepEval, RAGChecker, Trust-Eval and others use.
    """
    for path in output:
        check_output(path, filter(None, (data, asked["labels"])))
    conditions = gates(fail_under, fail_over, asked["metrics"])
    run = measure(data, "judging", store, max_cost=max_cost, name=name, **asked)
    run.hold_to(conditions)
    written = [run.save(path, raw_csv=raw_csv) for path in output]
    show_run(run, show)
    for path in written:
        say(f"wrote {path}")
    if store:
        say(f"run {run.id}; read it again with: ragauge report {run.id}")
    end(run, conditions, store)


def show_run(run: Run, count: int) -> None:
    """Print the estimates and the `count` worst samples with their evidence."""
    console = screen()
    for part in run_view(run.record, console.width):
        console.print(part)
    key = chooser(run.record)
    if count and key:
        console.print()
        console.print(f"Worst by {key}:")
        console.print()
        show_worst(console, run, key, count)


def show_worst(console: Console, run: Run, key: str, count: int) -> None:
    """Print the `count` samples that are worst by one metric, with their evidence."""
    for record in worst(run.records(), key, run.estimates[key].better, count):
        for part in sample_view(record, key):
            console.print(part)


def end(run: Run, conditions: Sequence[Gate], store: Path | None) -> None:
    """Leave with 1 where no score has a value, 4 where the run stopped, 3 where a gate failed.

    store: where the run is kept, None where it is not.
    """
    if not any(one.n for one in run.estimates.values()) and (run.record.failures or not run.record.stopped):
        reasons = [*run.record.failures.values(), *run.record.undefined.values()]
        because = f", the first because: {reasons[0]}" if reasons else ""
        stopped = f"; the run was stopped: {run.record.stopped}" if run.record.stopped else ""
        raise RunFailed(f"no score has a value{because}{stopped}")
    if run.record.stopped:
        stop(run.record.stopped, store)
    failed = failures(run.estimates, conditions)
    for line in failed:
        say(f"gate failed: {line}", err=True)
    if failed:
        raise SystemExit(3)
