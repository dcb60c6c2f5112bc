"""Pace: calls and tokens spread over the minute, and what a server says is left of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.clock import Clock

from ragauge.judges.llm.transport.scheduler import RateLimiter


def test_requests_are_spread_over_the_minute() -> None:
    """At 60 a minute the calls that come at once are sent a second apart; a pause is not made up for in a burst."""
    clock = Clock()
    rate = RateLimiter(60, None, clock)
    assert [rate.book(0) for _ in range(4)] == [0, 1, 2, 3]
    clock.now += 100
    assert [rate.book(0) for _ in range(2)] == [0, 1]


def test_tokens_are_spread_over_the_minute() -> None:
    """At 6,000 tokens a minute a call of 200 keeps the next waiting 2 s; what it really took corrects that."""
    rate = RateLimiter(None, 6000, Clock())
    assert [rate.book(200) for _ in range(2)] == [0, 2]
    rate.correct(200, 100)
    assert rate.book(0) == pytest.approx(3)


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 500)), min_size=2, max_size=40))
def test_limits_are_kept_over_any_minute(calls: list[tuple[float, int]]) -> None:
    """However calls come, those sent between any two take no more than the minute's share of that time."""
    clock, sent = Clock(), []
    rate = RateLimiter(30, 1000, clock)
    for pause, tokens in calls:
        clock.now += pause
        sent.append((clock.now + rate.book(tokens), tokens))
    for first in range(len(sent)):
        for last in range(first + 1, len(sent)):
            seconds = sent[last][0] - sent[first][0]
            assert last - first <= 30 / 60 * seconds + 1e-6
            assert sum(tokens for _, tokens in sent[first:last]) <= 1000 / 60 * seconds + 1e-6


def test_nothing_is_sent_while_the_server_wants_to_be_left_alone() -> None:
    """A hold keeps all calls waiting, and the longest hold counts."""
    clock = Clock()
    rate = RateLimiter(None, None, clock)
    rate.hold(5)
    rate.hold(2)
    assert rate.book(0) == rate.hold_remaining() == 5
    clock.now += 6
    assert rate.book(0) == rate.hold_remaining() == 0
