"""Public names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def public_names(
    package: str,
    homes: Mapping[str, str],
    themes: str = "",
    moved: Mapping[str, str] | None = None,
    gone: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: its name.
        homes: a module of ragauge -> the public names that it has for this package, separated by spaces.
        themes: subpackages that are public as they are, separated by spaces.
        moved: a package of ragauge -> names that were public here, and are there now; they warn.
        gone: a name that was public here -> what to use instead.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}
    packages = {name: theme for theme, names in (moved or {}).items() for name in names.split()}
    names = sorted([*modules, *themes.split()])

    def look_up(name: str) -> Any:
        if name in modules:
            value = getattr(importlib.import_module(f"ragauge.{modules[name]}"), name)
        elif name in themes.split():
            value = importlib.import_module(f"{package}.{name}")
        elif name in packages:
            return _moved(name, package, f"ragauge.{packages[name]}")
        elif gone and name in gone:
            raise AttributeError(f"{package}.{name} is gone: {gone[name]}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(importlib.import_module(package), name, value)
        return value

    return look_up, lambda: names, names


def _moved(name: str, package: str, home: str) -> Any:
    import warnings

    warnings.warn(f"{package}.{name} is {home}.{name} now", DeprecationWarning, stacklevel=3)
    return getattr(importlib.import_module(home), name)
