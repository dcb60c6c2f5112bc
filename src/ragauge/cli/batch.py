"""`ragauge batch`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import click

from ragauge.cli.main import say
from ragauge.cli.options import FILE, allow_host_option, data_options, store_option
from ragauge.cli.run import progress_bar
from ragauge.errors import BadParameter
from ragauge.judges.base import JudgeSpec
from ragauge.report.wording import counted, dollars, usage_words
from ragauge.run.batch.collect import Imported, Sent, fetch, import_results, release_lost, status, submit
from ragauge.run.batch.export import export
from ragauge.run.batch.folder import BatchSettings, Folder
from ragauge.store import Place

_folder = click.argument("folder", type=click.Path(path_type=Path))


def _opened(folder: Path) -> Folder:
    return Folder.open(folder, click.get_current_context().meta["ragauge.allow_hosts"])


@click.group("batch")
def command() -> None:
    """Ask a model at half price, by the provider's batch API.

    \b
    export, submit, fetch      repeat until everything is answered: OpenAI, Anthropic and compatible servers
    export, import             for files that you send to a provider yourself
    status                     progress of each file
    """


@command.command("export")
@data_options
@store_option("Where judgments are kept.")
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="For the batch."
)
def export_command(data: str, store: Place, folder: Path, **options: Any) -> None:
    """Write the unanswered questions about DATA as files of requests. Nothing is sent, and no key is needed.

    The same command again continues where it stopped.
    """
    if data == "-":
        raise BadParameter("a batch reads its data again in every round; give a file, not standard input")
    labels, metrics, judge = options.pop("labels"), options.pop("metrics"), options.pop("judge")
    judges = {kind: _spec(judge) for kind, judge in judge.items()} if isinstance(judge, dict) else _spec(judge)
    settings = BatchSettings(
        data=str(Path(data).resolve()),
        store=str(store.resolve() if isinstance(store, Path) else store),
        labels=str(labels.resolve()) if labels else None,
        metrics=None if metrics == "all" else metrics,
        judge=judges,
        **options,
    )
    with Folder.make(folder, settings) as opened:
        _export_round(opened)


def _spec(judge: str | JudgeSpec) -> str:
    """The spec of a judge without hosts: of a judge file no model can be asked in a batch."""
    return judge if isinstance(judge, str) else judge.spec


@command.command("import")
@_folder
@allow_host_option
@click.argument("results", nargs=-1, type=FILE)
@click.option(
    "--lost", "is_lost", is_flag=True, help="No more results will come for what `submit` did not send: ask again."
)
def import_command(folder: Path, results: Sequence[Path], is_lost: bool) -> None:
    """Store the answers in RESULTS, files of any part of a batch in any order, and write the next round."""
    with _opened(folder) as opened:
        if results:
            with progress_bar("importing") as progress:
                imported = import_results(opened, results, progress)
            _show_imported(imported)
        if is_lost:
            say(f"given up as lost: {counted(release_lost(opened), 'request')}")
        _export_round(opened)


@command.command("submit")
@_folder
@allow_host_option
def submit_command(folder: Path) -> None:
    """Send the exported files that were not sent yet. This costs money and needs the provider's key."""
    with _opened(folder) as opened:

        def show(sent: Sent) -> None:
            say(f"{sent.file.name}: {'was sent already' if sent.existed else 'sent'}, as {sent.batch}")

        if not submit(opened, show):
            say("nothing to send")
        files = opened.ledger.files()
        for file in files:
            if not file.batch and not file.untouched and file.waiting:
                say(f"{file.name} is not sent, since results of it were imported; see import --lost")
        if any(file.under_way for file in files):
            say(f"next: ragauge batch fetch {quote(str(folder))}")


@command.command("status")
@_folder
@allow_host_option
def status_command(folder: Path) -> None:
    """Show the progress of each file; the provider is asked about those that were sent."""
    with _opened(folder) as opened:
        for file, progress in status(opened):
            state = f"not sent, {file.waiting} without a result" if file.waiting else "done"
            if progress:
                state = f"sent as {file.batch}: {progress.status}, {progress.done} of {progress.total} done, "
                state += f"{progress.failed} failed" + (f" ({progress.fault})" if progress.fault else "")
            say(f"{file.name}  {counted(file.requests, 'request')} to {file.spec}, {state}")
        if not opened.ledger.files():
            say(_finished(opened))


@command.command("fetch")
@_folder
@allow_host_option
def fetch_command(folder: Path) -> None:
    """Import the results of finished batches, and write the next round."""
    with _opened(folder) as opened:
        with progress_bar("importing") as progress:
            fetched = fetch(opened, progress)
        for file, batch, imported, again in fetched:
            say(f"{file.name}: {batch.status}" + (f" ({batch.fault})" if batch.fault else ""))
            _show_imported(imported)
            if again:
                say(f"without a result, asked again: {counted(again, 'request')}")
        for file in opened.ledger.files():
            if file.under_way:
                say(f"{file.name}: not ended yet")
        _export_round(opened)


def _export_round(folder: Folder) -> None:
    """Export the questions that can be asked now, and print what to do next."""
    with progress_bar("exporting", folder.settings.limit) as progress:
        exported = export(folder, progress)
    submit = f"ragauge batch submit {quote(str(folder.path))}"
    next_step = f"next: {submit}, or send them yourself and import what comes back"
    if exported.requests:
        usage, asked = exported.tokens, counted(exported.questions, "question")
        say(f"round {exported.wave}: {asked} in {counted(exported.requests, 'request')}")
        tokens = f"{usage.prompt:,} prompt and {usage.completion:,} completion tokens"
        say(f"expected: about {tokens}, price {dollars(exported.dollars)} in a batch")
        for path in exported.files:
            say(f"wrote {path}")
        say(next_step)
    if exported.waiting:
        say(f"waiting for the results of {counted(exported.waiting, 'request')}")
        if not exported.requests and (unsent := [file.name for file in folder.ledger.files() if file.untouched]):
            say(f"not sent: {', '.join(unsent)}; {next_step}")
    if exported.unanswered:
        first = next(iter(exported.unanswered.values()))
        say(f"given up: {counted(len(exported.unanswered), 'question')}, the first because: {first}")
        say("a run asks them once more, live")
    if exported.done:
        say(_finished(folder))


def _finished(folder: Folder) -> str:
    return f"all is answered; the scores: {folder.settings.command()}"


def _show_imported(imported: Imported) -> None:
    again = imported.faults.total()
    unusable = f", {counted(again, 'question')} without a usable one" if again else ""
    say(f"{counted(imported.lines, 'line')} of results: {counted(imported.answered, 'answer')}{unusable}")
    for reason, number in imported.refused.items():
        say(f"errors: {number} {reason}, the first because {imported.first[reason]}")
    for what, number in {"imported before": imported.repeated, "of other batches": imported.foreign}.items():
        say(*([f"{what}: {counted(number, 'line')}"] if number else []))
    if imported.unreadable:
        say(f"not results: {counted(len(imported.unreadable), 'line')}, the first {imported.unreadable[0]}")
        say("to ask again what they held: ragauge batch import FOLDER --lost")
    if imported.spent.calls:
        say(usage_words(imported.spent))
