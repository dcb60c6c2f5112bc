"""Interfaces of other systems: change one import of a program written for them, and get the same numbers."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import ragauge as rg


class BadInput(rg.BadParameter, ValueError, TypeError):
    """The input cannot be measured. Other systems raise a ValueError or a TypeError here, and this is both."""


class UndefinedScore(rg.UsageError, ZeroDivisionError):
    """There is nothing to count, where other systems divide by zero."""


@cache
def derived(ours: type, module: str, name: str, extra: str) -> Any:
    """A subclass of our class and another library's. Raises MissingExtra where that library is not installed."""
    try:
        theirs = getattr(import_module(module), name)
    except ImportError:
        raise rg.MissingExtra(ours.__module__, extra) from None
    return type(ours.__name__.strip("_"), (ours, theirs), {"__doc__": ours.__doc__, "__module__": ours.__module__})
