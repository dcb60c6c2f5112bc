"""Front doors for programs written for other systems: change one import, and get the same numbers."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import ragauge as rg


class BadInput(rg.BadParameter, ValueError, TypeError):
    """What cannot be measured; the systems raise a ValueError or a TypeError, and this is both."""


class UndefinedScore(rg.UsageError, ZeroDivisionError):
    """There is nothing to count; the systems divide by zero."""


@cache
def derived(ours: type, module: str, name: str, extra: str) -> Any:
    """A class of ours on top of another library's. Raises MissingExtra where that library is not installed."""
    try:
        theirs = getattr(import_module(module), name)
    except ImportError:
        raise rg.MissingExtra(ours.__module__, extra) from None
    return type(ours.__name__.strip("_"), (ours, theirs), {"__doc__": ours.__doc__, "__module__": ours.__module__})
