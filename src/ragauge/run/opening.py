"""Opening: what holds something open, such as connections, is entered when it is first needed, and left at the end."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack


class Openings(AsyncExitStack):
    """Enters asynchronous context managers, one at a time and each once, and leaves them all when it is left."""

    def __init__(self) -> None:
        super().__init__()
        self._entered: set[int] = set()
        self._turn = asyncio.Lock()

    async def open(self, one: object) -> None:
        """Enter this one, unless it is entered or there is nothing to enter. Raises what entering it raises."""
        if id(one) in self._entered or not isinstance(one, AbstractAsyncContextManager):
            return
        async with self._turn:
            if id(one) not in self._entered:
                await self.enter_async_context(one)
                self._entered.add(id(one))
