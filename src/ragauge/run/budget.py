"""The budget of a run: what its calls have cost, and what they may."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ragauge.errors import BadParameter
from ragauge.judges.desk import Expecting
from ragauge.judges.judge import Judge
from ragauge.nouns.calls import Call, Spent


def check_priced(judges: Iterable[Judge], limit: float | None) -> None:
    """Raise BadParameter where a limit in dollars means nothing, since the price of a judge's model is not known."""
    for judge in judges if limit is not None else ():
        if hasattr(judge, "members"):
            check_priced(judge.members, limit)
        elif isinstance(judge, Expecting) and getattr(judge, "price", None) is None:
            raise BadParameter(
                f"a limit on the cost needs the price of {judge.identity}, which is not known; give it in dollars per "
                f"million tokens, prompt and completion: {judge.identity}?price=0.15:0.60"
            )


class Budget:
    """Counts the cost of calls against a limit in dollars, None for none.

    Money is set aside before a call is made, so that calls under way side by side do not overrun the limit together.
    spent: what has been counted. exceeded: whether a call was refused; from then on all are.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.spent = Spent()
        self.exceeded = False
        self._reserved = 0.0
        self._freed = asyncio.Event()

    @property
    def reason(self) -> str:
        """Why a run that asks for more is to end."""
        return f"the limit of ${self.limit:g} was reached"

    async def reserve(self, dollars: float) -> bool:
        """Set money aside for a call, once it is there; False where it will not be any more."""
        if self.limit is None:
            return True
        while not self.exceeded:
            if self.spent.cost + self._reserved + dollars <= self.limit:
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
            self._reserved = max(0.0, self._reserved - reserved)
            if self._reserved < 1e-12:
                self._reserved = 0.0
            self._freed.set()

    def record(self, call: Call, reserved: float) -> None:
        """A call has ended; what it cost takes the place of what was set aside for it."""
        self.spent.add(call)
        self.release(reserved)
