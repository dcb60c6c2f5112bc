"""A concurrent map whose results come in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: How many results may wait for an earlier one.
AHEAD = 1000


async def ordered_map(items: Iterable[T], work: Callable[[T], Awaitable[R]], width: int) -> AsyncGenerator[R, None]:
    """The results of `work` in the order of the items, which are taken as slots become free.

    width: how many tasks run at once; a slow one does not block those after it. An exception of `work` is raised at
    once and cancels the rest, as closing the generator does. If taking an item fails, running tasks finish first.
    """
    window: _Window[R] = _Window(width)
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

    def __init__(self, width: int) -> None:
        self.tasks: deque[asyncio.Task[R]] = deque()
        self._width = width
        self._in_flight = 0
        self._ended = asyncio.Event()

    @property
    def full(self) -> bool:
        return self._in_flight >= self._width or len(self.tasks) >= self._width + AHEAD

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
