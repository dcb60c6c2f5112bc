"""`ragauge run`, `plan` and `demo`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import as_file, files
from operator import attrgetter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ragauge.cli import options as opts
from ragauge.cli.main import discard_output, interrupt_exit_code, say, show_parts
from ragauge.cli.options import Texts
from ragauge.cli.trackers import TRACKERS, data_and_labels, log_to, logger
from ragauge.errors import RunFailed, UsageError
from ragauge.host import LOG
from ragauge.readers import read
from ragauge.report.explain import certainty_words, chooser, headline_metrics, worst
from ragauge.report.files import WRITERS, check_output
from ragauge.report.otlp import receiver_address
from ragauge.report.text import PERFECT, RenderableType, estimates_table, run_view, sample_view, worst_view
from ragauge.report.wording import failed_scores, gate_words
from ragauge.run.aggregation import check_slices
from ragauge.run.evaluate import evaluate
from ragauge.run.plan import plan
from ragauge.run.prepare import RunRequest
from ragauge.run.results import Run
from ragauge.scores import GROUP_COLUMN, Gate
from ragauge.store import Place

if TYPE_CHECKING:
    from ragauge.run.cluster import RayEngine


@contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on standard error if that is a terminal. Yields a function that takes the number of samples done.

    Messages, such as what a judge waits for, are printed above the bar, and stay in it until the next sample is done.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)

        class Handler(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                message = record.getMessage()
                console.print(message, markup=False, highlight=False)
                bar.update(task, description=f"{label}, {message}")

        handler = Handler()
        if console.is_terminal:
            LOG.addHandler(handler)
        try:
            yield lambda done: bar.update(task, completed=done, description=label)
        finally:
            LOG.removeHandler(handler)


@contextmanager
def exit_on_interrupt(store: Place | None, what: str = "judgment", more: Sequence[str] = ()) -> Iterator[None]:
    """Exit with 130 if the work is interrupted, or with 143 on SIGTERM, and print how to go on.

    store: where finished work is kept; None: nowhere. what: a piece of it. more: what else can be done by then.
    """
    try:
        yield
    except KeyboardInterrupt:
        code = interrupt_exit_code()
        outcome = "Nothing was kept, because of --no-store."
        if store:
            resume = f"run the same command again to resume{''.join(more)}"
            outcome = f"Every {what} made so far is kept in {store}; {resume}."
        say("", f"Stopped. {outcome}", err=True)
        raise SystemExit(code) from None


@contextmanager
def judging(store: Place | None, limit: int | None = None, label: str = "judging") -> Iterator[Callable[[int], None]]:
    """A progress bar for a run that may be interrupted."""
    more: list[str] = []
    with exit_on_interrupt(store, more=more), progress_bar(label, limit) as show:

        def progress(done: int) -> None:
            more[:] = [f", and `ragauge report{_store_option(store)}` shows the samples that are done"]
            show(done)

        yield progress


def _store_option(store: Place | None) -> str:
    """The option that names a store to a command, where it needs one."""
    return "" if store == Path(opts.DEFAULT_STORE) else f" --store {quote(str(store))}"


def exit_stopped(why: str, store: Place | None) -> NoReturn:
    """Exit with 4, and print why the work was stopped and how to go on. store: where finished work is kept."""
    after = "run the same command again to resume" if store else "what is not shown or written is lost (--no-store)"
    say(f"stopped: {why}; {after}", err=True)
    raise SystemExit(4)


#: The endings of the files that decide what follows a run in CI; they are written before the others.
GATE_FILE_ENDINGS = (".xml", ".sarif", ".json")
#: What else a run can be written to.
_OTHER_OUTPUTS = ("mlflow:EXPERIMENT", "wandb:PROJECT", "or, with an engine, a FOLDER/ of Parquet")


@click.command("run")
@opts.traced_data_options
@opts.store_options
@opts.output_option("Write the run", (*WRITERS, *_OTHER_OUTPUTS), str)
@opts.engine_options
@opts.raw_csv_option
@click.option("--name", default="", help="A name for the run.")
@opts.max_cost_option
@opts.worst_option
@opts.by_option
@opts.otlp_option
@opts.gate_option(
    "--fail-under",
    "Exit with 3 if the estimate is lower, for metrics of which more is better; repeatable. "
    "METRIC@COLUMN=VALUE:NUMBER is for a slice.",
)
@opts.gate_option(
    "--fail-over", "Exit with 3 if the estimate is higher, for metrics of which less is better; repeatable."
)
@click.option(
    "--min-measured",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="The least share of samples of a gate.",
)
def run_command(
    data: str,
    source: str | None,
    output: Texts,
    raw_csv: bool,
    show: int | None,
    by: Texts,
    otlp: str | None,
    under: Texts,
    over: Texts,
    min_measured: float,
    **arguments: Any,
) -> None:
    """Measure DATA, a file of answers.

    A .jsonl .json .csv .tsv .xlsx or .parquet file with queries, responses, contexts, references. "-" is standard
    input; `ragauge docs data` lists all formats. With --engine ray also a folder, a bucket, or a pattern in quotes such
    as "s3://bucket/*.parquet". Columns are recognised by the names that ragas, DeepEval, RAGChecker, Trust-Eval and
    others use.
    """
    engine_options = {name: arguments.pop(name) for name in ("engine", "workers", "gpus")}
    settings, store = opts.evaluation_arguments(**arguments), arguments["store"]
    trackers = [place for place in output if place.startswith(tuple(f"{name}:" for name in TRACKERS))]
    loggers = {place: logger(place) for place in trackers}
    if otlp:
        loggers[receiver_address(otlp)] = logger(otlp)
    output = [place for place in output if place not in loggers]
    folders = [place for place in output if place.endswith("/") or "://" in place]
    files = [Path(place) for place in output if place not in folders]
    files.sort(key=lambda file: file.suffix not in GATE_FILE_ENDINGS)
    engine = _engine(folders, **engine_options) if folders or any(engine_options.values()) else None
    for file in files:
        check_output(file, [data, settings["labels"]])
    gates = opts.gates(under, over, settings["metrics"], min_measured)
    rows = data_and_labels(data, source, settings)
    is_sliced = by or any(gate.column for gate in gates)
    if is_sliced and engine is None and data != "-":
        _check_slices(rows, settings, by, gates)
    with _written_in_any_case(files, gates, raw_csv), judging(store, settings["limit"]) as progress:
        run = evaluate(rows, progress=progress, engine=engine, **settings)
    shows_all = arguments["metrics"] == "all"
    run.record.named |= shows_all
    for column in by:
        run.by(column)
    if gates:
        run.hold_to(gates)
    elif by or shows_all:
        run.keep()
    written = [str(run.save(file, raw_csv=raw_csv)) for file in files]
    written += [f"{folder.rstrip('/')}/run={run.id}" for folder in folders]
    try:
        show_run(run, show)
        say(*(f"wrote {path}" for path in written))
        if store:
            say(*_next_steps(run, store))
    except BrokenPipeError:
        discard_output()
    is_logged = log_to(loggers, run, is_kept=store is not None)
    exit_by_outcome(run, gates, store)
    if not is_logged:
        raise SystemExit(1)


@contextmanager
def _written_in_any_case(files: Sequence[Path], gates: Sequence[Gate], raw_csv: bool) -> Iterator[None]:
    """Write a run of which no sample was done, so that no file of an earlier run passes for one of this."""
    try:
        yield
    except RunFailed as error:
        if error.run:
            error.run.record.gates = tuple(gates)
            say(*(f"wrote {error.run.save(file, raw_csv=raw_csv)}" for file in files))
        raise


def _check_slices(rows: Any, settings: Mapping[str, Any], by: Texts, gates: Sequence[Gate]) -> None:
    """Read the data before the run, and raise UsageError for a slice that it does not have."""
    options = {name: settings[name] for name in ("limit", "skip_bad_rows", "per", "corpus")}
    columns = RunRequest(map=settings["map"], group=settings["group"]).columns
    reader = read(rows, map=columns, **options)
    check_slices(reader, by, gates, reader.columns.get("group", GROUP_COLUMN))


def _engine(folders: Sequence[str], engine: str | None, workers: int | None, gpus: float) -> RayEngine:
    """The engine of --engine, --workers, --gpus, and of -o where that names a folder."""
    from ragauge.run.cluster import engine_of

    if len(folders) > 1 or not (engine or workers or gpus):
        raise UsageError(f"-o {folders[-1]}: one folder of Parquet can be written, with --engine ray")
    return replace(engine_of(engine or "ray"), workers=workers, gpus=gpus, output="".join(folders))


def _next_steps(run: Run, store: Place) -> Iterator[str]:
    """How to read a run again, open it in the browser, and compare it."""
    kept = _store_option(store)
    yield f"run {run.id}; read it again with: ragauge report {run.id}{kept}"
    yield f"all evidence in the browser:  ragauge view {run.id}{kept}"
    same = attrgetter("data", "fields", "metrics")
    others = (stored for stored in run.store.runs() if stored.id != run.id)
    earlier = next((stored for stored in others if same(stored) == same(run.record)), None)
    old, new = (earlier.id, run.id) if earlier else (run.id, "latest")
    yield f"compare it with {'the run before' if earlier else 'a later run'}: ragauge compare {old} {new}{kept}"


def show_run(run: Run, count: int | None) -> None:
    """Print the estimates and the `count` worst samples with all evidence; None: three, with what decides."""
    metrics = None if run.record.named else headline_metrics(run.record)
    show_parts(*run_view(run.record, run.sections(), metrics))
    key = chooser(run.record)
    if key is None or count == 0:
        return
    if count is not None:
        show_parts("", f"Worst by {key}:", "", *_worst_samples(run, key, count))
        return
    samples = worst(run.records(), key, run.estimates[key], 3)
    show_parts("", *worst_view(samples, key, run.record), "")
    show_parts(*filter(None, [certainty_words(run.records(), key)]))


def _worst_samples(run: Run, key: str, count: int) -> Iterator[RenderableType]:
    records = worst(run.records(), key, run.estimates[key], count)
    yield from () if records else (PERFECT.format(key),)
    for record in records:
        yield from sample_view(record, key)


def gate_lines(run: Run, gates: Sequence[Gate]) -> list[str]:
    """Whether each gate holds, and how many samples it rests on."""
    states = {gate: "failed" if gate.failure(run.record) else "holds" for gate in gates}
    return [f"gate {state}: {gate_words(run.record, gate)}" for gate, state in states.items()]


def exit_by_outcome(run: Run, gates: Sequence[Gate], store: Place | None) -> None:
    """Exit with the code that fits the outcome of a run, if there is one.

    1: no score has a value, or one is missing because it failed; 3: a gate failed; 4: the run was stopped.
    """
    has_values = any(estimate.value is not None for estimate in run.estimates.values())
    if not has_values and (run.record.failures or not run.record.stopped):
        reasons = (*run.record.failures.values(), *run.record.undefined.values())
        because = f", the first because: {reasons[0]}" if reasons else ""
        stopped = f"; the run was stopped: {run.record.stopped}" if run.record.stopped else ""
        raise RunFailed(f"no score has a value{because}{stopped}")
    say(*gate_lines(run, gates), err=True)
    if run.record.stopped:
        exit_stopped(run.record.stopped, store)
    failed = [gate for gate in gates if gate.failure(run.record)]
    missing = failed_scores(run.record)
    if missing and not failed:
        raise RunFailed(f"{missing}; run it again to retry them")
    if failed:
        say(*filter(None, [missing]), err=True)
        raise SystemExit(3)


@click.command("plan")
@opts.traced_data_options
@opts.store_options
def plan_command(data: str, source: str | None, store: Place | None, **options: Any) -> None:
    """Say what `run` would ask and cost. Questions, calls, tokens, price and time, also by metric; nothing is sent."""
    settings = opts.evaluation_arguments(**options)
    rows = data_and_labels(data, source, settings)
    with progress_bar("planning", settings["limit"]) as progress:
        planned = plan(rows, store=store, progress=progress, **settings)
    say(*str(planned).splitlines())


#: What the demo measures: few enough to read.
METRICS = (
    "faithfulness,contradicted_claims,correctness,answer_relevance,context_precision,context_recall,"
    "context_relevance,claim_f1,context_utilization,rouge(types=rougeL),bleu,token_f1"
)


@click.command("demo")
@opts.store_options
@opts.output_option("Write the candidate's run")
def demo_command(store: Place | None, output: Sequence[Path]) -> None:
    """Measure two versions of an assistant on packaged data. The embedded judge works offline and without key."""
    for path in output:
        check_output(path)
    baseline, candidate = (demo_run(system, store) for system in ("baseline", "candidate"))
    written = [f"wrote {candidate.save(path)}" for path in output]
    show_parts(*demo_view(baseline, candidate), *written)
    how_to_view = "To look at it in a browser: ragauge demo -o demo.html"
    if store is not None:
        place = baseline.store.place
        page = baseline.save((place.parent if isinstance(place, Path) else Path()) / "demo.html")
        how_to_view = f"The baseline's report, to open in a browser: {page}"
        show_parts('Are the differences real?  ragauge compare "demo baseline" "demo candidate"')
    show_parts(how_to_view, "Now your own data: ragauge run FILE        what can be measured: ragauge metrics")


def demo_run(system: str, store: Place | None) -> Run:
    """The run of a system, "baseline" or "candidate"."""
    packaged = as_file(files("ragauge.demo") / f"{system}.jsonl")
    with packaged as path, judging(store, label=f"judging {system}") as progress:
        return evaluate(path, METRICS, store=store, name=f"demo {system}", progress=progress)


def demo_view(baseline: Run, candidate: Run) -> Iterator[RenderableType]:
    """The estimates side by side, and the baseline's answers with the least support, with their evidence."""
    yield f"Two versions of an assistant, {baseline.record.samples} questions each, judged offline by ragauge."
    yield estimates_table({"baseline": baseline.record, "candidate": candidate.record})
    yield from ("Behind the numbers: the baseline's worst answers by faithfulness:", "")
    yield from _worst_samples(baseline, "faithfulness", 2)
