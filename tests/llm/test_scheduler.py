"""The flow of calls: what goes wrong is tried again, waited for, or ends all calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.llm.clock import Clock

from ragauge.judges.llm.messages import CallFailed
from ragauge.judges.llm.transport.scheduler import (
    MAX_UNANSWERED,
    RATE_RETRIES,
    RETRIES,
    ConcurrencyLimiter,
    Latencies,
    RateLimiter,
    RetryScheduler,
)
from ragauge.judges.llm.transport.session import ReplyError
from ragauge.types import Failure


def _scheduler(
    concurrency: ConcurrencyLimiter | None = None, latencies: Latencies | None = None, rate: RateLimiter | None = None
) -> RetryScheduler:
    return RetryScheduler(
        concurrency or ConcurrencyLimiter(fixed=2),
        rate or RateLimiter(None, None),
        latencies or Latencies(120),
        "m",
        random=lambda: 0.0,
    )


def _failing(times: int, reason: str = "server_error", **more: Any) -> Callable[[], Awaitable[str]]:
    """An attempt that fails so often, then answers."""
    left = iter(range(times))

    async def attempt() -> str:
        if next(left, None) is not None:
            raise ReplyError(reason, f"it was {reason}", **more)
        return "answer"

    return attempt


@pytest.mark.parametrize(("reason", "most"), [("server_error", RETRIES), ("rate_limited", RATE_RETRIES)])
def test_calls_are_tried_again(reason: str, most: int) -> None:
    """A call is tried again so often, more often where it was throttled by rate, and then fails with the reason."""
    scheduler = _scheduler()
    assert asyncio.run(scheduler.scheduled(_failing(most, reason))) == "answer"
    assert scheduler.retries == {reason: most}
    with pytest.raises(CallFailed) as failed:
        asyncio.run(_scheduler().scheduled(_failing(most + 1, reason)))
    assert failed.value.failure == Failure(reason, f"it was {reason} (tried {most + 1} times)")
    assert not failed.value.fatal


def test_a_waiting_call_holds_no_slot() -> None:
    """While a call waits to be tried again, another has its slot."""

    async def main() -> list[str]:
        scheduler, done = _scheduler(ConcurrencyLimiter(fixed=1)), []

        async def call(attempt: Callable[[], Awaitable[str]], name: str) -> None:
            await scheduler.scheduled(attempt)
            done.append(name)

        await asyncio.gather(call(_failing(1, wait=0.05), "troubled"), call(_failing(0), "other"))
        return done

    assert asyncio.run(main()) == ["other", "troubled"]


def test_a_wait_about_rate_holds_all_calls() -> None:
    """With Retry-After a 429 holds every call; any other status holds its own call alone."""
    for reason, held in (("rate_limited", True), ("server_error", False)):
        clock = Clock()
        scheduler = _scheduler(rate=RateLimiter(None, None, clock))
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(scheduler.scheduled(_failing(1, reason, wait=30)), 0.01))
        assert scheduler.rate.hold_remaining() == (30 if held else 0)


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    """A wait beyond ten minutes ends the call and all others at once."""
    scheduler = _scheduler()
    for attempt in (_failing(1, "rate_limited", wait=3600), _failing(0)):
        with pytest.raises(CallFailed, match="asks to wait 3600 s") as failed:
            asyncio.run(scheduler.scheduled(attempt))
        assert failed.value.fatal


def test_a_server_that_nobody_reaches_ends_the_run() -> None:
    """Where no call was ever answered, one that is unreachable to the last try is fatal; else it fails alone."""
    scheduler = _scheduler()
    with pytest.raises(CallFailed) as failed:
        asyncio.run(scheduler.scheduled(_failing(99, "unreachable")))
    assert failed.value.fatal
    scheduler.restart()
    assert asyncio.run(scheduler.scheduled(_failing(0))) == "answer"
    with pytest.raises(CallFailed) as failed:
        asyncio.run(scheduler.scheduled(_failing(99, "unreachable")))
    assert not failed.value.fatal


def test_a_server_that_stops_answering_ends_the_run() -> None:
    """Many calls in a row that time out to their last try end all others; any word in between, and they count anew."""
    scheduler = _scheduler()
    assert asyncio.run(scheduler.scheduled(_failing(0))) == "answer"
    reported: list[CallFailed] = []
    for reason in ("timeout", "reply_too_large", *["timeout"] * (MAX_UNANSWERED + 1)):
        with pytest.raises(CallFailed) as failed:
            asyncio.run(scheduler.scheduled(_failing(99, reason)))
        reported.append(failed.value)
    assert [failed.fatal for failed in reported] == [False] * (MAX_UNANSWERED + 1) + [True] * 2
    assert "it stopped answering" in reported[-1].failure.detail
    assert [failed.sent for failed in reported] == [True] * (MAX_UNANSWERED + 2) + [False]


def test_after_the_end_calls_fail_at_once() -> None:
    """Once it is over, calls fail with the same failure without an attempt, also those that wait for a slot."""

    async def main() -> tuple[list[Any], int]:
        scheduler, attempts = _scheduler(ConcurrencyLimiter(fixed=1)), 0

        async def attempt() -> None:
            nonlocal attempts
            attempts += 1
            await asyncio.sleep(0)
            scheduler.stop(Failure("quota"))
            raise CallFailed(Failure("quota"), fatal=True)

        return await asyncio.gather(*(scheduler.scheduled(attempt) for _ in range(5)), return_exceptions=True), attempts

    ended, attempts = asyncio.run(main())
    assert attempts == 1
    assert all(isinstance(one, CallFailed) and one.fatal and one.failure == Failure("quota") for one in ended)
    assert [one.sent for one in ended] == [True, False, False, False, False]


async def _forever() -> None:
    await asyncio.sleep(3600)


def test_a_stalled_call_is_tried_again() -> None:
    """A call that takes too long is cancelled and tried again; when it never answers it fails with "timeout"."""
    scheduler = _scheduler(latencies=Latencies(0.01))
    with pytest.raises(CallFailed) as failed:
        asyncio.run(scheduler.scheduled(_forever))
    assert failed.value.failure == Failure("timeout", "m: no reply within 0.01 s (tried 7 times)")
    assert scheduler.retries == {"timeout": RETRIES}
    assert scheduler.concurrency.busy == 0


def test_the_clock_starts_when_a_call_is_sent() -> None:
    """A call that waits for its slot does not stall meanwhile."""
    scheduler = _scheduler(ConcurrencyLimiter(fixed=1), Latencies(0.05))

    async def main() -> Any:
        await scheduler.concurrency.acquire()
        call = asyncio.create_task(scheduler.scheduled(_failing(0)))
        await asyncio.sleep(0.2)
        scheduler.concurrency.release()
        return await call

    assert asyncio.run(main()) == "answer"
    assert not scheduler.retries


def test_a_loop_that_was_busy_is_not_held_against_the_calls() -> None:
    """When the event loop itself is blocked for longer than the timeout, the reply still counts."""
    scheduler = _scheduler(latencies=Latencies(1.5))

    async def attempt() -> str:
        await asyncio.sleep(0.01)
        time.sleep(1.6)
        await asyncio.sleep(0.01)
        return "answer"

    assert asyncio.run(scheduler.scheduled(attempt)) == "answer"
    assert not scheduler.retries


def test_cancellation_from_outside_is_passed_on() -> None:
    """A call that is cancelled from outside, or by a timeout around it, ends so, and frees its slot."""
    scheduler, ended = _scheduler(), []

    async def attempt() -> None:
        try:
            await _forever()
        finally:
            ended.append(True)

    async def main() -> None:
        async with asyncio.timeout(0.01):
            await scheduler.scheduled(attempt)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert ended
    assert scheduler.concurrency.busy == 0
    assert not scheduler.retries


def test_an_exception_of_the_attempt_is_passed_on() -> None:
    """What is no trouble of the server's is not tried again, and frees its slot."""
    scheduler = _scheduler()

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(scheduler.scheduled(broken))
    assert scheduler.concurrency.busy == 0


def test_waits_are_drawn_from_a_range_that_doubles() -> None:
    """The wait before a retry is drawn from 0 to the median latency, doubled with each try, up to 30 s."""
    latencies = Latencies(120)
    for _ in range(16):
        latencies.add(2.0)
    scheduler = RetryScheduler(ConcurrencyLimiter(), RateLimiter(None, None), latencies, "m", random=lambda: 1.0)
    counts = type(scheduler.retries)()
    waits = []
    for _ in range(6):
        waits.append(scheduler._backoff(ReplyError("server_error", ""), counts))
    assert waits == [2, 4, 8, 16, 30, 30]
