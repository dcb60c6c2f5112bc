"""Limits on requests and tokens a minute, and the headers that tell of them."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta

_PLENTY = 10**9


class Bucket:
    """An allowance that fills up again at a steady rate. full: what it holds when nothing was taken for a while."""

    def __init__(self, per_minute: int | None, burst: float) -> None:
        self.per_minute = per_minute or _PLENTY
        self._rate = self.per_minute / 60
        self._full = max(self._rate * burst, 1)
        self._left = self._full
        self._at = time.monotonic()

    def left(self) -> float:
        """What may be taken now; less than nothing after a large call."""
        now = time.monotonic()
        self._left = min(self._full, self._left + (now - self._at) * self._rate)
        self._at = now
        return self._left

    def take(self, amount: float) -> None:
        """Take an amount, even where that is more than is left."""
        self._left = self.left() - amount

    @property
    def wait(self) -> float:
        """Seconds until one may be taken."""
        return max(0.0, (1 - self.left()) / self._rate)


class Limits:
    """Requests and tokens a minute."""

    def __init__(self, rpm: int | None, tpm: int | None, burst: float) -> None:
        self._on = bool(rpm or tpm)
        self._requests = Bucket(rpm, burst)
        self._tokens = Bucket(tpm, burst)

    def wait(self) -> float:
        """Seconds that a call must wait; 0 where it may pass, and is then counted."""
        wait = max(self._requests.wait, self._tokens.wait) if self._on else 0.0
        if self._on and not wait:
            self._requests.take(1)
        return wait

    def spend(self, tokens: int) -> None:
        """Count the tokens of a call."""
        if self._on:
            self._tokens.take(tokens)

    def headers(self, anthropic: bool) -> dict[str, str]:
        """What is left, as OpenAI or Anthropic tell it; nothing where there are no limits."""
        if not self._on:
            return {}
        reply: dict[str, str] = {}
        for name, bucket in (("requests", self._requests), ("tokens", self._tokens)):
            left = str(max(0, int(bucket.left())))
            if anthropic:
                reset = (datetime.now(UTC) + timedelta(seconds=bucket.wait)).isoformat(timespec="seconds")
                reply |= {f"anthropic-ratelimit-{name}-limit": str(bucket.per_minute)}
                reply |= {f"anthropic-ratelimit-{name}-remaining": left, f"anthropic-ratelimit-{name}-reset": reset}
            else:
                reply |= {f"x-ratelimit-limit-{name}": str(bucket.per_minute), f"x-ratelimit-remaining-{name}": left}
                reply |= {f"x-ratelimit-reset-{name}": f"{math.ceil(bucket.wait * 1000)}ms"}
        return reply
