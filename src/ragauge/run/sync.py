"""Coroutines: called from synchronous code, with or without a running event loop, and mapped over items in order."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import signal
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, wraps
from threading import Lock, Thread, current_thread, main_thread
from types import FrameType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

#: Held while the shared loop is started.
_START_LOCK = Lock()

#: Seconds that a cancelled run has to write its results before another Ctrl-C takes effect.
CLEANUP_SECONDS = 1.0

#: How many results of `ordered_map` may wait for an earlier one.
AHEAD = 1000


def blocking(function: Callable[P, Coroutine[Any, Any, T]], name: str, *, shared: bool = False) -> Callable[P, T]:
    """A synchronous version of a coroutine function, which also works under a running loop (Jupyter, FastAPI).

    Args:
        function: the coroutine function; under a running loop it runs in a thread with its own event loop.
        name: the name of the synchronous version.
        shared: whether all threads run it on one background loop, so that they share a judge's connections and limits.
    """

    @wraps(function)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            work = function(*args, **kwargs)
        except TypeError as error:  # arguments that do not fit
            raise TypeError(str(error).replace(function.__name__, name)) from None
        running = None
        with suppress(RuntimeError):
            running = asyncio.get_running_loop()
        if shared and running is not _shared_loop():  # code on that loop cannot block on it
            return _on_shared_loop(work)
        return _in_thread(work) if running else asyncio.run(_interrupted_once(work))

    wait.__name__ = wait.__qualname__ = name
    wait.__signature__ = _ListedSignature.from_callable(function)  # type: ignore[attr-defined]
    return wait


class _ListedSignature(inspect.Signature):
    """A signature that `help` shows with one parameter per line and annotations without quotation marks."""

    def __str__(self) -> str:
        unquoted = re.sub(r"(: |-> )'([^']*)'", r"\1\2", super().__str__())
        listed = re.sub(r"(\(|, )(?=\*,|\w+: )", lambda opening: opening[0].strip() + "\n    ", unquoted)
        return listed.replace(") ->", "\n) ->")


async def _interrupted_once(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`, which Ctrl-C cancels; more within CLEANUP_SECONDS are ignored, where asyncio would raise."""
    cancel = signal.getsignal(signal.SIGINT)  # the handler of asyncio.run, unless the program has its own
    if current_thread() is not main_thread() or not callable(cancel) or cancel is signal.default_int_handler:
        return await work
    cancelled_at: list[float] = []

    def handler(number: int, frame: FrameType | None) -> None:
        if not cancelled_at or time.monotonic() - cancelled_at[0] > CLEANUP_SECONDS:
            cancelled_at.append(time.monotonic())
            cancel(number, frame)

    signal.signal(signal.SIGINT, handler)
    try:
        return await work
    finally:
        signal.signal(signal.SIGINT, cancel)


def _in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in a thread; an interrupt of the caller cancels it and waits for its cleanup."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def begin() -> T:
        task = asyncio.ensure_future(work)
        begun.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(max_workers=1) as thread:
        future = thread.submit(asyncio.run, begin())
        try:
            return future.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            with suppress(RuntimeError):  # the loop has already ended
                loop.call_soon_threadsafe(task.cancel)
            raise


def _on_shared_loop(work: Coroutine[Any, Any, T]) -> T:
    future = asyncio.run_coroutine_threadsafe(work, _shared_loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


def _shared_loop() -> asyncio.AbstractEventLoop:
    """The background loop of this process; a forked process gets its own, since threads are not forked."""
    with _START_LOCK:
        return _started_loop(os.getpid())


@cache
def _started_loop(process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name=f"ragauge-{process}", daemon=True).start()
    return loop


async def ordered_map(
    items: Iterable[T], work: Callable[[T], Awaitable[R]], width: int, ahead: int = AHEAD
) -> AsyncGenerator[R, None]:
    """Map `work` over items with several tasks at once; yield the results in the order of the items.

    An exception of `work` is raised at once and cancels the other tasks, as closing the generator does. If taking an
    item fails, running tasks finish first.

    Args:
        items: taken one by one, as tasks end.
        work: makes the result of an item.
        width: the most tasks that run at once.
        ahead: the most results that wait for a slower one before them.
    """
    source: Iterator[T] | None = iter(items)
    tasks: deque[asyncio.Task[R]] = deque()  # in order; one that has raised moves to the front
    running, task_ended = 0, asyncio.Event()
    ended_by: Exception = StopIteration()

    def end(task: asyncio.Task[R]) -> None:
        nonlocal running
        running -= 1
        if not task.cancelled() and task.exception():
            tasks.appendleft(task)
        task_ended.set()

    try:
        while source or tasks:
            while source and running < width and len(tasks) < width + ahead:
                try:
                    tasks.append(asyncio.ensure_future(work(next(source))))
                    tasks[-1].add_done_callback(end)
                    running += 1
                except Exception as error:  # StopIteration after the last item
                    source, ended_by = None, error
            task_ended.clear()
            if tasks and not tasks[0].done():
                await task_ended.wait()
            while tasks and tasks[0].done():
                yield tasks.popleft().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if not isinstance(ended_by, StopIteration):
        raise ended_by
