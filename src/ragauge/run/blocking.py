"""Waiting for a coroutine from code that is not asynchronous, whether or not an event loop runs already."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def block_on(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`. Under a running loop (Jupyter, FastAPI) it runs in a thread with a loop of its own."""
    if not _loop_runs():
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
