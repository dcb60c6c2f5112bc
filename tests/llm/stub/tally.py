"""What the stub counted."""

from __future__ import annotations

import time
from collections import Counter

import msgspec


class Tally(msgspec.Struct):
    """Counts since the start or the last reset.

    calls: requests to models, batches' lines included. statuses: HTTP status -> number; a call that got none is under
    "none". Characters (of message contents) and tokens are of calls answered with 200, which are those that cost.
    widest: most calls that were open side by side, stalled ones included. seconds: from the first arrival to the last
    reply. cpu: seconds of CPU of the stub itself.
    """

    calls: int = 0
    statuses: Counter[str] = msgspec.field(default_factory=Counter)
    faults: Counter[str] = msgspec.field(default_factory=Counter)
    paths: Counter[str] = msgspec.field(default_factory=Counter)
    prompt_characters: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    body_bytes: int = 0
    open: int = 0
    widest: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    began: float = 0.0

    def arrived(self, path: str, size: int) -> None:
        """A call came."""
        self.began = self.began or time.monotonic()
        self.calls += 1
        self.paths[path] += 1
        self.body_bytes += size
        self.open += 1
        self.widest = max(self.widest, self.open)

    def left(self, status: int | None) -> None:
        """A call was answered, or given up."""
        self.open -= 1
        self.statuses[str(status or "none")] += 1
        self.seconds = time.monotonic() - self.began
