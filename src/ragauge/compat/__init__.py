"""Interfaces of other systems: change one import of a program written for them, and get the same numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import ragauge as rg


class BadInput(rg.BadParameter, ValueError, TypeError):
    """The input cannot be measured. Other systems raise a ValueError or a TypeError here, and this is both."""


class NotOffered(rg.UsageError, ImportError):
    """A name of another system that its front door lacks; the message says what to use instead."""

    def __init__(self, module: str, name: str, instead: str) -> None:
        super().__init__(f"{module} has no {name}; {instead}")


def not_offered(module: str, instead: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module that lacks names of another system. instead: each of them -> what to use."""

    def look_up(name: str) -> Any:
        if name in instead:
            raise NotOffered(module, name, instead[name])
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up


def taken(module: str, name: str, what: str, extra: str) -> Any:
    """A name of an optional library. Raises MissingExtra, which says what needs it, where that is not installed."""
    try:
        return getattr(import_module(module), name)
    except ImportError:
        raise rg.MissingExtra(what, extra) from None


class UndefinedScore(rg.UsageError, ZeroDivisionError):
    """There is nothing to count, where other systems divide by zero."""


@cache
def derived(ours: type, module: str, name: str, extra: str) -> Any:
    """A subclass of our class and another library's. Raises MissingExtra where that library is not installed."""
    theirs = taken(module, name, ours.__module__, extra)
    return type(ours.__name__.strip("_"), (ours, theirs), {"__doc__": ours.__doc__, "__module__": ours.__module__})


class _Names(ModuleType):
    """A module of names that are those of another one."""

    home: str

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules[self.home], name)


def modules(home: str, *names: str, package: str = "") -> None:
    """Let the names of a module be imported from further modules too, where another system has them.

    Args:
        home: the module.
        names: the further modules, such as "metrics.faithfulness".
        package: what they are in; the module itself unless given.
    """
    for name in names:
        path = f"{package or home}.{name}"
        module = _Names(path)
        module.home, module.__path__ = home, []
        sys.modules[path] = module


async def runs_of(rows: Any, measured: Sequence[tuple[Any, Any]], store: Any = None, **options: Any) -> list[rg.Run]:
    """The run of each metric; metrics of one judge share a run, and all share judgments.

    Args:
        rows, store, options: as for `rg.evaluate`.
        measured: pairs of a metric and its judge.
    """
    opened = rg.Store.temporary() if store is None else store
    runs: dict[int, rg.Run] = {}
    for first, (_, judge) in enumerate(measured):
        if first not in runs:
            group = [i for i, (_, other) in enumerate(measured) if i not in runs and other == judge]
            metrics = [measured[i][0] for i in group]
            run = await rg.evaluate_async(rows, metrics, judge, opened, **options)
            runs |= dict.fromkeys(group, run)
    return [runs[i] for i in range(len(measured))]
