"""Concurrency: how many calls are in flight at once, learned from the replies."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.llm.transport.scheduler import ConcurrencyLimiter


def _epochs(limiter: ConcurrencyLimiter, *throttled: float, reached: bool = True) -> list[int]:
    """The limit after epochs of which these shares were throttled."""
    limits = []
    for share in throttled:
        limiter._reached = reached
        replies = limiter.limit
        for number in range(replies):
            limiter.count_reply(throttled=number < share * replies)
        limits.append(limiter.limit)
    return limits


def test_slots_double_while_the_server_answers() -> None:
    """From 8 the limit doubles with each epoch that is used up, to 256 at most, or to what the provider bears."""
    assert _epochs(ConcurrencyLimiter(), *[0] * 6) == [16, 32, 64, 128, 256, 256]
    assert _epochs(ConcurrencyLimiter(maximum=4), 0) == [4]


def test_slots_do_not_collapse_at_random_throttling() -> None:
    """A tenth, even a quarter of throttled replies does not cut the limit."""
    assert _epochs(ConcurrencyLimiter(), 0.1, 0.25, 0.1) == [16, 32, 64]


def test_slots_are_cut_where_the_server_is_asked_too_much() -> None:
    """Beyond a quarter the limit falls to 0.7 of itself, at least 1, and grows by a sixteenth from then on."""
    limiter = ConcurrencyLimiter()
    assert _epochs(limiter, 0, 0, 0, 0.5, 0, 0) == [16, 32, 64, 44, 46, 48]
    assert _epochs(limiter, *[1] * 20)[-1] == 1
    assert _epochs(limiter, 0, 0) == [2, 3]


def test_slots_that_are_not_reached_do_not_grow() -> None:
    """A limit that nobody waited for stays."""
    assert _epochs(ConcurrencyLimiter(), 0, 0, reached=False) == [8, 8]


def test_a_fixed_number_of_slots_stays() -> None:
    """With a fixed concurrency neither answers nor throttling change the limit."""
    assert _epochs(ConcurrencyLimiter(fixed=5), 0, 1, 1, 0) == [5, 5, 5, 5]


@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30))
def test_slots_are_never_lost_or_exceeded(fixed: int, calls: list[tuple[int, int]]) -> None:
    """However long calls hold their limiter, and whenever some are cancelled, all slots are free in the end."""
    limiter = ConcurrencyLimiter(fixed=fixed)
    most = 0

    async def call(steps: int) -> None:
        nonlocal most
        await limiter.acquire(first=steps % 2 == 1)
        most = max(most, limiter.busy)
        try:
            for _ in range(steps):
                await asyncio.sleep(0)
        finally:
            limiter.release()

    async def main() -> None:
        tasks = [asyncio.create_task(call(steps)) for steps, _ in calls]
        for moment in range(10):
            await asyncio.sleep(0)
            for task, (_, cancelled) in zip(tasks, calls, strict=True):
                if cancelled == moment:
                    task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    assert limiter.busy == 0
    assert most <= fixed


def test_a_freed_slot_goes_to_the_next_at_once() -> None:
    """A slot that is given back is the next one's at once, retries first; a call that is cancelled hands it on."""

    async def main() -> list[str]:
        limiter, order = ConcurrencyLimiter(fixed=1), []

        async def call(name: str, *, first: bool = False) -> None:
            await limiter.acquire(first=first)
            order.append(name)
            limiter.release()

        await limiter.acquire()
        tasks = [asyncio.create_task(call(name)) for name in ("a", "b", "c")]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(call("again", first=True)))
        await asyncio.sleep(0)
        limiter.release()
        assert limiter.busy == 1
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert limiter.busy == 0
        return order

    assert asyncio.run(main()) == ["a", "b", "c"]
