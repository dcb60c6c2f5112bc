"""Where commands print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

#: How wide output is where no terminal says so.
PIPED_WIDTH = 110


def screen() -> Console:
    """Standard output as rich writes to it; plain, and of a fixed width, where it is piped."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return Screen(highlight=False, markup=False, emoji=False, width=width)
