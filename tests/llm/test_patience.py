"""Patience: how long a call is waited for."""

from __future__ import annotations

import asyncio

from tests.llm.clock import Clock

from ragauge.judges.llm.transport.scheduler import StallDetector


def test_patience_follows_the_replies() -> None:
    """A call is given 10 s, then ten times what 95 % of replies took, at least a second; each stall doubles it."""
    patience = StallDetector(timeout=120)
    assert [patience.seconds(retries) for retries in range(5)] == [10, 20, 40, 80, 120]
    for _ in range(15):
        patience.took(0.01)
    assert patience.seconds(0) == 10
    patience.took(0.01)
    assert patience.seconds(0) == 1
    assert patience.median == 0.01
    for _ in range(200):
        patience.took(0.5)
    assert patience.seconds(0) == 5
    assert patience.seconds(9) == 120


def test_a_slow_server_is_given_more_time() -> None:
    """Before much is known the slowest reply counts; a timeout bounds everything; slow servers get all of it."""
    patience = StallDetector(timeout=60)
    patience.took(3)
    assert patience.seconds(0) == 30
    assert StallDetector(timeout=2).seconds(0) == 2
    assert StallDetector(timeout=60, first=60).seconds(0) == 60


def test_a_loop_that_was_busy_is_not_held_against_the_calls() -> None:
    """When the event loop itself slept longer than a tick, the calls are given that time in addition."""
    clock = Clock()
    patience = StallDetector(1.0, clock=clock)

    async def main() -> bool:
        call = patience.began(0)
        watch = asyncio.create_task(patience.watch())
        await asyncio.sleep(0)
        clock.now += 50
        await asyncio.sleep(0.3)
        watch.cancel()
        patience.ended(call, answered=False)
        return call.stalled

    assert not asyncio.run(main())
