"""Interfaces of other systems: change one import of a program written for them, and get the same numbers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import ragauge as rg
from ragauge.host import optional


class BadInput(rg.errors.BadParameter, ValueError, TypeError):
    """The input cannot be measured. Other systems raise a ValueError or a TypeError here, and this is both."""


class NotOffered(rg.errors.UsageError, ImportError):
    """A name of another system that its module here lacks; the message says what to use instead."""


def not_offered(module: str, instead: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module that lacks names of another system. instead: pattern of names -> what to use."""

    def look_up(name: str) -> Any:
        for pattern, advice in instead.items():
            if re.fullmatch(pattern, name):
                raise NotOffered(f"{module} has no {name}; {advice}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up


class UndefinedScore(rg.errors.UsageError, ZeroDivisionError):
    """There is nothing to count, where other systems divide by zero."""


def derived(ours: type, extra: str, module: str, base: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose class is a subclass of another library's too, which is imported on use."""
    public = ours.__name__.strip("_")

    @cache
    def look_up(name: str) -> Any:
        if name != public:
            raise AttributeError(f"module {ours.__module__!r} has no attribute {name!r}")
        theirs = getattr(optional(ours.__module__, extra, module), base)
        return type(public, (ours, theirs), {"__doc__": ours.__doc__, "__module__": ours.__module__})

    return look_up


def modules(home: str, names: str, package: str = "", advice: str = "") -> None:
    """Let the names of a module be imported from modules in it, or in a package, where another system has them.

    Args:
        home: the module that has the names; it is imported when one is looked up.
        names: the modules, separated by spaces.
        package: the package that they are in, unless it is home.
        advice: what to use in place of any other name in them.
    """

    def look_up(name: str) -> Any:
        try:
            return getattr(import_module(home), name)
        except AttributeError:
            if advice and not name.startswith("__"):
                raise NotOffered(f"{package or home} has no {name}; {advice}") from None
            raise

    for name in names.split():
        module = sys.modules[f"{package or home}.{name}"] = ModuleType(f"{package or home}.{name}")
        vars(module).update(__path__=[], __getattr__=look_up)


async def runs_of(rows: Any, measured: Sequence[tuple[Any, Any]], store: Any = None, **options: Any) -> list[rg.Run]:
    """The run of each pair of a metric and its judge; metrics of one judge share a run, and all share judgments."""
    opened = rg.Store.temporary() if store is None else store
    runs: dict[int, rg.Run] = {}
    for first, (_, judge) in enumerate(measured):
        if first not in runs:
            group = [i for i, (_, other) in enumerate(measured) if other == judge]
            judges = rg.load_judges(judge) if store is None else judge  # whose labels are not in a temporary store
            run = await rg.evaluate_async(rows, [measured[i][0] for i in group], judges, opened, **options)
            runs |= dict.fromkeys(group, run)
    return [runs[i] for i in range(len(measured))]
