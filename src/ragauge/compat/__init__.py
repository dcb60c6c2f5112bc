"""Interfaces of other systems: change one import of a program written for them, and get the same numbers."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import Any

import ragauge as rg
from ragauge.host import optional

#: System -> the modules that it has, and what to use in place of what is not offered.
DOORS: dict[str, Any] = tomllib.loads((files(__name__) / "doors.toml").read_text(encoding="utf-8"))


class BadInput(rg.errors.BadParameter, ValueError, TypeError):
    """The input cannot be measured. Other systems raise a ValueError or a TypeError here, and this is both."""


class NotOffered(rg.errors.UsageError, ImportError):
    """A name of another system that its module here lacks; the message says what to use instead."""


def not_offered(system: str) -> Callable[[str], Any]:
    """The `__getattr__` of the module that lacks names of another system, for which doors.toml has advice."""
    module = f"{__name__}.{system}"

    def look_up(name: str) -> Any:
        for pattern, advice in DOORS[system]["instead"].items():
            if re.fullmatch(pattern, name):
                raise NotOffered(f"{module} has no {name}; {advice}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up


class Idle:
    """Settings of other systems, which are accepted without effect."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class Described:
    """A class whose subclasses have their attributes as arguments: `class Bias(Metric, ours="bias")`."""

    def __init_subclass__(cls, **attributes: Any) -> None:
        for attribute, value in attributes.items():
            setattr(cls, attribute, value)


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


def open_modules(system: str) -> None:
    """Let names be imported from the modules where another system has them; doors.toml lists these.

    Args:
        system: the name of its module here, such as "ragas".
    """
    package = f"{__name__}.{system}"
    for listed in DOORS[system]["modules"]:
        look_up = _look_up(f"{__name__}.{listed.get('home', system)}", package, listed.get("advice"))
        for name in listed["names"].split():
            module = sys.modules[f"{package}.{name}"] = ModuleType(f"{package}.{name}")
            vars(module).update(__path__=[], __getattr__=look_up)


def _look_up(home: str, package: str, advice: str | None) -> Callable[[str], Any]:
    def look_up(name: str) -> Any:
        try:
            return getattr(import_module(home), name)
        except AttributeError:
            if advice and not name.startswith("__"):
                raise NotOffered(f"{package} has no {name}; {advice}") from None
            raise

    return look_up


def passages_of(**chunks: Sequence[rg.types.Chunk] | None) -> dict[str, list[str]]:
    """The texts of chunks under the name that another system has for them, without those that are None."""
    return {name: [chunk.passage for chunk in held] for name, held in chunks.items() if held is not None}


def parsed(cell: Any) -> Any:
    """The list or object that is written in a text, as JSON or Python print it; any other cell as it is."""
    if isinstance(cell, str) and cell.startswith(("[", "{")):
        for parse in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return parse(cell)
    return cell


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
