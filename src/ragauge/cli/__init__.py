"""The command line. It parses, calls and prints; everything else is done elsewhere."""

from ragauge.cli.main import main

__all__ = ["main"]
