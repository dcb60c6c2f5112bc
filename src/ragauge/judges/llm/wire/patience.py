"""Patience: how long a call may take before it counts as stalled, by how long the others took."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from statistics import median

#: Before so many replies are known, a call is given FIRST seconds.
KNOWN = 16
FIRST = 10.0
LAST = 200
AT_LEAST = 1.0
TIMES = 10
TICK = 0.25


class Call:
    """A call under way: its task, when it was sent, and how often it stalled before."""

    __slots__ = ("cancelling", "since", "stalled", "stalls", "task")

    def __init__(self, task: asyncio.Task[object], since: float, stalls: int) -> None:
        self.task, self.since, self.stalls = task, since, stalls
        self.cancelling = task.cancelling()
        self.stalled = False


class Patience:
    """Watches calls under way, with one task for all, and cancels those that take too long.

    timeout: the most seconds for a call. first: the seconds for a call before much is known. clock: for tests.
    """

    def __init__(self, timeout: float, first: float = FIRST, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout, self._first, self._clock = timeout, first, clock
        self._calls: set[Call] = set()
        self._took: deque[float] = deque(maxlen=LAST)
        self._since_measured = 0
        self._base = first
        self.median = 0.0

    def began(self, stalls: int) -> Call:
        """A call of the running task is sent now."""
        task = asyncio.current_task()
        assert task is not None
        call = Call(task, self._clock(), stalls)
        self._calls.add(call)
        return call

    def ended(self, call: Call, *, answered: bool) -> None:
        """It ended, with an answer or not."""
        self._calls.discard(call)
        if answered:
            self.took(self._clock() - call.since)

    def was_stall(self, call: Call) -> bool:
        """Whether the cancellation that ended it was a stall, and not (also) somebody's wish; asked once."""
        return call.stalled and call.task.uncancel() <= call.cancelling

    def took(self, seconds: float) -> None:
        """A reply took so long."""
        self._took.append(seconds)
        self._since_measured += 1
        if len(self._took) <= KNOWN or self._since_measured >= KNOWN:
            self._measure()

    def _measure(self) -> None:
        self._since_measured = 0
        known = sorted(self._took)
        self.median = median(known)
        if len(known) < KNOWN:
            self._base = max(self._first, TIMES * known[-1])
        else:
            self._base = max(AT_LEAST, TIMES * known[int(0.95 * (len(known) - 1))])

    def seconds(self, stalls: int) -> float:
        """How long a call may take that stalled so often before: twice as long each time."""
        return min(self._timeout, min(self._timeout, self._base) * 2.0**stalls)

    async def watch(self) -> None:
        """Cancel what stalls, until cancelled; what the event loop itself slept is not held against the calls."""
        tick = min(TICK, self._timeout / 4)
        while True:
            planned = self._clock() + tick
            await asyncio.sleep(tick)
            late = self._clock() - planned
            if late > tick:
                for call in self._calls:
                    call.since += late
            self.check()

    def check(self) -> None:
        """Cancel the calls that take too long."""
        now = self._clock()
        for call in self._calls:
            if not call.stalled and now - call.since > self.seconds(call.stalls):
                call.stalled = True
                call.task.cancel()
