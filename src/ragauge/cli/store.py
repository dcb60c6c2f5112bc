"""`ragauge history` and `ragauge store`: runs over time, and what a store holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from ragauge.analysis.compare import measures_of
from ragauge.analysis.labels import Labelling, corrected_words
from ragauge.cli import options as opts
from ragauge.cli.main import say, show_parts
from ragauge.cli.options import Texts
from ragauge.cli.run import progress_bar
from ragauge.errors import UnknownName, UsageError
from ragauge.questions import KIND_TYPES
from ragauge.report.explain import chooser
from ragauge.report.text import rich_table
from ragauge.report.wording import counted, dollars, interval, number, price
from ragauge.run.live import seconds
from ragauge.run.results import Run
from ragauge.scores import Estimate, RunRecord, SystemFacts
from ragauge.store import Place, Store
from ragauge.store.pruning import prune, size, sizes


@click.command("history")
@click.argument("of", metavar="[NAME|DATA]", default="", shell_complete=opts.complete_runs)
@opts.open_store_option("Where the runs are kept.")
@click.option("-m", "--metric", help="The metric. [default: the one that reports choose]")
@click.option("--tag", help="Only runs with this tag.")
@click.option("--archived", is_flag=True, help="Archived runs too.")
def history_command(of: str, store: Store, metric: str | None, tag: str | None, archived: bool) -> None:
    """Show a metric over the runs of one name or one file of data.

    By default those of the newest run. Model, latency and cost are of the measured system, the latter two the mean of a
    sample, where the data has columns of these names or is of traces.

    A change is marked where the interval of a run and that of the run before have nothing in common. Where the two
    measured the metric with different parameters, the new ones are shown instead.
    """
    stored = [run for run in store.runs() if run.estimates and (archived or not run.archived)]
    if not stored:
        raise UsageError("no run has an estimate yet; make one with: ragauge run DATA --name NAME")
    of = of or stored[0].name or stored[0].data
    runs = [run for run in reversed(stored) if of in (run.name, run.data) and (not tag or tag in run.tags)]
    if not runs and any(of in run.estimates for run in stored):
        raise UsageError(f"{of} is a metric, not the name or data of a run; write: ragauge history [NAME] -m {of}")
    if not runs:
        names = sorted({run.name or run.data for run in stored} | {run.data for run in stored})
        raise UnknownName("name or data of a run", of, names)
    key = metric or chooser(runs[-1]) or next(iter(runs[-1].estimates))
    if not any(key in run.estimates for run in runs):
        raise UnknownName("metric of these runs", key, runs[-1].estimates)
    shown = [run for run in runs if key in run.estimates]
    measured = (measures_of(run).get(key) for run in shown)
    specs = [metric.spec if metric else key for metric in measured]
    heads = ["run", key, "95 % interval", "n", "change", "model", "latency", "cost", "judge", "judge cost"]
    rows = [[*heads, "judge time", "version", "tags"], *_rows(shown, key, specs)]
    filled = [column for column in zip(*rows, strict=True) if any(column[1:])]
    columns, *lines = map(list, zip(*filled, strict=True))
    show_parts(f"{key} of {of}, {counted(len(shown), 'run')}", "", rich_table(columns, lines, ("run",), ("run",)))
    corrected = [line for run in shown if (line := _corrected(Run(store, run), key))]
    say(*(["", "corrected by people"] if corrected else []), *corrected)
    if len(shown) > 1 and specs[-2] == specs[-1]:
        say("", f"what changed, by claims: ragauge compare {shown[-2].id} {shown[-1].id}")


def _rows(runs: Sequence[RunRecord], key: str, specs: Sequence[str]) -> Iterator[list[str]]:
    """A row for each run, in which `key` was measured as one of `specs`."""
    before: RunRecord | None = None
    spec_before = specs[0]
    for run, spec in zip(runs, specs, strict=True):
        estimate, judges = run.estimates[key], ", ".join(sorted({str(judge) for judge in run.judges.values()}))
        numbers = [number(estimate.value), interval(estimate), str(estimate.n), _change(before, estimate, key)]
        if spec != spec_before:
            numbers[-1] = f"now {spec}"
        seconds_taken = f"{run.seconds:.1f} s" if run.seconds else ""
        if before and (changed := _changed_settings(before, run)):
            judges += f", now other {', '.join(changed)}"
        judging = [judges, price(run.spent), seconds_taken, run.version, ", ".join(run.tags)]
        yield [run.id, *numbers, *_facts(run.system), *judging]
        before, spec_before = run, spec


def _changed_settings(before: RunRecord, run: RunRecord) -> list[str]:
    """The settings, such as prompts, in which judges of the same names differ."""
    judges = ((before.judges.get(topic), judge) for topic, judge in run.judges.items())
    pairs = [(old, new) for old, new in judges if old and old.name == new.name]
    names = {name for old, new in pairs for name, _ in set(old.settings) ^ set(new.settings)}
    stems = (name.rpartition(".")[0] if name.rpartition(".")[2] in KIND_TYPES else name for name in names)
    return sorted(set(stems))


def _facts(system: SystemFacts) -> list[str]:
    """The models, mean latency and mean cost of the measured system, "" for what the data does not say."""
    latency = "" if system.latency is None else f"{system.latency:.3g} s"
    return [", ".join(system.models), latency, "" if system.cost is None else dollars(system.cost)]


def _corrected(run: Run, key: str) -> str:
    """The value of a run corrected by people's labels, or how many are to come; "" without either."""
    wanted = run.record.to_label
    if not run.store.labels(blind=run.record.data_hash):
        return f"  {run.id}: 0 of {wanted} labelled: ragauge label {run.id}" if wanted else ""
    labelling = Labelling(run)
    if key not in labelling.metrics:
        return ""
    summary = labelling.summaries([key])[key]
    progress = f"; {summary.labelled} of {wanted} labelled" if wanted else ""
    return f"  {run.id}: {corrected_words(summary)}{progress}"


def _change(before: RunRecord | None, estimate: Estimate, key: str) -> str:
    """The difference to the run before, marked where the intervals have nothing in common."""
    other = before.estimates[key] if before else None
    if other is None or other.value is None or estimate.value is None:
        return ""
    ends = (estimate.low, estimate.high, other.low, other.high)
    apart = None not in ends and (ends[0] > ends[3] or ends[1] < ends[2])  # type: ignore[operator]
    return f"{estimate.value - other.value:+.3f}{' *' if apart else ''}"


@click.group("store")
def store_command() -> None:
    """Work on stores, files or databases. A database is given as postgresql://USER@HOST/DATABASE."""


@store_command.command("copy")
@click.argument("source", type=opts.store_place)
@click.argument("target", type=opts.store_place)
def copy_command(source: Place, target: Place) -> None:
    """Add the judgments of the store SOURCE to the store TARGET, where its own answers stay.

    Runs, calls and labels are not copied. If interrupted, run the same command again to resume.
    """
    with opts.existing_store(source) as read, Store.open(target) as written, progress_bar("copying", None) as progress:
        count, new = read.copy_to(written, progress)
    say(f"{counted(count, 'judgment')} read, {new:,} new in {target}")


@store_command.command("edit")
@click.argument("run", shell_complete=opts.complete_runs)
@opts.open_store_option("Where the run is kept.", to_read=False)
@click.option("--name", help="Its new name.")
@click.option("--tag", multiple=True, help="Add a tag; repeatable. `prune` keeps runs with tags.")
@click.option("--untag", multiple=True, help="Remove a tag; repeatable.")
@click.option("--archive/--restore", default=None, help="Leave it out of lists and trends, or put it back.")
def edit_command(run: str, store: Store, name: str | None, tag: Texts, untag: Texts, archive: bool | None) -> None:
    """Rename, tag or archive RUN."""
    record = store.run(run)
    record.name = record.name if name is None else name
    record.tags = tuple(kept for kept in dict.fromkeys((*record.tags, *tag)) if kept not in untag)
    record.archived = record.archived if archive is None else archive
    store.finish(record)
    state = "archived" if record.archived else "listed"
    say(f"{record.id}: name {record.name or '(none)'}, tags {', '.join(record.tags) or '(none)'}, {state}")


@store_command.command("stats")
@opts.open_store_option("The store.")
def stats_command(store: Store) -> None:
    """Show what a store holds, and how large it is."""
    say(*(f"{count:>12,} {table}" for table, count in sizes(store).items()))
    say(f"{size(store) / 2**20:>12,.1f} MiB in {store.place}")


@store_command.command("prune")
@opts.open_store_option("The store, which no other process has open.", to_read=False)
@click.option("--keep", required=True, metavar="TIME", help="Remove runs that began longer ago, such as 90d.")
@click.option("--yes", is_flag=True, help="Remove them; without it is only shown what would go.")
def prune_command(store: Store, keep: str, yes: bool) -> None:
    """Remove old runs without tags, with the judgments and texts that no other run shows. Labels and calls stay."""
    oldest = datetime.now(UTC) - timedelta(seconds=seconds(keep))
    ended = (run for run in store.runs() if not (run.to_label and run.status == "running"))  # a watch goes on with it
    old = [run for run in ended if not run.tags and datetime.fromisoformat(run.started) < oldest]
    going = prune(store, {run.id for run in old}, dry=not yes)
    say(*(f"{run.id}  {run.started[:10]}  {run.samples:>7} samples  {run.name or run.data}" for run in old))
    numbers: dict[str, Any] = going._asdict()
    listed = ", ".join(counted(count, name.removesuffix("s")) for name, count in numbers.items())
    say(f"{'removed' if yes else 'would remove'}: {listed}{'' if yes else '; with --yes they go'}")
