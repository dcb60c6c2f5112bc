"""Flow: how calls follow each other to one server, so that it is kept busy and none is lost."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ragauge.judges.llm.calls import CallFailed
from ragauge.judges.llm.wire.faults import TOO_LARGE, Fault, Trouble
from ragauge.judges.llm.wire.pace import Pace
from ragauge.judges.llm.wire.patience import Call, Patience
from ragauge.judges.llm.wire.slots import Slots
from ragauge.types import Failure

T = TypeVar("T")

#: Where whoever waits for a run learns what it waits for: warnings are shown by progress bars, else on standard error.
LOG = logging.getLogger("ragauge")

#: How often a call is tried again: when it was throttled by rate, when its reply was too large, and for anything else.
RETRIES_RATE = 12
RETRIES_LARGE = 1
RETRIES = 6

#: How many calls in a row may be given up for SILENCE, with no word of the server in between, before it is over.
MOST_SILENT = 3
SILENCE = frozenset({"unreachable", "timeout"})

#: Seconds: the least and the most that a wait before a retry is drawn from, and the longest a server may ask for.
LEAST_BASE = 0.05
MOST_WAIT = 30.0
LONGEST_ASKED = 600.0

#: Seconds: the longest wait that is not announced, how often a longer one is, and how soon one ends when all is over.
UNSAID = 30.0
REMINDER = 60.0
TICK = 1.0


class Flow:
    """Runs calls: within the slots, at the pace, with patience, and again where an attempt was in vain.

    server: as it is named to people. retries: how often calls were tried again, by reason.
    """

    def __init__(
        self, slots: Slots, pace: Pace, patience: Patience, server: str, chance: Callable[[], float] = random.random
    ) -> None:
        self.slots, self.pace, self.patience = slots, pace, patience
        self.retries: Counter[str] = Counter()
        self._server, self._chance = server, chance
        self._longest_wait = 0.0
        self._said_at = -REMINDER
        self._over: Failure | None = None
        self._replied = False
        self._silent = 0

    def resume(self) -> None:
        """Begin anew: forget that it was over, and what was counted."""
        self._over = None
        self._silent = 0
        self._longest_wait = 0.0
        self.retries.clear()

    def notes(self) -> list[str]:
        """The longest that a call had to wait since the beginning, where that was long."""
        longest = self._longest_wait
        return [f"{self._server}: calls waited up to {longest:.0f} s for their turn"] if longest > UNSAID else []

    def stop(self, failure: Failure) -> None:
        """No further call can do better: let them fail at once."""
        self._over = failure

    async def run(self, attempt: Callable[[], Awaitable[T]], tokens: int = 0) -> T:
        """What `attempt` returns, which raises Trouble where it may be repeated. Raises CallFailed.

        tokens: what the call will take of the tokens per minute. A call holds no slot while it waits for its retry.
        """
        counts: Counter[str] = Counter()
        while True:
            done = await self._once(attempt, tokens, counts)
            if not isinstance(done, Trouble):
                return done
            counts[done.reason] += 1
            self.retries[done.reason] += 1
            await self._pause(self._wait(done, counts))

    async def _once(self, attempt: Callable[[], Awaitable[T]], tokens: int, counts: Counter[str]) -> T | Trouble:
        """One attempt: its result, or what troubled it."""
        await self.slots.take(ahead=bool(counts))
        try:
            await self._turn(tokens, sent=bool(counts))
            done = await self._sent(attempt, self.patience.began(counts["timeout"]))
            self._heard(done)
            return done
        finally:
            self.slots.give()

    async def _turn(self, tokens: int, *, sent: bool) -> None:
        """Wait until a call may be sent. Raises CallFailed once it is over, or where the server asks for too long."""
        asked = self.pace.asked(tokens)
        if self._over is None and asked > LONGEST_ASKED:
            raise self._asked_too_long(
                "rate_limited", f"{self._server}: its rate limits leave no call", asked, sent=sent
            )
        wait = self.pace.book(tokens) if self._over is None else 0.0
        while wait > 0 and self._over is None:
            await self._pause(wait)
            wait = self.pace.held()
        if self._over is not None:
            raise CallFailed(self._over, fatal=True, sent=sent)

    async def _pause(self, seconds: float) -> None:
        """Wait, unless all is over before; a long wait is announced."""
        self._longest_wait = max(self._longest_wait, seconds)
        now = time.monotonic()
        until = now + seconds
        while True:
            if until - now > UNSAID and now - self._said_at > REMINDER:
                self._said_at = now
                LOG.warning("waiting %.0f s for %s", until - now, self._server)
            await asyncio.sleep(max(0.0, min(until - now, TICK)))
            now = time.monotonic()
            if now >= until or self._over is not None:
                return

    def _heard(self, done: object) -> None:
        """Take note of what an attempt came to, while its slot is still taken."""
        trouble = done if isinstance(done, Trouble) else None
        self._replied |= trouble is None
        if trouble is None or trouble.reason not in SILENCE:
            self._silent = 0
        self.slots.replied(throttled=trouble is not None and trouble.throttled)

    async def _sent(self, attempt: Callable[[], Awaitable[T]], call: Call) -> T | Trouble:
        answered = False
        try:
            done = await attempt()
            answered = not isinstance(done, Fault)
            return done
        except Trouble as trouble:
            return trouble
        except asyncio.CancelledError:
            if not self.patience.was_stall(call):
                raise
            seconds = self.patience.seconds(call.stalls)
            return Trouble("timeout", f"{self._server}: no reply within {seconds:.3g} s", throttled=True)
        finally:
            self.patience.ended(call, answered=answered)

    def _wait(self, trouble: Trouble, counts: Counter[str]) -> float:
        """The seconds before a call is tried again. Raises CallFailed where it is not."""
        rate = counts["rate_limited"]
        if rate > RETRIES_RATE or counts[TOO_LARGE] > RETRIES_LARGE or counts.total() - rate > RETRIES:
            raise self._given_up(trouble, counts)
        base = max(LEAST_BASE, self.patience.median)
        backoff = self._chance() * min(MOST_WAIT, base * 2.0 ** (counts[trouble.reason] - 1))
        if trouble.wait is None:
            return backoff
        if trouble.wait > LONGEST_ASKED:
            raise self._asked_too_long(trouble.reason, trouble.detail, trouble.wait)
        if trouble.reason == "rate_limited":
            self.pace.hold(trouble.wait)
        return trouble.wait + backoff

    def _asked_too_long(self, reason: str, detail: str, seconds: float, *, sent: bool = True) -> CallFailed:
        """What to raise where the server asks for a wait that is not worth it; it is over then."""
        asked = f"{detail}; it asks to wait {seconds:.0f} s: run again then, what is answered is kept"
        self.stop(Failure(reason, asked))
        return CallFailed(Failure(reason, asked), fatal=True, sent=sent)

    def _given_up(self, trouble: Trouble, counts: Counter[str]) -> CallFailed:
        """What to raise for a call that was tried often enough. It is over where the server seems to be gone."""
        detail = f"{trouble.detail} (tried {counts.total()} times)"
        self._silent += trouble.reason in SILENCE
        gone = self._silent >= MOST_SILENT
        if gone:
            detail += "; it stopped answering: see that it runs, and run again, what is answered is kept"
        failure = Failure(trouble.reason, detail)
        fatal = gone or (trouble.reason == "unreachable" and not self._replied)
        if fatal:
            self.stop(failure)
        return CallFailed(failure, fatal=fatal)
