"""The `ragauge` command, and how signals end it. Its help lists the exit codes."""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from ragauge.errors import RagaugeError, UnknownName, UsageError
from ragauge.report.wording import one_line
from ragauge.version import VERSION

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def say(*lines: str, err: bool = False) -> None:
    """Print lines to standard output or standard error, without line breaks and control characters in them."""
    for line in lines:
        click.echo(one_line(line), err=err)


def screen() -> Console:
    """Standard output as a console of rich; plain and of a fixed width if it is piped."""
    from ragauge.report.text import printing_console

    return printing_console(width=None if sys.stdout.isatty() else 120)


def show_parts(*parts: RenderableType) -> None:
    """Print what rich renders to standard output."""
    console = screen()
    for part in parts:
        console.print(part)


#: The exit code of a command that Ctrl-C ended, and of one that SIGTERM ended.
INTERRUPTED, TERMINATED = 130, 143


class _Ending:
    """The exit code of the signal that ends this process."""

    code = INTERRUPTED


@contextmanager
def interruptible() -> Iterator[None]:
    """In this context SIGTERM acts as Ctrl-C: it raises KeyboardInterrupt, or cancels the running task.

    One that is raised where Python must ignore it, as in the callback of a weak reference, is not printed.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    _Ending.code = INTERRUPTED
    signal.signal(signal.SIGTERM, _terminate)
    shown = sys.unraisablehook

    def show(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            shown(unraisable)

    sys.unraisablehook = show
    try:
        yield
    finally:
        if sys.unraisablehook is show:
            sys.unraisablehook = shown
        if signal.getsignal(signal.SIGTERM) is _terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def interrupt_exit_code() -> int:
    """The exit code of an interrupted command; from this call on no signal raises an exception."""
    since = time.monotonic()

    def leave(_number: int, _frame: FrameType | None) -> None:
        if time.monotonic() - since > 1:  # threads that cannot be cancelled may take longer to end
            os._exit(_Ending.code)

    def handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handler)

    if threading.current_thread() is threading.main_thread():
        handle(leave)
        sys.unraisablehook = lambda _: None  # of objects that the interrupt left half made
        atexit.register(handle, signal.SIG_IGN)  # Python's finalization gives handlers back to the system, which kills
    return _Ending.code


def _terminate(_number: int, frame: FrameType | None) -> None:
    _Ending.code = TERMINATED
    interrupt = signal.getsignal(signal.SIGINT)  # asyncio's own, while it runs
    if callable(interrupt):
        interrupt(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt


#: command -> module and name, imported when the command is used.
COMMANDS = {
    "demo": "ragauge.cli.run:demo_command",
    "run": "ragauge.cli.run:run_command",
    "plan": "ragauge.cli.run:plan_command",
    "score": "ragauge.cli.live:score_command",
    "alarms": "ragauge.cli.live:alarms_command",
    "batch": "ragauge.cli.batch:command",
    "dataset": "ragauge.cli.datasets:dataset_command",
    "generate": "ragauge.cli.datasets:generate_command",
    "log": "ragauge.cli.trackers:log_command",
    "report": "ragauge.cli.runs:report_command",
    "history": "ragauge.cli.store:history_command",
    "compare": "ragauge.cli.runs:compare_command",
    "rank": "ragauge.cli.runs:rank_command",
    "view": "ragauge.cli.runs:view_command",
    "label": "ragauge.cli.runs:label_command",
    "dataworkz": "ragauge.cli.dataworkz:command",
    "parity": "ragauge.cli.runs:parity_command",
    "metrics": "ragauge.cli.reference:metrics_command",
    "docs": "ragauge.cli.reference:docs_command",
    "judges": "ragauge.cli.judges:command",
    "store": "ragauge.cli.store:store_command",
}


class Commands(click.Group):
    """A group that imports commands on use, and turns known errors into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises UnknownName with close matches."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UnknownName("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a known error becomes a message and an exit code."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")  # encodings may lack characters, such as that of a pipe on Windows
        try:
            with interruptible():
                return super().invoke(ctx)
        except RagaugeError as error:
            say(f"error: {error}", err=True)
            ctx.exit(2 if isinstance(error, UsageError) else 1)
        except BrokenPipeError:
            discard_output()
            ctx.exit(0)
        except KeyboardInterrupt:
            code = interrupt_exit_code()
            say("Stopped.", err=True)
            ctx.exit(code)
        except OSError as error:
            discard_output()
            say(f"error: cannot write the output: {error.strerror}", err=True)
            ctx.exit(1)


def discard_output() -> None:
    """Discard further output, since nothing reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="ragauge")
def main() -> None:
    """Measure text written by language models: scores with intervals, and the evidence behind every one.

    \b
    ragauge demo                  see it work on packaged data, offline
    ragauge run data.jsonl        measure your own
    ragauge view                  look at runs in the browser, compare and label them
    ragauge metrics               what can be measured, and what each metric needs

    Exit codes: 0 fine, 1 the run failed, 2 the call or the data is wrong, 3 a gate failed, 4 stopped early,
    130 interrupted, 143 terminated.
    """
