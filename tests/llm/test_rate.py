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


@pytest.mark.parametrize("prefix", ["x-ratelimit-{what}-requests", "anthropic-ratelimit-requests-{what}"])
def test_what_the_server_says_is_left(prefix: str) -> None:
    """With 1 of 10 requests left and 9 s until there are 10, one call is sent at once and the others a second apart."""
    clock = Clock()
    rate = RateLimiter(None, None, clock)
    reply = {"remaining": "1", "limit": "10", "reset": "9"}
    rate.update({prefix.format(what=what): value for what, value in reply.items()})
    assert [rate.book(0) for _ in range(3)] == pytest.approx([0, 1, 2])
    clock.now += 60
    assert rate.book(0) == 0
    rate.update({})
    assert rate.book(0) == 0


def test_tokens_that_are_left() -> None:
    """A call that needs more tokens than are left waits for their share; one beyond the whole limit waits for all."""
    rate = RateLimiter(None, None, Clock())
    headers = {"remaining": "0", "limit": "1000", "reset": "10s"}
    rate.update({f"x-ratelimit-{what}-tokens": value for what, value in headers.items()})
    assert rate.book(100) == pytest.approx(1)
    assert rate.book(10**6) == pytest.approx(11)


def test_plenty_left_is_no_limit() -> None:
    """While more than half is left the server's limits change nothing."""
    rate = RateLimiter(None, None, Clock())
    rate.update(
        {"x-ratelimit-remaining-requests": "6", "x-ratelimit-limit-requests": "10", "x-ratelimit-reset-requests": "1h"}
    )
    assert [rate.book(0) for _ in range(20)] == [0] * 20


_NAMES = [
    f"{family}-{kind}-{what}" if family.startswith("a") else f"{family}-{what}-{kind}"
    for family in ("x-ratelimit", "anthropic-ratelimit")
    for kind in ("requests", "tokens")
    for what in ("remaining", "limit", "reset")
]
_VALUES = st.one_of(st.text(max_size=40), st.from_regex(r"[0-9]{0,30}(\.[0-9]{0,320})?(ms|[smhd])?", fullmatch=True))


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(_NAMES, _VALUES)), min_size=1, max_size=3), st.integers(0, 10**9))
def test_no_headers_break_the_rate_limiter(replies: list[dict[str, str]], tokens: int) -> None:
    """Whatever the rate-limit headers say, the wait for the next call is a number, at least 0."""
    rate = RateLimiter(None, None, Clock())
    for headers in replies:
        rate.update(headers)
        asked = rate.server_delay(tokens)
        assert 0 <= asked <= rate.book(tokens) * (1 + 1e-9) + 1e-6


def test_a_queue_is_no_long_wait() -> None:
    """Of calls a second apart each is asked to wait a second, however many are booked before it."""
    rate = RateLimiter(None, None, Clock())
    reply = {"remaining": "0", "limit": "9", "reset": "9"}
    rate.update({f"x-ratelimit-{what}-requests": value for what, value in reply.items()})
    assert [rate.book(0) for _ in range(1000)][-1] == pytest.approx(1000)
    assert rate.server_delay(0) == pytest.approx(1)
