"""The budget of a run: what its calls have cost, and what they may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from ragauge.errors import BadParameter
from ragauge.judges.base import ForecastingJudge, Judge
from ragauge.report.wording import dollars as price
from ragauge.run.stopping import Stopped
from ragauge.types import Call, TotalUsage


def check_priced(judges: Iterable[Judge], limit: float | None) -> None:
    """Raise BadParameter where a limit in dollars means nothing, since the price of a judge's model is not known."""
    for judge in judges if limit is not None else ():
        if hasattr(judge, "members"):
            check_priced(judge.members, limit)
        elif isinstance(judge, ForecastingJudge) and getattr(judge, "price", None) is None:
            raise BadParameter(
                f"a limit on the cost needs the price of {judge.identity}, which is not known; give it in dollars per "
                f"million tokens, prompt and completion: {judge.identity}?price=0.15:0.60"
            )


class Budget:
    """Counts the cost of calls against a limit in dollars, None for none.

    Money is set aside before a call is made, so that calls under way side by side do not overrun the limit together,
    and before a sample is begun, so that no more samples are under way than the money is enough for. What calls have
    cost beyond what was expected of them is expected of the next ones too.
    spent: what has been counted. exceeded: whether a call was refused; from then on all are.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.spent = TotalUsage()
        self.exceeded = False
        self._reserved = 0.0
        self._expected = 0.0
        self._begun = self._ended = 0.0  # what is expected of the samples under way, and was of those that are done
        self._door = asyncio.Lock()
        self._freed = asyncio.Event()

    @property
    def reason(self) -> str:
        """Why a run that asks for more is to end."""
        return f"the limit of ${self.limit:g} was reached"

    @property
    def _dearer(self) -> float:
        """How many times as much as expected calls, or samples, have cost so far; at least 1."""
        expected = [some for some in (self._expected, self._begun + self._ended) if some]
        return max([1.0, *(self.spent.cost / some for some in expected)])

    def _holds(self, expected: float) -> bool:
        """Whether there is money for this much more, as it is expected."""
        return self.limit is None or self.spent.cost + self._dearer * expected <= self.limit

    @asynccontextmanager
    async def sample(self, dollars: float) -> AsyncIterator[None]:
        """Begin a sample that is expected to cost this, once there is money for it and all those under way.

        Samples begin in the order in which they ask. The first that costs something is alone, to see what it does cost.
        Raises Stopped where the money will not be enough for a sample.
        """
        async with self._door:
            while self._begun and dollars and not (self._ended and self._holds(self._begun + dollars)):
                self._freed.clear()
                await self._freed.wait()
            if dollars and not self._holds(dollars):
                self.exceeded = True
            if self.exceeded:
                raise Stopped(self._short_of(dollars))
            self._begun += dollars
        try:
            yield
        finally:
            self._begun, self._ended = _less(self._begun, dollars), self._ended + dollars
            self._freed.set()

    def _short_of(self, dollars: float) -> str:
        """Why a sample that is expected to cost this cannot begin."""
        if self.spent.calls:
            return self.reason
        return f"the limit of ${self.limit:g} is less than one sample is expected to cost, about {price(dollars)}"

    async def reserve(self, dollars: float) -> bool:
        """Set money aside for a call, once it is there; False where it will not be any more."""
        if self.limit is None:
            return True
        while not self.exceeded:
            if self._holds(self._reserved + dollars):
                self._reserved += dollars
                return True
            if not self._reserved:
                self.exceeded = True
                self._freed.set()
                return False
            self._freed.clear()
            await self._freed.wait()
        return False

    def release(self, reserved: float) -> None:
        """What was set aside is free again."""
        if self.limit is not None:
            self._reserved = _less(self._reserved, reserved)
            self._freed.set()

    def record(self, call: Call, reserved: float) -> None:
        """A call has ended; what it cost takes the place of what was set aside for it."""
        self.spent.add(call)
        self._expected += reserved if call.cost else 0.0
        self.release(reserved)


def _less(whole: float, part: float) -> float:
    """What is left of a sum without a part of it; 0 where that is all."""
    left = whole - part
    return left if left > 1e-12 else 0.0
