"""Coroutines: called from synchronous code, with or without a running event loop, and mapped over items in order."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, wraps
from threading import Lock, Thread, current_thread, main_thread
from types import FrameType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


_STARTING = Lock()

#: Seconds for which a cancelled run may write what is done before another Ctrl-C takes effect.
CLEANING_UP = 1.0


def blocking(function: Callable[P, Coroutine[Any, Any, T]], name: str, *, shared: bool = False) -> Callable[P, T]:
    """A synchronous version of a coroutine function, named `name`.

    Under a running loop (Jupyter, FastAPI) it runs in a thread with its own event loop. shared: it always runs on one
    background loop for all threads, so that they can share a judge with its connections and limits.
    """

    @wraps(function)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        work = function(*args, **kwargs)
        running = _running_loop()
        if shared and running is not _shared_loop():  # code on that loop cannot block on it
            return _on_shared_loop(work)
        return _in_thread(work) if running else asyncio.run(_interrupted_once(work))

    wait.__name__ = wait.__qualname__ = name
    return wait


async def _interrupted_once(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`, which Ctrl-C cancels; further ones are ignored for CLEANING_UP seconds while it cleans up.

    asyncio's own handler would raise in the middle of the cleanup.
    """
    own = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(own) or own is signal.default_int_handler:
        return await work
    signals: list[float] = []

    def handler(number: int, frame: FrameType | None) -> None:
        if not signals or time.monotonic() - signals[0] > CLEANING_UP:
            signals.append(time.monotonic())
            own(number, frame)

    signal.signal(signal.SIGINT, handler)
    try:
        return await work
    finally:
        signal.signal(signal.SIGINT, own)


def _in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in a thread; an interrupt of the caller cancels it and waits for its cleanup."""
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
            with suppress(RuntimeError):  # the loop has already ended
                loop.call_soon_threadsafe(task.cancel)
            raise


def _on_shared_loop(work: Coroutine[Any, Any, T]) -> T:
    outcome = asyncio.run_coroutine_threadsafe(work, _shared_loop())
    try:
        return outcome.result()
    except KeyboardInterrupt:
        outcome.cancel()
        raise


def _shared_loop() -> asyncio.AbstractEventLoop:
    """The background loop of this process; a forked process gets its own, since threads are not forked."""
    with _STARTING:
        return _started_loop(os.getpid())


@cache
def _started_loop(process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name=f"ragauge-{process}", daemon=True).start()
    return loop


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


R = TypeVar("R")

#: How many results of `ordered_map` may wait for an earlier one.
AHEAD = 1000


async def ordered_map(
    items: Iterable[T], work: Callable[[T], Awaitable[R]], width: int, ahead: int = AHEAD
) -> AsyncGenerator[R, None]:
    """The results of `work` in the order of the items, which are taken as slots become free.

    width: how many tasks run at once; a slow one does not block the `ahead` after it. An exception of `work` is raised
    at once and cancels the rest, as closing the generator does. If taking an item fails, running tasks finish first.
    """
    window: _Window[R] = _Window(width, ahead)
    source = _Lookahead(items)
    try:
        for item in source:
            window.start(work(item))
            while window.full:
                await window.next_end()
                for result in window.results():
                    yield result
        while window.tasks:
            await window.next_end()
            for result in window.results():
                yield result
    finally:
        await window.cancel()
    if source.fault:
        raise source.fault


class _Window(Generic[R]):
    """The running tasks in order; one that has raised moves to the front."""

    def __init__(self, width: int, ahead: int) -> None:
        self.tasks: deque[asyncio.Task[R]] = deque()
        self._width, self._most = width, width + ahead
        self._in_flight = 0
        self._ended = asyncio.Event()

    @property
    def full(self) -> bool:
        return self._in_flight >= self._width or len(self.tasks) >= self._most

    def start(self, work: Awaitable[R]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._end)
        self.tasks.append(task)
        self._in_flight += 1

    def _end(self, task: asyncio.Task[R]) -> None:
        self._in_flight -= 1
        if not task.cancelled() and task.exception():
            self.tasks.appendleft(task)
        self._ended.set()

    async def next_end(self) -> None:
        """Wait until a task ends, unless the first has a result already."""
        self._ended.clear()
        if not (self.tasks and self.tasks[0].done()):
            await self._ended.wait()

    def results(self) -> Iterator[R]:
        """The results up to the first task that is still running. Raises what the work raised."""
        while self.tasks and self.tasks[0].done():
            yield self.tasks.popleft().result()

    async def cancel(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class _Lookahead(Iterator[T]):
    """The same items; an error in taking one ends the iteration and is kept in `fault`."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self.fault: Exception | None = None

    def __next__(self) -> T:
        try:
            return next(self._items)
        except StopIteration:
            raise
        except Exception as fault:
            self.fault = fault
            raise StopIteration from fault
