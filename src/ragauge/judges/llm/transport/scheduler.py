"""The scheduler of calls to one server: concurrency, rate limits, retries and stalled calls.

Sources: RFC 9110 for Retry-After; Google's `RetryInfo` in the body of an error.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from statistics import median
from typing import TypeVar

from ragauge.host import LOG
from ragauge.judges.llm.messages import CallFailed
from ragauge.judges.llm.transport.session import Fault, ReplyError
from ragauge.types import Failure

_NUMBER = r"\d{1,15}(?:\.\d*)?"
_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(%b)s"' % _NUMBER.encode())


def retry_after(headers: Mapping[str, str], body: bytes, now: datetime) -> float | None:
    """The seconds that a server asks to wait; None where it names none."""
    milliseconds = headers.get("retry-after-ms", "")
    if re.fullmatch(_NUMBER, milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("Retry-After")
    if value is None:
        delay = _RETRY_DELAY.search(body)
        return float(delay[1]) if delay else None
    if re.fullmatch(_NUMBER, value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


class RateLimiter:
    """Spreads calls evenly over the minute, by requests and by tokens, and holds them where the server asks for it.

    requests, tokens: per minute; None for no limit. clock: seconds, for tests.
    """

    def __init__(
        self, requests: float | None, tokens: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._intervals = [60 / per_minute if per_minute else 0.0 for per_minute in (requests, tokens)]
        self._free_at = [0.0, 0.0]
        self._hold_until = 0.0

    def book(self, tokens: int) -> float:
        """The seconds until a call of this many tokens may be sent; it counts as sent then."""
        now = self._clock()
        start = max(now, self._hold_until, *self._free_at)
        self._free_at = [start + interval * need for interval, need in zip(self._intervals, (1, tokens), strict=True)]
        return start - now

    def hold_remaining(self) -> float:
        """The seconds for which nothing may be sent at all."""
        return max(0.0, self._hold_until - self._clock())

    def hold(self, seconds: float) -> None:
        """Send nothing for this long."""
        self._hold_until = max(self._hold_until, self._clock() + seconds)

    def correct(self, expected: int, tokens: int) -> None:
        """Replace the expected tokens of a call by those that it took."""
        self._free_at[1] += self._intervals[1] * (tokens - expected)


#: Seconds, counts and a factor: calls have FIRST_TIMEOUT until MIN_LATENCIES are known, then a multiple of latencies.
MIN_LATENCIES = 16
FIRST_TIMEOUT = 10.0
MAX_LATENCIES = 200
MIN_TIMEOUT = 1.0
TIMEOUT_FACTOR = 10


class Latencies:
    """How long replies take, and from that, how long a call may take.

    timeout: the most seconds for a call. first: those until enough latencies are known.
    """

    def __init__(self, timeout: float, first: float = FIRST_TIMEOUT) -> None:
        self._timeout, self._first = timeout, first
        self._seconds: deque[float] = deque(maxlen=MAX_LATENCIES)
        self._since_measured = 0
        self._base = first
        self.median = 0.0

    def add(self, seconds: float) -> None:
        """Count the latency of a reply."""
        self._seconds.append(seconds)
        self._since_measured += 1
        if len(self._seconds) > MIN_LATENCIES and self._since_measured < MIN_LATENCIES:
            return
        self._since_measured = 0
        ordered = sorted(self._seconds)
        self.median = median(ordered)
        if len(ordered) < MIN_LATENCIES:
            self._base = max(self._first, TIMEOUT_FACTOR * ordered[-1])
        else:
            self._base = max(MIN_TIMEOUT, TIMEOUT_FACTOR * ordered[int(0.95 * (len(ordered) - 1))])

    def timeout(self, stalls: int) -> float:
        """The seconds that a call may take; twice as many each time that it stalled before."""
        return min(self._timeout, min(self._timeout, self._base) * 2.0**stalls)


INITIAL_LIMIT = 8
MAX_LIMIT = 256

#: The share of throttled replies in an epoch above which the limit falls, and the factor by which it falls.
THROTTLED_SHARE = 0.25
DECREASE = 0.7


class ConcurrencyLimiter:
    """Hands out slots in order; a slot that is released goes to the next waiter at once.

    Without `fixed` the limit adapts by epochs of as many replies as there are slots: it doubles while the server keeps
    up, falls to 0.7 of itself when more than a quarter of an epoch was throttled, and from then on grows by one
    sixteenth at a time. A limit that was not reached does not grow.
    """

    def __init__(self, fixed: int | None = None, maximum: int = MAX_LIMIT) -> None:
        self.limit = fixed or min(INITIAL_LIMIT, maximum)
        self.busy = 0
        self._maximum = maximum
        self._adapts = fixed is None
        self._doubles = True
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._replies = self._throttled = 0
        self._reached = False

    async def acquire(self, *, first: bool = False) -> None:
        """Wait for a slot; `first` goes before those that wait already."""
        if self.busy < self.limit and not self._waiters:
            self.busy += 1
            return
        self._reached = True
        waiter = asyncio.get_running_loop().create_future()
        (self._waiters.appendleft if first else self._waiters.append)(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back."""
        self.busy -= 1
        while self._waiters and self.busy < self.limit:
            waiter = self._waiters.popleft()
            if not waiter.done():
                self.busy += 1
                waiter.set_result(None)

    def count_reply(self, *, throttled: bool) -> None:
        """Count a reply, before its slot is released."""
        if not self._adapts:
            return
        self._replies += 1
        self._throttled += throttled
        if self._replies < self.limit:
            return
        if self._throttled > THROTTLED_SHARE * self._replies:
            self._doubles = False
            self.limit = max(1, int(self.limit * DECREASE))
        elif self._reached:
            increase = self.limit if self._doubles else max(1, self.limit // 16)
            self.limit = min(self._maximum, self.limit + increase)
        self._replies = self._throttled = 0
        self._reached = bool(self._waiters)


T = TypeVar("T")

#: How often a call is tried again: after rate limits, and after anything else.
RATE_RETRIES = 12
RETRIES = 6

#: So many attempts in a row without a valid reply are an outage, if they are of as many calls, or of as many as there
#: are slots. Seconds: the waits of all calls in which it may end. Else a server is given up after so many calls.
OUTAGE_ATTEMPTS = 8
OUTAGE_WAITS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
MAX_UNANSWERED = 16
NO_REPLY_REASONS = frozenset({"server_error", "timeout", "unreachable"})
_STOPPED_ANSWERING = "; it stopped answering: check that it runs, and run again, what is answered is kept"

#: Seconds: the range from which a wait before a retry is drawn, and the longest wait that a server may ask for.
MIN_BACKOFF = 0.05
MAX_BACKOFF = 30.0
MAX_RETRY_AFTER = 600.0

#: Seconds: the longest wait that is not announced, the interval of announcements, and how soon the end of a wait shows.
QUIET_WAIT = 30.0
REMINDER = 60.0
TICK = 1.0


class RetryScheduler:
    """Runs calls within the limits of concurrency and rate, and retries attempts that may succeed later.

    server: its name in messages. retries: how often calls were tried again, by reason. replied: whether a call ever had
    a valid reply. longest_wait: seconds that a call had to wait since the start.
    """

    def __init__(
        self,
        concurrency: ConcurrencyLimiter,
        rate: RateLimiter,
        latencies: Latencies,
        server: str,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.concurrency, self.rate, self.latencies = concurrency, rate, latencies
        self.retries: Counter[str] = Counter()
        self._server, self._random = server, random
        self.longest_wait = 0.0
        self._announced_at = -REMINDER
        self._stopped: Failure | None = None
        self.replied = False
        self._numbers = count()
        self._outage_waits = 0
        self._unanswered: Counter[int] = Counter()  # attempts in a row without a valid reply, by call

    def restart(self) -> None:
        """Forget that it was stopped, and what was counted."""
        self._stopped, self.longest_wait, self._outage_waits = None, 0.0, 0
        self._unanswered.clear()
        self.retries.clear()

    def stop(self, failure: Failure) -> None:
        """Let all further calls fail at once."""
        self._stopped = failure

    def end(self, error: ReplyError, fix: str) -> CallFailed:
        """The error of a call after which all further calls fail."""
        self.stop(Failure(error.reason, error.detail + fix))
        return CallFailed(Failure(error.reason, error.detail + fix), fatal=True)

    async def scheduled(
        self, attempt: Callable[[], Awaitable[T]], tokens: int = 0, counts: Counter[str] | None = None
    ) -> T:
        """The result of `attempt`, which raises ReplyError where it may be repeated; no slot is held meanwhile.

        tokens: what the call will take of the tokens per minute. counts: of the errors, by reason, which is added to.
        Raises CallFailed once the attempts are used up, or no call can succeed any more.
        """
        counts = Counter() if counts is None else counts
        number, sent = next(self._numbers), False
        while True:
            try:
                await self._wait_for_turn(tokens, sent=sent)
            except asyncio.CancelledError as cancelled:
                raise cancelled if sent else asyncio.CancelledError(CallFailed.NOT_SENT) from None
            sent = True
            start = time.monotonic()
            result: T | ReplyError | None = None
            try:
                result = await self._attempted(attempt, self.latencies.timeout(counts["timeout"]))
            except ReplyError as error:
                result = error
            finally:
                if result is not None:
                    self._count(result, number, time.monotonic() - start)
                self.concurrency.release()
            if not isinstance(result, ReplyError):
                return result
            backoff = self._backoff(result, counts)
            self.retries[result.reason] += 1
            await self._pause(backoff)

    async def _attempted(self, attempt: Callable[[], Awaitable[T]], seconds: float) -> T:
        """The result of an attempt. Raises ReplyError where it takes too long.

        Time in which the event loop itself was blocked does not count: a reply may have come meanwhile.
        """
        task = asyncio.ensure_future(attempt())
        left, tick = seconds, min(TICK, seconds / 4)
        try:
            while left > 0:
                start = time.monotonic()
                await asyncio.wait({task}, timeout=tick)
                if task.done():
                    return task.result()
                waited = time.monotonic() - start
                left -= waited if waited < 2 * tick else 0.0
            raise ReplyError("timeout", f"{self._server}: no reply within {seconds:.3g} s", throttled=True)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _count(self, result: object, number: int, seconds: float) -> None:
        """Count a call's reply, or error, towards the limit of concurrency and whether the server is up."""
        failed = result if isinstance(result, ReplyError) else None
        if not isinstance(result, Fault | ReplyError):
            self.latencies.add(seconds)
        self.replied |= failed is None
        if failed is not None and failed.reason in NO_REPLY_REASONS:
            self._unanswered[number] += 1
        else:
            self._outage_waits = 0
            self._unanswered.clear()
        self.concurrency.count_reply(throttled=failed is not None and failed.throttled)

    async def _wait_for_turn(self, tokens: int, *, sent: bool) -> None:
        """Take a slot, and wait until a call may be sent. Raises CallFailed where none may be."""
        await self.concurrency.acquire(first=sent)
        try:
            wait = self.rate.book(tokens) if self._stopped is None else 0.0
            while wait > 0 and self._stopped is None:
                await self._pause(wait)
                wait = self.rate.hold_remaining()
            if self._stopped is not None:
                raise CallFailed(self._stopped, fatal=True, sent=sent)
        except BaseException:
            self.concurrency.release()
            raise

    async def _pause(self, seconds: float) -> None:
        """Wait, unless stopped before; a long wait is announced."""
        self.longest_wait = max(self.longest_wait, seconds)
        now = time.monotonic()
        until = now + seconds
        while True:
            if until - now > QUIET_WAIT and now - self._announced_at > REMINDER:
                self._announced_at = now
                LOG.warning("waiting %.0f s for %s", until - now, self._server)
            await asyncio.sleep(max(0.0, min(until - now, TICK)))
            now = time.monotonic()
            if now >= until or self._stopped is not None:
                return

    def _backoff(self, error: ReplyError, counts: Counter[str]) -> float:
        """The seconds before a call is tried again, which is counted. Raises CallFailed where it is not."""
        if error.wait is not None and error.wait > MAX_RETRY_AFTER:
            raise self.end(error, f"; it asks to wait {error.wait:.0f} s: run again then, what is answered is kept")
        never = error.reason == "unreachable" and not self.replied
        many = len(self._unanswered) >= min(OUTAGE_ATTEMPTS, self.concurrency.limit)
        outage = many and self._unanswered.total() >= OUTAGE_ATTEMPTS
        if outage and not never and error.reason != "timeout":  # each timeout is longer than the last
            self._wait_out(error)
            return error.wait or 0.0
        counts[error.reason] += 1
        rate = counts["rate_limited"]
        if rate > RATE_RETRIES or counts.total() - rate > RETRIES:
            tried = f" (tried {counts.total()} times)"
            if never:
                raise self.end(error, f"{tried}; check that it runs, and its address (base_url=URL)")
            raise self._given_up(error, tried)
        base = max(MIN_BACKOFF, self.latencies.median)
        backoff = self._random() * min(MAX_BACKOFF, base * 2.0 ** (counts[error.reason] - 1))
        if error.wait is None:
            return backoff
        if error.reason == "rate_limited":
            self.rate.hold(error.wait)
        return error.wait + backoff

    def _given_up(self, error: ReplyError, tried: str) -> CallFailed:
        """The error of a call that was tried for long; it ends all calls where many others in a row had no reply."""
        if len(self._unanswered) >= MAX_UNANSWERED:
            return self.end(error, tried + _STOPPED_ANSWERING)
        return CallFailed(Failure(error.reason, error.detail + tried))

    def _wait_out(self, error: ReplyError) -> None:
        """Let all calls wait for the end of an outage. Raises CallFailed where it lasts on."""
        if self.rate.hold_remaining():
            return
        if self._outage_waits == len(OUTAGE_WAITS):
            raise self._given_up(error, " (no reply to any call for about a minute)")
        seconds = max(OUTAGE_WAITS[self._outage_waits], error.wait or 0.0)
        self._outage_waits += 1
        self.rate.hold(seconds)
        LOG.warning("%s; all calls wait %.0f s", error.detail, seconds)
