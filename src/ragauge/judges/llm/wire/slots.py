"""Slots: how many calls may be under way at once, and how that number follows the server."""

from __future__ import annotations

import asyncio
from collections import deque

START = 8
MOST = 256

#: The share of throttled replies in an epoch beyond which fewer calls are put side by side, and what is left of them.
TOO_MANY = 0.25
CUT = 0.7


class Slots:
    """Hands out slots in order; a slot given back goes to the next at once.

    Without `fixed` the limit adapts by epochs of as many replies as there are slots: it doubles while the server keeps
    up, falls to 0.7 of itself when more than a quarter of an epoch was throttled, and from then on grows by one
    sixteenth at a time. A limit that was not used up does not grow.
    """

    def __init__(self, fixed: int | None = None, most: int = MOST) -> None:
        self.limit = fixed or min(START, most)
        self.busy = 0
        self._most = most
        self._adapts = fixed is None
        self._doubles = True
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._replies = self._throttled = 0
        self._used_up = False

    async def take(self, *, ahead: bool = False) -> None:
        """Wait for a slot; `ahead` of those that wait already."""
        if self.busy < self.limit and not self._waiting:
            self.busy += 1
            return
        self._used_up = True
        turn = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if ahead else self._waiting.append)(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Give a slot back."""
        self.busy -= 1
        while self._waiting and self.busy < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)

    def replied(self, *, throttled: bool) -> None:
        """Count a reply, before its slot is given back."""
        if not self._adapts:
            return
        self._replies += 1
        self._throttled += throttled
        if self._replies >= self.limit:
            self._adapt()
            self._replies = self._throttled = 0
            self._used_up = bool(self._waiting)

    def _adapt(self) -> None:
        if self._throttled > TOO_MANY * self._replies:
            self._doubles = False
            self.limit = max(1, int(self.limit * CUT))
        elif self._used_up:
            more = self.limit if self._doubles else max(1, self.limit // 16)
            self.limit = min(self._most, self.limit + more)
