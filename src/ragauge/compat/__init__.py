"""Front doors for programs written for other systems: change one import, and get the same numbers."""

from __future__ import annotations

import ragauge as rg


class BadInput(rg.BadParameter, ValueError, TypeError):
    """What cannot be measured; the systems raise a ValueError or a TypeError, and this is both."""


class UndefinedScore(rg.UsageError, ZeroDivisionError):
    """There is nothing to count; the systems divide by zero."""
