"""Where commands print: nothing that is quoted from data steers a terminal or a CI runner."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ragauge.report.wording import one_line

if TYPE_CHECKING:
    from rich.console import Console

#: How wide output is where no terminal says so.
PIPED_WIDTH = 110


def say(*lines: str, err: bool = False) -> None:
    """Print lines to standard output or standard error; whatever they quote stays on its line and steers nothing."""
    for line in lines:
        click.echo(one_line(line), err=err)


def screen() -> Console:
    """Standard output as rich writes to it; plain, and of a fixed width, where it is piped."""
    from ragauge.report.text import printing_console

    return printing_console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
