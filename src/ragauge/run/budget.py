"""The budget of a run: what calls have cost, against a limit in dollars."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime

from ragauge.errors import BadParameter
from ragauge.judges.base import JudgeBase
from ragauge.report.wording import dollars as price
from ragauge.types import Call, TotalUsage


class Stopped(Exception):
    """Raised when a question is not answered because the run must end; the message is the reason."""


def leaf_judges(judges: Iterable[JudgeBase]) -> Iterator[JudgeBase]:
    """The judges, with the members of composite ones in their place."""
    for judge in judges:
        yield from leaf_judges(judge.members) if judge.members else [judge]


def price_dates(judges: Iterable[JudgeBase]) -> set[date]:
    """The days of the tables that the prices of the judges' models are from."""
    prices = [judge.price for judge in leaf_judges(judges)]
    return {price.dated for price in prices if price and price.dated}


def check_priced(judges: Iterable[JudgeBase], limit: float | None) -> None:
    """Raise BadParameter for a limit that is no number of dollars, or if the price of a judge's model is unknown."""
    if limit is None:
        return
    if not (isinstance(limit, int | float) and limit >= 0):
        raise BadParameter(f"max_cost is {limit!r}; give dollars as a number, such as 2.5, or None")
    for judge in leaf_judges(judges):
        if judge.is_paid and judge.price is None:
            raise unpriced(str(judge.identity))


def unpriced(model: str) -> BadParameter:
    """The error of a limit in dollars where the price of a model is unknown."""
    fix = f"give it in dollars per million tokens, prompt and completion: {model}?price=0.15:0.60"
    return BadParameter(f"a limit on the cost needs the price of {model}, which is not known; {fix}")


class Budget:
    """Counts the cost of calls against a limit in dollars; None means no limit.

    Money is reserved before a call is made and before a sample starts, so that concurrent ones cannot exceed the limit
    together. If calls have cost more than expected, the expectation of the next ones is scaled accordingly.
    reason: why a run that needs more must end. spent: usage so far. exceeded: whether a call was refused, as then all
    are. ends_work: whether nothing more is to be done then.
    """

    ends_work = True

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.reason = f"the limit of ${limit or 0:g} was reached"
        self.spent = TotalUsage()
        self.exceeded = False
        self._reserved = 0.0
        self._expected = 0.0
        self._running = self._done = 0.0  # expected cost of samples
        self._admission = asyncio.Lock()
        self._freed = asyncio.Event()

    @property
    def _overrun(self) -> float:
        """Actual over expected cost so far, of calls or samples, whichever is larger; at least 1."""
        expected = [amount for amount in (self._expected, self._running + self._done) if amount]
        return max([1.0, *(self.spent.cost / amount for amount in expected)])

    def _covers(self, expected: float) -> bool:
        return self.limit is None or self.spent.cost + self._overrun * expected <= self.limit

    async def _renew(self, dollars: float) -> None:
        """A hook before money is asked for: a new day begins here, or the limit is raised to cover this much more."""

    @asynccontextmanager
    async def sample(self, dollars: float) -> AsyncIterator[None]:
        """Start a sample of this expected cost as soon as the limit covers it and all those in flight, in order.

        The first paid one runs alone, to learn its actual cost. Raises Stopped if the limit does not cover a sample.
        """
        if self.limit is None:
            yield
            return
        async with self._admission:
            await self._renew(self._running + dollars)
            while self._running and dollars and not (self._done and self._covers(self._running + dollars)):
                self._freed.clear()
                await self._freed.wait()
                await self._renew(self._running + dollars)
            if dollars and not self._covers(dollars):
                self.exceeded = True
            if self.exceeded and self.spent.calls:
                raise Stopped(self.reason)
            if self.exceeded:
                expected = f"the expected cost of one sample, about {price(dollars)}"
                raise Stopped(f"the limit of {price(self.limit)} is below {expected}")
            self._running += dollars
        try:
            yield
        finally:
            self._running, self._done = _minus(self._running, dollars), self._done + dollars
            self._freed.set()

    async def reserve(self, dollars: float) -> bool:
        """Reserve money for a call, waiting for it if need be; False once the limit is exceeded."""
        if self.limit is None:
            return True
        await self._renew(self._reserved + dollars)
        while not self.exceeded:
            if self._covers(self._reserved + dollars):
                self._reserved += dollars
                return True
            if not self._reserved:
                self.exceeded = True
                self._freed.set()
                return False
            self._freed.clear()
            await self._freed.wait()
            await self._renew(self._reserved + dollars)
        return False

    def release(self, reserved: float) -> None:
        """Free a reservation."""
        if self.limit is not None:
            self._reserved = _minus(self._reserved, reserved)
            self._freed.set()

    def record(self, call: Call, reserved: float) -> None:
        """Count a call that has ended, in place of its reservation."""
        self.spent.add(call)
        self._expected += reserved if call.cost else 0.0
        self.release(reserved)


class DailyBudget(Budget):
    """A limit in dollars for each day in UTC. What it refuses is left out; the next day it goes on."""

    ends_work = False

    def __init__(self, limit: float) -> None:
        super().__init__(limit)
        self.reason = f"the limit of ${limit:g} a day was reached"
        self._daily, self._before = limit, 0.0
        self.day = _today()

    @property
    def spent_today(self) -> float:
        """The dollars spent on `day`."""
        return self.spent.cost - self._before

    def restore(self, day: str, dollars: float) -> None:
        """Count what was spent on a day before this budget was made."""
        if day == self.day:
            self._before -= dollars
            self.limit = self._before + self._daily

    async def _renew(self, dollars: float) -> None:
        if self.day != (today := _today()):
            self.day, self._before, self.exceeded = today, self.spent.cost, False
            self.limit = self._before + self._daily


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _minus(whole: float, part: float) -> float:
    """The difference, 0 if it is negative or within rounding."""
    return whole - part if whole - part > 1e-12 else 0.0
