"""Many things done side by side, and the results in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: How many results may wait for an earlier one that is late.
AHEAD = 1000


async def ordered_map(items: Iterable[T], work: Callable[[T], Awaitable[R]], width: int) -> AsyncGenerator[R, None]:
    """The results of `work` in the order of the items, which are drawn as there is room for them.

    width: how many are under way at once; one that takes long does not hold up those behind it. Raises what `work`
    raises, as soon as it does, and the rest is cancelled, as it is when the generator is closed. Where an item cannot
    be drawn, what is under way is finished first.
    """
    line: _Window[R] = _Window(width)
    source = _Lookahead(items)
    try:
        for item in source:
            line.start(work(item))
            while line.full:
                await line.one_ends()
                for result in line.results():
                    yield result
        while line.tasks:
            await line.one_ends()
            for result in line.results():
                yield result
    finally:
        await line.cancel()
    if source.fault:
        raise source.fault


class _Window(Generic[R]):
    """What is under way, in order; a task that has raised goes to the front."""

    def __init__(self, width: int) -> None:
        self.tasks: deque[asyncio.Task[R]] = deque()
        self._width = width
        self._under_way = 0
        self._ended = asyncio.Event()

    @property
    def full(self) -> bool:
        return self._under_way >= self._width or len(self.tasks) >= self._width + AHEAD

    def start(self, work: Awaitable[R]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._end)
        self.tasks.append(task)
        self._under_way += 1

    def _end(self, task: asyncio.Task[R]) -> None:
        self._under_way -= 1
        if not task.cancelled() and task.exception():
            self.tasks.appendleft(task)
        self._ended.set()

    async def one_ends(self) -> None:
        """Wait until there may be a result, unless there is one."""
        self._ended.clear()
        if not (self.tasks and self.tasks[0].done()):
            await self._ended.wait()

    def results(self) -> Iterator[R]:
        """The results that nothing earlier is missing for. Raises what the work raised."""
        while self.tasks and self.tasks[0].done():
            yield self.tasks.popleft().result()

    async def cancel(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class _Lookahead(Iterator[T]):
    """The same items; an error in drawing one ends them, and is kept."""

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
