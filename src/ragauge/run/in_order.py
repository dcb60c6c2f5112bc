"""Many things done side by side, and the results in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: How many results may wait for an earlier one that is late.
AHEAD = 1000


async def in_order(items: Iterable[T], work: Callable[[T], Awaitable[R]], width: int) -> AsyncGenerator[R, None]:
    """The results of `work` in the order of the items, which are drawn as there is room for them.

    width: how many are under way at once; one that takes long does not hold up those behind it. Raises what `work`
    raises, as soon as it does, and the rest is cancelled, as it is when the generator is closed. Where an item cannot
    be drawn, what is under way is finished first.
    """
    line: deque[asyncio.Task[R]] = deque()
    ended = asyncio.Event()
    under_way = 0

    def end(task: asyncio.Task[R]) -> None:
        nonlocal under_way
        under_way -= 1
        if not task.cancelled() and task.exception():
            line.appendleft(task)
        ended.set()

    async def until_one_ends() -> None:
        ended.clear()
        if not (line and line[0].done()):
            await ended.wait()

    source = _Source(items)
    try:
        for item in source:
            task = asyncio.ensure_future(work(item))
            task.add_done_callback(end)
            line.append(task)
            under_way += 1
            while under_way >= width or len(line) >= width + AHEAD:
                await until_one_ends()
                while line and line[0].done():
                    yield line.popleft().result()
        while line:
            await until_one_ends()
            while line and line[0].done():
                yield line.popleft().result()
    finally:
        for task in line:
            task.cancel()
        await asyncio.gather(*line, return_exceptions=True)
    if source.fault:
        raise source.fault


class _Source(Iterator[T]):
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
