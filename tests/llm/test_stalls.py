"""Stalls: how long a call may take before it is cancelled."""

from __future__ import annotations

from ragauge.judges.llm.transport.scheduler import Latencies


def test_the_timeout_follows_the_replies() -> None:
    """A call is given 10 s, then ten times what 95 % of replies took, at least a second; each stall doubles it."""
    latencies = Latencies(timeout=120)
    assert [latencies.timeout(retries) for retries in range(5)] == [10, 20, 40, 80, 120]
    for _ in range(15):
        latencies.add(0.01)
    assert latencies.timeout(0) == 10
    latencies.add(0.01)
    assert latencies.timeout(0) == 1
    assert latencies.median == 0.01
    for _ in range(200):
        latencies.add(0.5)
    assert latencies.timeout(0) == 5
    assert latencies.timeout(9) == 120


def test_a_slow_server_is_given_more_time() -> None:
    """Before much is known the slowest reply counts; a timeout bounds everything; slow servers get all of it."""
    latencies = Latencies(timeout=60)
    latencies.add(3)
    assert latencies.timeout(0) == 30
    assert Latencies(timeout=2).timeout(0) == 2
    assert Latencies(timeout=60, first=60).timeout(0) == 60
