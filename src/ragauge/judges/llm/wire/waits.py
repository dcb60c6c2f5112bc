"""Waits: how long a server asks to be left alone, and what it says is left of one's allowance.

Sources: RFC 9110 for Retry-After; the pages "Rate limits" of OpenAI, Groq and Anthropic for the other headers; Google's
`RetryInfo` in the body of an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_NUMBER = r"\d{1,15}(?:\.\d*)?"
_DURATION = re.compile(rf"({_NUMBER})(ms|h|m|s|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(%b)s"' % _NUMBER.encode())


class Allowance(NamedTuple):
    """What is left: units now, units when full, and seconds until it is full again."""

    left: float
    limit: float
    reset: float


def retry_after(headers: Mapping[str, str], body: bytes, now: datetime) -> float | None:
    """The seconds that a server asks to wait; None where it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("Retry-After")
    if said is None:
        delay = _RETRY_DELAY.search(body)
        return float(delay[1]) if delay else None
    seconds = _number(said)
    return seconds if seconds is not None else until(said, now)


def until(said: str, now: datetime) -> float | None:
    """Seconds until a time such as "6m0s", "17ms", "7.66", one of RFC 3339, or a date of HTTP; None for others."""
    seconds = _number(said)
    if seconds is not None:
        return seconds
    pieces = _DURATION.findall(said)
    if pieces and "".join(map("".join, pieces)) == said:
        return sum(float(number) * _SECONDS[unit] for number, unit in pieces)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = read(said)
        except (ValueError, OverflowError):
            continue
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max(0.0, (at - now).total_seconds())
    return None


def allowance(headers: Mapping[str, str], names: tuple[str, str, str], now: datetime) -> Allowance | None:
    """What is left by the headers of these names (left, limit, reset); None where they do not say."""
    left, limit = _number(headers.get(names[0])), _number(headers.get(names[1]))
    if left is None or limit is None or limit <= 0:
        return None
    reset = until(headers.get(names[2], ""), now)
    return None if reset is None else Allowance(min(left, limit), limit, reset)


def _number(said: str | None) -> float | None:
    """A count or a time that is a plain number, not below 0."""
    return float(said) if said is not None and re.fullmatch(_NUMBER, said) else None
