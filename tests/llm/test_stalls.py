"""Stalls: how long a call may take before it is cancelled."""

from __future__ import annotations

import asyncio

from tests.llm.clock import Clock

from ragauge.judges.llm.transport.scheduler import StallDetector


def test_the_timeout_follows_the_replies() -> None:
    """A call is given 10 s, then ten times what 95 % of replies took, at least a second; each stall doubles it."""
    stalls = StallDetector(timeout=120)
    assert [stalls.timeout(retries) for retries in range(5)] == [10, 20, 40, 80, 120]
    for _ in range(15):
        stalls.add_latency(0.01)
    assert stalls.timeout(0) == 10
    stalls.add_latency(0.01)
    assert stalls.timeout(0) == 1
    assert stalls.median == 0.01
    for _ in range(200):
        stalls.add_latency(0.5)
    assert stalls.timeout(0) == 5
    assert stalls.timeout(9) == 120


def test_a_slow_server_is_given_more_time() -> None:
    """Before much is known the slowest reply counts; a timeout bounds everything; slow servers get all of it."""
    stalls = StallDetector(timeout=60)
    stalls.add_latency(3)
    assert stalls.timeout(0) == 30
    assert StallDetector(timeout=2).timeout(0) == 2
    assert StallDetector(timeout=60, first=60).timeout(0) == 60


def test_a_loop_that_was_busy_is_not_held_against_the_calls() -> None:
    """When the event loop itself slept longer than a tick, the calls are given that time in addition."""
    clock = Clock()
    stalls = StallDetector(1.0, clock=clock)

    async def main() -> bool:
        call = stalls.start(0)
        watch = asyncio.create_task(stalls.watch())
        await asyncio.sleep(0)
        clock.now += 50
        await asyncio.sleep(0.3)
        watch.cancel()
        stalls.finish(call, answered=False)
        return call.stalled

    assert not asyncio.run(main())
