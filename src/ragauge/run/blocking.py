"""Waiting for a coroutine from code that is not asynchronous, whether or not an event loop runs already."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def block_on(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`. Under a running loop (Jupyter, FastAPI) it runs in a thread with a loop of its own."""
    return _in_thread(work) if _loop_runs() else asyncio.run(work)


def _in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in a thread; when the caller is interrupted it is cancelled, and given the time to clean up."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def begin() -> T:
        task = asyncio.ensure_future(work)
        begun.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(max_workers=1) as thread:
        outcome = thread.submit(asyncio.run, begin())
        try:
            return outcome.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            with suppress(RuntimeError):  # the loop has ended by itself
                loop.call_soon_threadsafe(task.cancel)
            raise


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
