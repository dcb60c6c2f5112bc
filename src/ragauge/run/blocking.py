"""Waiting for a coroutine from code that is not asynchronous, whether or not an event loop runs already."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def blocking(function: Callable[P, Coroutine[Any, Any, T]], name: str) -> Callable[P, T]:
    """The function called `name` that takes the same arguments and waits for the result.

    Under a running loop (Jupyter, FastAPI) the work is done in a thread with a loop of its own.
    """

    @wraps(function)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        work = function(*args, **kwargs)
        return _in_thread(work) if _loop_runs() else asyncio.run(work)

    wait.__name__ = wait.__qualname__ = name
    return wait


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
