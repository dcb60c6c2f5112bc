"""`ragauge demo`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragauge.cli.options import output_option, raw_csv_option, show_option, store_options
from ragauge.cli.run import show_worst
from ragauge.cli.running import measure
from ragauge.cli.screen import screen
from ragauge.report.files import check_output
from ragauge.report.text import estimates_table
from ragauge.run.results import Run

if TYPE_CHECKING:
    from rich.console import Console

SYSTEMS = ("baseline", "candidate")

#: What the demo measures: enough to see the forms, little enough to read.
METRICS = (
    "faithfulness,hallucination,answer_correctness,answer_relevance,context_precision,context_recall,"
    "context_relevance,claim_f1,context_utilization,rouge(types=rougeL),bleu,token_f1"
)


@click.command("demo")
@store_options
@output_option("Write the candidate's run")
@raw_csv_option
@show_option(2)
def command(store: Path | None, output: Sequence[Path], raw_csv: bool, show: int) -> None:
    """Measure two versions of an assistant on packaged data with the embedded judge: offline, no key."""
    for path in output:
        check_output(path)
    console = screen()
    runs = measured(store)
    written = [runs["candidate"].save(path, raw_csv=raw_csv) for path in output]
    show_runs(console, runs, show)
    for path in written:
        console.print(f"wrote {path}")
    console.print(_seen(runs["baseline"], keep=store is not None))
    console.print("Now your own data: ragauge run FILE        what can be measured: ragauge metrics")


def _seen(baseline: Run, keep: bool) -> str:
    """Where the baseline can be looked at: a report beside the store, where something is kept."""
    if not keep:
        return "To look at it in a browser: ragauge demo -o demo.html"
    return f"The baseline's report, to open in a browser: {baseline.save(baseline.store.path.with_name('demo.html'))}"


def measured(store: Path | None) -> dict[str, Run]:
    """The runs of the two systems by name."""
    runs = {}
    for system in SYSTEMS:
        with as_file(files("ragauge.demo") / f"{system}.jsonl") as path:
            runs[system] = measure(path, f"judging {system}", store, metrics=METRICS, name=f"demo {system}")
    return runs


def show_runs(console: Console, runs: Mapping[str, Run], count: int) -> None:
    """Print the estimates side by side, and the answers of the baseline that contradict most, with their evidence."""
    baseline = runs["baseline"]
    console.print(f"Two versions of an assistant, {baseline.record.samples} questions each, judged offline by ragauge.")
    console.print(estimates_table({system: run.record for system, run in runs.items()}))
    if count:
        console.print("Behind the numbers: the baseline's worst answers by hallucination:")
        console.print()
        show_worst(console, baseline, "hallucination", count)
