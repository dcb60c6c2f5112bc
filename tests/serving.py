"""Servers that run in another thread for the time of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from ragauge.view import Server


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Serve meanwhile."""
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
