"""The web page of a store, served on this machine only; see docs/view.md."""

from ragauge.view.server import Server

__all__ = ["Server"]
