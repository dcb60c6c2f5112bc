"""Public names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def public_names(
    package: str, moved: Mapping[str, str] | None = None, gone: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package: the names that its stub `__init__.pyi` imports.

    Args:
        package: its name.
        moved: a package of ragauge -> names that were public here, and are there now; they warn.
        gone: a name that was public here -> what to use instead.
    """
    module: Any = sys.modules[package]
    stub = module.__spec__.loader.get_data(f"{module.__file__.removesuffix('c')}i").decode()
    imports = (line.split() for line in stub.splitlines() if line.startswith("from ragauge"))
    homes = {words[-1]: words[1] for words in imports}  # of lines such as "from ragauge.store import Store as Store"
    moved_to = {name: f"ragauge.{theme}" for theme, names in (moved or {}).items() for name in names.split()}

    def look_up(name: str) -> Any:
        if name in homes:
            is_theme = homes[name] == "ragauge"
            home = importlib.import_module(f"ragauge.{name}" if is_theme else homes[name])
            value = home if is_theme else getattr(home, name)
            setattr(module, name, value)
            return value
        if name in moved_to:
            import warnings

            warnings.warn(f"{package}.{name} is {moved_to[name]}.{name} now", DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(moved_to[name]), name)
        if gone and name in gone:
            raise AttributeError(f"{package}.{name} is gone: {gone[name]}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    names = sorted(homes)
    return look_up, lambda: names, names
