"""Pace: when the next call may be sent, by the limits one was given and by what the server says."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from ragauge.judges.llm.wire.waits import Allowance, allowance

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


class Pace:
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
