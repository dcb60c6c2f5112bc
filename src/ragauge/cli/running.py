"""Running from the command line: a progress bar while it lasts, and a word on how to go on when it is stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ragauge.cli.interrupting import ending
from ragauge.cli.screen import say
from ragauge.errors import RunFailed
from ragauge.report.wording import counted, spent_words
from ragauge.run.evaluate import evaluate
from ragauge.run.results import Run

if TYPE_CHECKING:
    from ragauge.dataset.samples import Made


@contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal's standard error, nothing where that is piped. Gives a function of the samples done.

    What a judge waits for stands in the line of the bar until the next sample is done, and above it from then on.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)

        def show(message: str) -> None:
            console.print(message, markup=False, highlight=False)
            bar.update(task, description=f"{label}, {message}")

        with _announced(show) if console.is_terminal else nullcontext():
            yield lambda done: bar.update(task, completed=done, description=label)


class _Shown(logging.Handler):
    """A handler that gives messages to a function."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show it."""
        self._show(record.getMessage())


@contextmanager
def _announced(show: Callable[[str], None]) -> Iterator[None]:
    """Shows what ragauge logs, such as what a run waits for, in place of Python's line on standard error."""
    handler = _Shown(show)
    logger = logging.getLogger("ragauge")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def stoppable(store: Path | None, what: str = "judgment", more: str = "") -> Iterator[None]:
    """When the work is interrupted the process ends with code 130, or 143 by SIGTERM, and says how to go on.

    what: is kept. more: there is to say, for the end of the sentence.
    """
    try:
        yield
    except KeyboardInterrupt:
        code = ending()
        kept = (
            f"Every {what} made so far is kept in {store}: the same command goes on from there{more}."
            if store
            else "Nothing was kept, because of --no-store."
        )
        say("", f"Stopped. {kept}", err=True)
        raise SystemExit(code) from None


def measure(data: Any, label: str, store: Path | None, **options: Any) -> Run:
    """`evaluate` with a progress bar."""
    shown = ", and `ragauge report` shows what is done"
    with stoppable(store, more=shown), progress_bar(label, options.get("limit")) as progress:
        return evaluate(data, store=store, progress=progress, **options)


def closing_lines(made: Made) -> Iterator[str]:
    """What samples lack for want of an answer, which rows were left out, and what was spent."""
    for part, number in made.failures.items():
        yield f"without {part}: {counted(number, 'sample')}, the first because {made.failures.first[part]}"
    if made.bad_rows:
        yield f"rows skipped: {len(made.bad_rows)}, the first because: {made.bad_rows[0]}"
    if made.spent.calls:
        yield spent_words(made.spent)


def end_of_work(made: Made, whole: int, store: Path | None) -> None:
    """Leave with 1 where not one of the samples is whole, with 4 where the work was stopped."""
    if made.samples and not whole:
        raise RunFailed(f"no sample is whole, the first because {next(iter(made.failures.first.values()))}")
    if made.stopped:
        stop(made.stopped, store)


def stop(why: str, store: Path | None) -> NoReturn:
    """Leave with 4, and say why the work was stopped and how to go on. store: where what is done is kept."""
    after = "the same command goes on from there" if store else "what is not shown or written is lost (--no-store)"
    say(f"stopped: {why}; {after}", err=True)
    raise SystemExit(4)
