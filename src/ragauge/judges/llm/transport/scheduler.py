"""The scheduler of calls to one server: concurrency, rate limits, retries and stalled calls.

Sources: RFC 9110 for Retry-After; the pages "Rate limits" of OpenAI, Groq and Anthropic for the other headers; Google's
`RetryInfo` in the body of an error.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from statistics import median
from typing import NamedTuple, TypeVar

from ragauge.judges.llm.messages import CallFailed
from ragauge.judges.llm.transport.faults import TOO_LARGE, Fault, ReplyError
from ragauge.types import Failure

_NUMBER = r"\d{1,15}(?:\.\d*)?"
_DURATION = re.compile(rf"({_NUMBER})(ms|h|m|s|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(%b)s"' % _NUMBER.encode())


class Allowance(NamedTuple):
    """What is left: units now, units when full, and seconds until it is full again."""

    left: float
    limit: float
    reset: float


def retry_after(headers: Mapping[str, str], body: bytes, now: datetime) -> float | None:
    """The seconds that a server asks to wait; None where it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("Retry-After")
    if said is None:
        delay = _RETRY_DELAY.search(body)
        return float(delay[1]) if delay else None
    seconds = _number(said)
    return seconds if seconds is not None else until(said, now)


def until(said: str, now: datetime) -> float | None:
    """Seconds until a time such as "6m0s", "17ms", "7.66", one of RFC 3339, or a date of HTTP; None for others."""
    seconds = _number(said)
    if seconds is not None:
        return seconds
    pieces = _DURATION.findall(said)
    if pieces and "".join(map("".join, pieces)) == said:
        return sum(float(number) * _SECONDS[unit] for number, unit in pieces)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = read(said)
        except (ValueError, OverflowError):
            continue
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max(0.0, (at - now).total_seconds())
    return None


def allowance(headers: Mapping[str, str], names: tuple[str, str, str], now: datetime) -> Allowance | None:
    """What is left by the headers of these names (left, limit, reset); None where they do not say."""
    left, limit = _number(headers.get(names[0])), _number(headers.get(names[1]))
    if left is None or limit is None or limit <= 0:
        return None
    reset = until(headers.get(names[2], ""), now)
    return None if reset is None else Allowance(min(left, limit), limit, reset)


def _number(said: str | None) -> float | None:
    """A count or a time that is a plain number, not below 0."""
    return float(said) if said is not None and re.fullmatch(_NUMBER, said) else None


_REQUESTS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-limit-requests", "x-ratelimit-reset-requests"),
    (
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-reset",
    ),
)
_TOKENS = (
    ("x-ratelimit-remaining-tokens", "x-ratelimit-limit-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-limit", "anthropic-ratelimit-tokens-reset"),
)

#: What a server says is left matters below this share of the whole.
SCARCE = 0.5

#: Units a second below which an allowance counts as one that never fills up again.
SLOWEST = 1e-12


class RateLimiter:
    """Spreads calls evenly over the minute, by requests and by tokens, and later where the server asks for it.

    requests, tokens: per minute; None for no limit. clock: seconds, for tests.
    """

    def __init__(
        self, requests: float | None, tokens: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._requests = _Even(requests) if requests else None
        self._tokens = _Even(tokens) if tokens else None
        self._told_requests: _Bucket | None = None
        self._told_tokens: _Bucket | None = None
        self._held_until = self._last = 0.0

    def asked(self, tokens: int) -> float:
        """The seconds between the last call booked and one of so many tokens, by what the server says is left."""
        now = self._clock()
        limits = ((self._told_requests, 1), (self._told_tokens, tokens))
        starts = [limit.free_at(need, now) for limit, need in limits if limit is not None]
        return max(0.0, max(starts, default=now) - max(now, self._last))

    def book(self, tokens: int) -> float:
        """The seconds until a call of so many tokens may be sent; it counts as sent then."""
        now = self._clock()
        needs = [(limit, need) for limit, need in self._limits(tokens) if limit is not None]
        start = max([now, self._held_until, *(limit.free_at(need, now) for limit, need in needs)])
        for limit, need in needs:
            limit.take(need, start)
        self._last = max(self._last, start)
        return start - now

    def _limits(self, tokens: int) -> tuple[tuple[_Limit | None, float], ...]:
        return (self._requests, 1), (self._tokens, tokens), (self._told_requests, 1), (self._told_tokens, tokens)

    def held(self) -> float:
        """The seconds for which nothing may be sent at all."""
        return max(0.0, self._held_until - self._clock())

    def hold(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def used(self, expected: int, tokens: int) -> None:
        """A call took so many tokens where others were expected."""
        if self._tokens is not None:
            self._tokens.correct(tokens - expected)

    def told(self, headers: Mapping[str, str]) -> None:
        """Take note of the headers of a reply that say what is left."""
        self._told_requests = self._read(headers, _REQUESTS)
        self._told_tokens = self._read(headers, _TOKENS)

    def _read(self, headers: Mapping[str, str], families: tuple[tuple[str, str, str], ...]) -> _Bucket | None:
        for names in families:
            if names[0] in headers:
                left = allowance(headers, names, datetime.now(UTC))
                return _Bucket(left, self._clock()) if left and left.left < SCARCE * left.limit else None
        return None


class _Even:
    """So many a minute, one after the other."""

    def __init__(self, per_minute: float) -> None:
        self._each = 60 / per_minute
        self._free_at = 0.0

    def free_at(self, need: float, now: float) -> float:
        """When the next may be sent."""
        return self._free_at

    def take(self, need: float, at: float) -> None:
        """It is sent then."""
        self._free_at = at + need * self._each

    def correct(self, more: float) -> None:
        """What was sent needed so much more."""
        self._free_at += more * self._each


class _Bucket:
    """What a server says is left; it fills up evenly until it is full."""

    def __init__(self, told: Allowance, now: float) -> None:
        self._left, self._limit, self._at = told.left, told.limit, now
        self._rate = max((told.limit - told.left) / max(told.reset, 0.001), SLOWEST)

    def free_at(self, need: float, now: float) -> float:
        """When there is enough."""
        return self._at + (min(need, self._limit) - self._left) / self._rate

    def take(self, need: float, at: float) -> None:
        """It is sent then."""
        filled = min(self._limit, self._left + (at - self._at) * self._rate)
        self._left, self._at = filled - min(need, self._limit), at


_Limit = _Even | _Bucket


#: Before so many replies are known, a call is given FIRST seconds.
KNOWN = 16
FIRST = 10.0
LAST = 200
AT_LEAST = 1.0
TIMES = 10
STALL_TICK = 0.25


class CallInFlight:
    """A call under way: its task, when it was sent, and how often it stalled before."""

    __slots__ = ("cancelling", "since", "stalled", "stalls", "task")

    def __init__(self, task: asyncio.Task[object], since: float, stalls: int) -> None:
        self.task, self.since, self.stalls = task, since, stalls
        self.cancelling = task.cancelling()
        self.stalled = False


class StallDetector:
    """Watches calls under way, with one task for all, and cancels those that take too long.

    timeout: the most seconds for a call. first: the seconds for a call before much is known. clock: for tests.
    """

    def __init__(self, timeout: float, first: float = FIRST, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout, self._first, self._clock = timeout, first, clock
        self._calls: set[CallInFlight] = set()
        self._took: deque[float] = deque(maxlen=LAST)
        self._since_measured = 0
        self._base = first
        self.median = 0.0

    def began(self, stalls: int) -> CallInFlight:
        """A call of the running task is sent now."""
        task = asyncio.current_task()
        assert task is not None
        call = CallInFlight(task, self._clock(), stalls)
        self._calls.add(call)
        return call

    def ended(self, call: CallInFlight, *, answered: bool) -> None:
        """It ended, with an answer or not."""
        self._calls.discard(call)
        if answered:
            self.took(self._clock() - call.since)

    def was_stall(self, call: CallInFlight) -> bool:
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
        tick = min(STALL_TICK, self._timeout / 4)
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


START = 8
MOST = 256

#: The share of throttled replies in an epoch beyond which fewer calls are put side by side, and what is left of them.
TOO_MANY = 0.25
CUT = 0.7


class ConcurrencyLimiter:
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


class RetryScheduler:
    """Runs calls: within the slots, at the pace, with patience, and again where an attempt was in vain.

    server: as it is named to people. retries: how often calls were tried again, by reason.
    """

    def __init__(
        self,
        slots: ConcurrencyLimiter,
        pace: RateLimiter,
        patience: StallDetector,
        server: str,
        chance: Callable[[], float] = random.random,
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
            if not isinstance(done, ReplyError):
                return done
            counts[done.reason] += 1
            self.retries[done.reason] += 1
            await self._pause(self._wait(done, counts))

    async def _once(self, attempt: Callable[[], Awaitable[T]], tokens: int, counts: Counter[str]) -> T | ReplyError:
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
        trouble = done if isinstance(done, ReplyError) else None
        self._replied |= trouble is None
        if trouble is None or trouble.reason not in SILENCE:
            self._silent = 0
        self.slots.replied(throttled=trouble is not None and trouble.throttled)

    async def _sent(self, attempt: Callable[[], Awaitable[T]], call: CallInFlight) -> T | ReplyError:
        answered = False
        try:
            done = await attempt()
            answered = not isinstance(done, Fault)
            return done
        except ReplyError as trouble:
            return trouble
        except asyncio.CancelledError:
            if not self.patience.was_stall(call):
                raise
            seconds = self.patience.seconds(call.stalls)
            return ReplyError("timeout", f"{self._server}: no reply within {seconds:.3g} s", throttled=True)
        finally:
            self.patience.ended(call, answered=answered)

    def _wait(self, trouble: ReplyError, counts: Counter[str]) -> float:
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

    def _given_up(self, trouble: ReplyError, counts: Counter[str]) -> CallFailed:
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
