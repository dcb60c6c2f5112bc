"""The `ragauge` command.

Exit codes: 0 fine, 1 the run failed, 2 the call or the data is wrong, 3 a gate failed, 4 stopped early,
130 interrupted, 143 terminated.
"""

from __future__ import annotations

import importlib
import os
import sys
from io import TextIOWrapper
from typing import Any

import click

from ragauge.cli.interrupting import ending, interruptible
from ragauge.cli.screen import say
from ragauge.errors import RagaugeError, UsageError
from ragauge.version import VERSION

#: command -> the module that defines it, imported when the command is looked at.
COMMANDS = {
    "demo": "ragauge.cli.demo",
    "run": "ragauge.cli.run",
    "plan": "ragauge.cli.plan",
    "batch": "ragauge.cli.batch",
    "dataset": "ragauge.cli.dataset",
    "generate": "ragauge.cli.generate",
    "report": "ragauge.cli.report",
    "compare": "ragauge.cli.compare",
    "view": "ragauge.cli.view",
    "label": "ragauge.cli.label",
    "dataworkz": "ragauge.cli.dataworkz",
    "parity": "ragauge.cli.parity",
    "metrics": "ragauge.cli.metrics",
    "judges": "ragauge.cli.judges",
}


class Commands(click.Group):
    """A group whose commands load when they are needed and whose known errors end with one line and a code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what goes wrong in a known way becomes a message and an exit code."""
        _encode_what_can_be()
        try:
            with interruptible():
                return super().invoke(ctx)
        except RagaugeError as error:
            say(f"error: {error}", err=True)
            ctx.exit(2 if isinstance(error, UsageError) else 1)
        except BrokenPipeError:
            _discard_output()
            ctx.exit(0)
        except KeyboardInterrupt:
            code = ending()
            say("Stopped.", err=True)
            ctx.exit(code)
        except OSError as error:
            _discard_output()
            say(f"error: cannot write the output: {error.strerror}", err=True)
            ctx.exit(1)


def _encode_what_can_be() -> None:
    """Where the encoding of output has no arrows or the like (a pipe on Windows), let question marks stand for them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Whoever read the output has had enough: let what is still to come go nowhere."""
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
