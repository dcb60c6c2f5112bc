"""Trackers: places of runs and traces such as mlflow:EXPERIMENT, and `ragauge log`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import click

from ragauge.cli import options as opts
from ragauge.cli.main import say
from ragauge.cli.options import Paths, Texts
from ragauge.compat.tracking import TrackerError, labels_of
from ragauge.errors import BadParameter, UsageError
from ragauge.metrics.registry import CATALOGUE
from ragauge.readers import join, read
from ragauge.readers.formats import Source
from ragauge.run.results import Run
from ragauge.store import Store, read_labels

#: The name before the colon of a place -> the module that logs runs there.
TRACKERS = {"mlflow": "ragauge.compat.mlflow", "wandb": "ragauge.compat.wandb"}


def logger(place: str) -> Callable[[Run], str]:
    """The function that logs a run to a tracker or the URL of a receiver, and returns words on what it did.

    Raises MissingExtra where the tracker's library is not installed, BadParameter for another place.
    """
    if place.startswith(("http://", "https://")):
        return partial(_emit, place)
    kind, _, name = place.partition(":")
    if not (kind in TRACKERS and name):
        raise BadParameter(f"{place!r} is no tracker; write mlflow:EXPERIMENT, wandb:PROJECT or the URL of a receiver")
    module = import_module(TRACKERS[kind])
    module.check_installed()
    return lambda run: f"logged to {place} as run {module.log_run(run, name)}"


def _emit(url: str, run: Run) -> str:
    try:
        return f"sent {run.emit(url)} events to {url}"
    except UsageError as error:
        raise TrackerError(url, error) from error


def log_to(loggers: dict[str, Callable[[Run], str]], run: Run, is_kept: bool) -> bool:
    """Log a run to places; whether all took it. Those that did not are said, with the command that tries again."""
    taken = True
    for place, log in loggers.items():
        try:
            say(log(run))
        except TrackerError as error:
            taken = False
            say(f"{error}", err=True)
            say(f"the run is kept; log it later with: ragauge log {run.id} {place}" if is_kept else "", err=True)
    return taken


def data_and_labels(data: str, source: str | None, asked: dict[str, Any]) -> Any:
    """DATA, joined to --benchmark, or the traces of --from, whose feedback by people is added to `asked["labels"]`."""
    benchmarks = asked.pop("benchmark")
    if bool(data) == bool(source):
        raise BadParameter("give DATA, or --from mlflow:EXPERIMENT")
    if not source:
        return _joined(data, benchmarks, asked) if benchmarks else data
    kind, _, name = source.partition(":")
    if kind != "mlflow" or not name:
        raise BadParameter(f"--from {source}: write --from mlflow:EXPERIMENT; files of other trackers are DATA")
    from ragauge.compat.mlflow import traces

    tracked = traces(name)
    metrics = CATALOGUE if asked["metrics"] is None else asked["metrics"]
    labels = labels_of(read(tracked.data, map=asked["map"]), tracked.feedback, metrics)
    if labels:
        say(f"{source}: {len(labels)} of {len(tracked.feedback)} pieces of people's feedback are labels", err=True)
        asked["labels"] = [*(read_labels(asked["labels"]) if asked["labels"] else ()), *labels]
    return tracked.data


def _joined(data: str, benchmarks: Paths, asked: dict[str, Any]) -> Source:
    """DATA joined to the rows of benchmarks; what has no counterpart is said."""
    samples: Any = benchmarks[0]
    rows = read(data, map=asked.pop("map"), skip_bad_rows=asked["skip_bad_rows"])
    for side in (*benchmarks[1:], rows):
        samples, report = join(samples, side)
        for remark, names in report.items():
            say(f"{rows.name if side is rows else side}: {len(names)} {remark}, such as {names[0]!r}", err=True)
    if rows.bad_rows:
        say(f"{rows.name}: {len(rows.bad_rows)} rows left out, the first because: {rows.bad_rows[0]}", err=True)
    asked["map"] = {}
    return Source(rows.name, partial(iter, samples))


@click.command("log")
@click.argument("run", shell_complete=opts.complete_runs)
@click.argument("places", nargs=-1, required=True, metavar="TRACKER...")
@opts.open_store_option("The store of the run.")
def log_command(run: str, places: Texts, store: Store) -> None:
    """Log a run of the store to trackers.

    TRACKER: mlflow:EXPERIMENT, wandb:PROJECT, or the URL of a receiver of OpenTelemetry.
    """
    loggers = {place: logger(place) for place in places}
    if not log_to(loggers, Run(store, store.run(run)), is_kept=True):
        raise SystemExit(1)
