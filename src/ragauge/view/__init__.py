"""Floor 6: the page for all runs of a store, served on this machine alone. See docs/view.md."""

from ragauge.view.server import Server

__all__ = ["Server"]
