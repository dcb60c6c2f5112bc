"""Commands on stored runs: `report`, `view`, `compare`, `parity`, `label`."""

from __future__ import annotations

import getpass
import re
import tempfile
import webbrowser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from ragauge.analysis.compare import COMPARISON_WRITERS, changes_view, compare, comparison_view
from ragauge.analysis.differences import Difference
from ragauge.analysis.labels import Labelling, summary_lines
from ragauge.analysis.parity import IDENTIFYING_FIELDS, SYSTEMS, choose, metrics_for, parity, read_sheet
from ragauge.analysis.preference import PREFERRED, RANKING_WRITERS, Preference, rank, ranking_view
from ragauge.cli import options as opts
from ragauge.cli.main import TERMINATED, discard_output, interrupt_exit_code, say, screen, show_parts
from ragauge.cli.options import Paths, Texts
from ragauge.cli.run import exit_by_outcome, exit_stopped, gate_lines, judging, show_run
from ragauge.errors import BadParameter, RunFailed
from ragauge.metrics.registry import split_specs
from ragauge.report.wording import counted
from ragauge.run.evaluate import evaluate
from ragauge.run.plan import Plan
from ragauge.run.results import Run
from ragauge.store import Store, read_labels, write_labels
from ragauge.view import Server


@click.command("report")
@click.argument("run", default="latest", shell_complete=opts.complete_runs)
@opts.open_store_option("Where the run is kept.")
@opts.output_option("Write it")
@opts.raw_csv_option
@opts.worst_option
@click.option("-m", "--metrics", type=click.Choice(["all"]), help="Show all. [default: the named ones, or six]")
@opts.by_option
@click.option("--list", "listed", is_flag=True, help="List the runs of the store instead.")
def report_command(
    run: str, store: Store, output: Paths, raw_csv: bool, show: int | None, metrics: str | None, by: Texts, listed: bool
) -> None:
    """Show a run, by default the newest. RUN is an id, the beginning of one, or a name; nothing is judged again."""
    if listed:
        for record in store.runs():
            say(f"{record.id}  {record.status:<11} {record.samples:>7} samples  {record.name or record.data}")
        return
    opened = Run.open(store, run)
    if metrics == "all" and not opened.record.named:
        opened.record.named = True
        by = (*opened.record.slices, *by)
        opened.record.slices.clear()
    for column in by:
        opened.by(column)
    say(*(f"wrote {opened.save(path, raw_csv=raw_csv)}" for path in output))
    if not output:
        show_run(opened, show)
        say(*gate_lines(opened, opened.record.gates))


_page_options = opts.combined(
    click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen here. [default: any that is free]"),
    click.option("--by", metavar="NAME", help="Who labels. [default: your login name]"),
    click.option("--no-open", is_flag=True, help="Print the address without opening a browser."),
)


@click.command("view")
@click.argument("run", default="", shell_complete=opts.complete_runs)
@opts.open_store_option("Where the runs are kept.")
@_page_options
def view_command(run: str, store: Store, port: int, by: str | None, no_open: bool) -> None:
    """Show the runs of a store in the browser, or open RUN directly.

    With progress, comparison and labelling. The page is served on this machine only, for anyone who has the printed
    address, until Ctrl-C.
    """
    _serve(store, {"run": store.run(run).id} if run else {}, port, by, no_open)


def _serve(store: Store, start: Mapping[str, str], port: int, by: str | None, no_open: bool, **how: bool) -> None:
    """Serve the page until Ctrl-C. start: where it opens, as the page writes it into its address. how: see `App`."""
    server = Server(store, by or getpass.getuser(), port, **how)
    address = server.address + (f"#{urlencode(start)}" if start else "")
    try:
        say(address, "Ctrl-C ends it.")
        with opened_in_browser(address) if not no_open else nullcontext():
            server.serve_forever()
    except KeyboardInterrupt:
        code = interrupt_exit_code()
        say("", "ended")
        if code == TERMINATED:
            raise SystemExit(code) from None
    finally:
        server.server_close()


@contextmanager
def opened_in_browser(address: str) -> Iterator[None]:
    """Open an address in the browser through a redirecting file that only this user may read.

    The command line of a browser is visible to all users of a machine, and would show them the token.
    """
    with tempfile.TemporaryDirectory(prefix="ragauge-") as folder:
        page = Path(folder) / "view.html"
        page.write_text(f'<meta http-equiv="refresh" content="0; url={address}">', encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield


def _show_price(planned: Plan) -> None:
    """Print what asking for preferences takes, before it is spent."""
    asked = f"{counted(planned.questions.total(), 'question')} to ask"
    say(f"preference: {asked}, {planned.known.total()} already answered")
    say(*([planned.cost_words()] if planned.cost.calls else []))


def _exit_by_preference(preference: Preference, compared: Iterable[Difference], store: Store) -> None:
    """Exit with 4 if not all preferences were asked, with 1 if none has a value because the judge failed."""
    if preference.stopped:
        exit_stopped(preference.stopped, store.place)
    if preference.failure and not any(difference.n for difference in compared):
        raise RunFailed(f"no preference has a value, the first because: {preference.failure}")


_PREFER_HELP = (
    'Which response is better by this criterion, such as "more complete, without errors"? The judge is asked in both '
    "orders. claims asks nothing: correct claims, less contradicted ones, as judged in the runs."
)
_judging_options = opts.combined(opts.judges_option(), opts.max_cost_option)


@click.command("compare")
@click.argument("a", shell_complete=opts.complete_runs)
@click.argument("b", shell_complete=opts.complete_runs)
@opts.open_store_option("Where the runs are kept.")
@click.option(
    "-m",
    "--metrics",
    metavar="LIST",
    shell_complete=opts.complete_metrics,
    help="Compare these, or all. [default: the six that a run shows]",
)
@click.option("--prefer", metavar="CRITERION", help=f"{_PREFER_HELP} Other metrics only with -m.")
@_judging_options
@opts.group_option
@opts.show_option("Show the N samples that changed most, of each of the three metrics that differ most clearly.", 1)
@click.option(
    "--force", is_flag=True, help="Compare runs of two test sets too, and hold gates where references differ."
)
@opts.output_option("Write the comparison", COMPARISON_WRITERS)
@click.option(
    "--fail-if-worse",
    "gated",
    multiple=True,
    metavar="METRIC",
    help="Exit with 3 if B is significantly worse; repeatable.",
)
def compare_command(
    a: str, b: str, store: Store, metrics: str | None, group: str | None, output: Paths, gated: Texts, **options: Any
) -> None:
    """Test whether run B is better than run A.

    Prints paired differences, with intervals and p-values. A run is an id, the beginning of one, a --name (its newest
    run), or "latest". Nothing is judged again; only --prefer asks a judge, and prints the price first.
    """
    opts.check_outputs(output, COMPARISON_WRITERS)
    runs = Run.open(store, a), Run.open(store, b)
    with judging(store.place, label="preferring") as progress:
        comparison = compare(
            *runs, metrics or "", group=group, gated=gated, progress=progress, planned=_show_price, **options
        )
    failed = [metric for metric in comparison.gates if comparison.gate_failure(metric)]
    written = [f"wrote {comparison.save(path)}" for path in output]
    try:
        show_parts(*comparison_view(comparison, screen().width), *changes_view(comparison))
        say(*written)
    except BrokenPipeError:
        discard_output()
    for metric in comparison.gates:
        say(f"gate {'failed' if metric in failed else 'holds'}: {comparison.gate_words(metric)}", err=True)
    if comparison.preference:
        _exit_by_preference(comparison.preference, [comparison.differences[PREFERRED]], store)
    if failed:
        raise SystemExit(3)


@click.command("rank")
@click.argument("runs", nargs=-1, required=True, metavar="A B [C ...]", shell_complete=opts.complete_runs)
@opts.open_store_option("Where the runs are kept.")
@click.option("--prefer", required=True, metavar="CRITERION", help=_PREFER_HELP)
@_judging_options
@opts.group_option
@opts.output_option("Write the ranking", RANKING_WRITERS)
def rank_command(runs: Texts, store: Store, group: str | None, output: Paths, prefer: str, **options: Any) -> None:
    """Rank runs by whose responses are preferred.

    Each two are compared, with intervals and p-values. A run is named as for `compare`. The price of asking is printed
    first.
    """
    opts.check_outputs(output, RANKING_WRITERS)
    opened = [Run.open(store, run) for run in runs]
    with judging(store.place, label="preferring") as progress:
        ranking = rank(opened, prefer, group=group, progress=progress, planned=_show_price, **options)
    show_parts(*ranking_view(ranking, screen().width))
    say(*(f"wrote {ranking.save(path)}" for path in output))
    _exit_by_preference(ranking.preference, ranking.pairs.values(), store)


@click.command("parity")
@click.argument("scores")
@click.option("--against", type=click.Choice(list(SYSTEMS)), required=True, help="The system that SCORES are of.")
@click.option("--data", help="The samples, where they are not in SCORES.")
@click.option("--run", "run_name", metavar="RUN", help="Compare with this run in the store; nothing is judged.")
@click.option("-m", "--metrics", metavar="LIST", help="Only these of ours. [default: all that SCORES has columns for]")
@click.option("--column", "columns", multiple=True, metavar="THEIRS=OURS", help="Compare this one; repeatable.")
@opts.judges_option()
@opts.work_options
@opts.show_option("Show the N samples that differ most, of each metric.", 3)
@opts.output_option("Write the comparison", COMPARISON_WRITERS)
def parity_command(
    scores: str,
    against: str,
    data: str | None,
    run_name: str | None,
    metrics: str | None,
    columns: Texts,
    show: int,
    output: Paths,
    **options: Any,
) -> None:
    """Compare another system's SCORES (A) with ours (B).

    SCORES is its file of scores, in any format that `ragauge run` reads: a row per sample under the system's own column
    names. The samples are read from it as well, and measured, unless --data or --run names them.
    """
    opts.check_outputs(output, COMPARISON_WRITERS, [scores, data])
    if data and run_name:
        raise BadParameter("give --data or --run, not both: a run has its samples")
    store, map = options["store"], options["map"]
    if run_name and store is None:
        raise BadParameter("--run names a run in the store; leave out --no-store")
    sheet = read_sheet(scores, {} if data else {field: map[field] for field in IDENTIFYING_FIELDS if field in map})
    if not (data or run_name or any(row.query or row.response for row in sheet.rows)):
        raise BadParameter(f"{scores} holds no samples; name them with --data FILE, or a run of them with --run RUN")
    named, wanted = _columns(columns), split_specs(metrics or "")
    kept = choose(sheet, against, named, wanted)
    if run_name:
        run = Run.open(store, run_name)
    else:
        with judging(store, options["limit"]) as progress:
            run = evaluate(data or scores, metrics_for(kept), progress=progress, **options)
    checked = parity(run, sheet, against, columns=named, metrics=wanted, show=show)
    show_parts(*comparison_view(checked, screen().width), *changes_view(checked))
    say(*(f"wrote {checked.save(path)}" for path in output))
    exit_by_outcome(run, (), store)


def _columns(texts: Sequence[str]) -> dict[str, str]:
    """The --column options, theirs to ours; both names may contain "=" in brackets."""
    columns = {}
    for pair in texts:
        if not (match := re.fullmatch(r"(.+)=([^=()]+(?:\(.*\))?[.\w]*)", pair)):
            raise BadParameter(f"--column {pair!r}: write --column THEIRS=OURS")
        columns[match[1]] = match[2]
    return columns


def _to_label(store: Store, wanted: str) -> Run:
    """A run; of the windows of a watch, named by the watch, the newest that is complete."""
    opened = Run.open(store, wanted)
    name = opened.record.name if opened.record.to_label and not opened.id.startswith(wanted) else ""
    ended = (run for run in store.runs() if name and run.name == name and run.status != "running")
    return Run(store, next(ended, opened.record))


@click.command("label")
@click.argument("run", default="latest", shell_complete=opts.complete_runs)
@opts.open_store_option("Where the run is kept.", to_read=False)
@click.option("-m", "--metric", help="Label the judgments of this metric. [default: the one that chooses the worst]")
@_page_options
@click.option("--each", is_flag=True, help="Label what others have labelled too, without sight of their labels.")
@click.option("--differences", "differing", is_flag=True, help="Label only where people differ, and so decide it.")
@click.option(
    "--read",
    multiple=True,
    type=opts.FILE,
    metavar="FILE",
    help="Add the labels of a file, and open no page; repeatable.",
)
@click.option("--write", type=opts.OUT_FILE, metavar="FILE", help="Write all labels of the store, and open no page.")
def label_command(
    run: str, store: Store, metric: str | None, read: Paths, write: Path | None, port: int, **page: Any
) -> None:
    """Label in the browser what the judge judged in RUN.

    RUN is an id, the beginning of one, or a name. Each human label is stored at once and takes precedence over any
    judge. Half of the samples are drawn at random, to measure the judge's agreement with people and correct its score,
    and half as most informative. The judge's verdict is hidden until you ask for it. Both scores and the agreement are
    printed when Ctrl-C ends it.
    """
    files = {path: list(read_labels(path)) for path in read}
    for labels in files.values():
        store.keep_labels(labels)
    labelling = Labelling(_to_label(store, run))
    for path, labels in files.items():
        answering = f"{labelling.asked(labels)} of them answer questions of run {labelling.run.id}"
        say(f"read {counted(len(labels), 'label')} from {path}: {answering}")
    chosen = labelling.metric(metric)
    if not (read or write):
        _serve(store, {"run": labelling.run.id, "view": "label", "metric": chosen}, port, **page)
    say(*summary_lines(labelling.summaries([chosen])), *labelling.people(chosen).lines())
    if write:
        say(f"wrote {counted(write_labels(write, store.labels()), 'label')} to {write}")
