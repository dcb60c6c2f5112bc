"""Printing, so that no text of the data is a command to a terminal or a CI runner."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ragauge.report.wording import one_line

if TYPE_CHECKING:
    from rich.console import Console

#: The width of output that is not to a terminal.
PIPED_WIDTH = 110


def say(*lines: str, err: bool = False) -> None:
    """Print lines to standard output or standard error, without line breaks and control characters in them."""
    for line in lines:
        click.echo(one_line(line), err=err)


def screen() -> Console:
    """Standard output as a console of rich; plain and of a fixed width if it is piped."""
    from ragauge.report.text import printing_console

    return printing_console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
