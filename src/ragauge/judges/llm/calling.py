"""Calling a function of somebody else's: blocking or not, a few at a time, again where it raises."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from inspect import iscoroutinefunction
from random import uniform
from threading import Thread
from typing import Any

from ragauge.errors import BadParameter
from ragauge.judges.llm.calls import CallFailed
from ragauge.types import Failure

#: Calls side by side, without a word on how many.
CONCURRENCY = 8

#: Seconds before a function that raised is called again.
PAUSE = 0.5


class Caller:
    """Calls `function`, at most `concurrency` times side by side; to be entered before.

    A blocking function runs in threads, which do not keep a process alive that is to end. One that raises is called up
    to `retries` times more, after PAUSE seconds, then twice as many, and so on; CallFailed is a failure at once.
    """

    def __init__(self, function: Callable[..., Any], concurrency: int, retries: int) -> None:
        if concurrency < 1 or retries < 0:
            raise BadParameter(f"concurrency={concurrency} must be 1 or more, and retries={retries} 0 or more")
        self._function = function
        self._waits = iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
        self._concurrency, self._retries = concurrency, retries
        self._places = asyncio.Semaphore(concurrency)
        self._over: Failure | None = None

    async def __aenter__(self) -> Caller:
        self._places = asyncio.Semaphore(self._concurrency)
        self._over = None
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Nothing is left to close."""

    def stop(self, failure: Failure) -> None:
        """Calls that were not made yet fail with this, until it is entered anew."""
        self._over = failure

    async def call(self, *args: object) -> Any:
        """What the function returns. Raises what it raised last."""
        for attempt in range(self._retries):
            try:
                return await self._call(*args)
            except CallFailed:
                raise
            except Exception:
                await asyncio.sleep(PAUSE * 2**attempt * uniform(0.5, 1.5))
        return await self._call(*args)

    async def _call(self, *args: object) -> Any:
        async with self._places:
            if self._over is not None:
                raise CallFailed(self._over, fatal=True, sent=False)
            if self._waits:
                return await self._function(*args)
            done: Future[Any] = Future()
            Thread(target=_run, args=(done, self._function, args), name="ragauge-judge", daemon=True).start()
            reply = await asyncio.wrap_future(done)
            return await reply if isinstance(reply, Awaitable) else reply


def _run(done: Future[Any], function: Callable[..., Any], args: tuple[object, ...]) -> None:
    """Call a function in this thread, unless nobody waits for it any more."""
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(function(*args))
    except BaseException as error:
        done.set_exception(error)
