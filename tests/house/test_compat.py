from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import ragauge
import ragauge.datasets

SOURCE = Path(ragauge.__file__).parent
#: Modules that write runs to trackers and read labels from them, for which they need what reports are made of.
TRACKERS = ("mlflow", "tracking", "wandb")
DOORS = sorted(path for path in (SOURCE / "compat").rglob("*.py") if path.stem not in TRACKERS)

#: The packages that are public names of `ragauge`.
THEMES = [name for name in ragauge.__all__ if isinstance(getattr(ragauge, name), ModuleType)]

#: Where a front door may take names of ragauge from, and which; optional libraries are imported by one helper.
PUBLIC = {
    "ragauge": ragauge.__all__,
    "ragauge.datasets": ragauge.datasets.__all__,
    "ragauge.host": ["optional"],
    **{f"ragauge.{theme}": dir(getattr(ragauge, theme)) for theme in THEMES},
}

#: Libraries that people have who come from one of the systems, and others have not.
THEIRS = ("datasets", "instructor", "langchain_core", "llama_index", "openai", "pandas", "pydantic", "ragas", "yaml")


def taken(source: str) -> Iterator[tuple[str, str]]:
    """What a module takes of other modules: pairs of a module and a name; "" for the module itself."""
    nodes = list(ast.walk(ast.parse(source)))
    imports = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    called = {alias.asname or alias.name: alias.name for alias in imports}
    yield from ((alias.name, "") for alias in imports)
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            yield from (("." * node.level + (node.module or ""), alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute):
            package, dot, theme = ast.unparse(node.value).partition(".")
            if (module := called.get(package)) and (not theme or theme in THEMES):
                yield module + dot + theme, node.attr


def private(source: str) -> list[str]:
    """What a module takes of ragauge that is not public; another front door may be taken from."""

    def is_public(module: str, name: str) -> bool:
        if module.partition(".")[0] != "ragauge" or module.startswith("ragauge.compat"):
            return not module.startswith(".")
        return module in PUBLIC and (not name or name in PUBLIC[module])

    return [f"{module}.{name}" for module, name in taken(source) if not is_public(module, name)]


@pytest.mark.parametrize("door", DOORS, ids=lambda path: path.stem)
def test_front_doors_stand_on_the_public_api(door: Path) -> None:
    """A front door takes of ragauge only what everybody can: names of `ragauge`, its themes and `ragauge.datasets`."""
    assert private(door.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import ragauge as rg\nrg.evaluate, rg.judges.Judge", []),
        ("import ragauge as rg\nrg._names", ["ragauge._names"]),
        ("import ragauge as rg\nrg.metrics.Share, rg.metrics.hidden", ["ragauge.metrics.hidden"]),
        ("import ragauge.run", ["ragauge.run."]),
        ("from ragauge import run", ["ragauge.run"]),
        ("from ragauge.run.results import Run", ["ragauge.run.results.Run"]),
        ("def late():\n    from ragauge.datasets import retrieval, build", ["ragauge.datasets.retrieval"]),
        ("import ragauge\nragauge.store.store", ["ragauge.store"]),
        ("from ..judges import judge", ["..judges.judge"]),
        ("from ragauge.compat.valor import Context\nimport ragauge.compat.ragas, json", []),
    ],
)
def test_what_is_private_is_found(source: str, found: list[str]) -> None:
    """The test above sees each way of reaching behind the public API, and nothing in what is allowed."""
    assert private(source) == found


@pytest.mark.parametrize("door", DOORS, ids=lambda path: path.stem)
def test_front_doors_open_on_the_plain_install(door: Path) -> None:
    """A front door is imported without the libraries that its system needed, or says which to install."""
    module = ".".join(door.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({THEIRS}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{blocked}; import {module}"],
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 or "ragauge.errors.MissingExtra: " in done.stderr, done.stderr
