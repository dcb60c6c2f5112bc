from __future__ import annotations

import importlib
import json
import os
import py_compile
import subprocess
import sys
from collections.abc import Iterator
from inspect import isfunction, ismodule, signature
from pathlib import Path
from typing import Any

import pytest

import ragauge

HEAVY = {
    "aiohttp",
    "click",
    "datasets",
    "fastapi",
    "httpx",
    "narwhals",
    "numpy",
    "onnxruntime",
    "pandas",
    "polars",
    "pyarrow",
    "ray",
    "requests",
    "rich",
    "sentencex",
    "starlette",
    "torch",
    "transformers",
}

#: Modules that `import ragauge` may load beyond those of a bare interpreter; it loads about 30 of the standard library.
GENEROUS = 60


def _loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter loads for a statement, and that it has not loaded by itself."""
    script = f"import sys; bare = set(sys.modules); {statement}; loaded = set(sys.modules) - bare"
    script += "; import json; print(); print(json.dumps(sorted(loaded)))"
    source = str(Path(ragauge.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def _packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_importing_ragauge_loads_next_to_nothing() -> None:
    """A fresh `import ragauge` loads itself and the standard library, none of its own parts, and few modules."""
    loaded = _loaded_by("import ragauge")
    assert not _packages(loaded) & HEAVY
    assert _packages(loaded) - {"ragauge"} <= set(sys.stdlib_module_names)
    assert {module for module in loaded if module.startswith("ragauge")} == {
        "ragauge",
        "ragauge.lazy",
        "ragauge.version",
    }
    assert len(loaded) < GENEROUS


def test_using_a_name_loads_no_heavy_library() -> None:
    """Even with every public name in use, what is heavy is not loaded before it is needed."""
    loaded = _loaded_by("import ragauge; [getattr(ragauge, name) for name in ragauge.__all__]")
    assert not _packages(loaded) & HEAVY


def test_a_run_loads_no_framework_and_no_client() -> None:
    """Measuring with the embedded judge needs ONNX Runtime, and no torch, HTTP client, frame or web framework."""
    rows = [{"query": "who", "response": "Ada.", "contexts": ["Ada."]}]
    loaded = _loaded_by(f"import ragauge; print(ragauge.evaluate({rows}, 'faithfulness'))")
    assert not _packages(loaded) & (HEAVY - {"numpy", "onnxruntime", "sentencex", "rich", "narwhals"})


def test_the_command_line_loads_its_commands_when_they_are_called() -> None:
    """`ragauge --version` needs neither a judge nor a store."""
    loaded = _loaded_by("from ragauge.cli import main; main(['--version'], standalone_mode=False)")
    assert not _packages(loaded) & (HEAVY - {"click"})
    assert not {module for module in loaded if module.startswith(("ragauge.run", "ragauge.judges", "ragauge.store"))}


@pytest.mark.parametrize("theme", ["", "analysis", "judges", "metrics", "readers", "report", "statistics"])
def test_public_names_are_there(theme: str) -> None:
    """`__all__` of the package and of each theme has no repetition, and every name in it can be imported."""
    package = getattr(ragauge, theme) if theme else ragauge
    names = package.__all__
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(package, name) is not None
    assert set(names) <= set(dir(package))


def test_few_names_are_on_top() -> None:
    """What a first program needs is in `ragauge` itself, and the rest in its themes."""
    assert {"evaluate", "score", "compare", "Sample", "Run", "llm", "metrics", "errors"} <= set(ragauge.__all__)
    assert len(ragauge.__all__) < 50


def _public_functions() -> Iterator[tuple[str, Any]]:
    packages = [ragauge, *(value for name in ragauge.__all__ if ismodule(value := getattr(ragauge, name)))]
    for package in packages:
        for name in getattr(package, "__all__", ()):
            if isfunction(function := getattr(package, name)):
                yield f"{package.__name__}.{name}", function


def test_public_functions_describe_their_arguments() -> None:
    """A public function of three or more parameters has a list of them in its docstring."""
    functions = dict(_public_functions())
    assert len(functions) > 30
    long = {name: function for name, function in functions.items() if len(signature(function).parameters) >= 3}
    assert [name for name, function in long.items() if "Args:" not in (function.__doc__ or "")] == []


def test_a_name_that_moved_warns_and_works() -> None:
    """A name that was in `ragauge` itself gives what its theme has, with a warning that names the theme."""
    with pytest.warns(DeprecationWarning, match=r"ragauge\.Share is ragauge\.metrics\.Share now"):
        moved = ragauge.Share
    assert moved is ragauge.metrics.Share


def test_a_name_that_is_not_there() -> None:
    """A misspelled name is an AttributeError that names it, as of any module."""
    with pytest.raises(AttributeError, match="module 'ragauge' has no attribute 'evaluat'"):
        _ = ragauge.evaluat


def test_every_module_can_be_imported() -> None:
    """No module of the package is broken or needs an extra to be imported."""
    folder = Path(ragauge.__file__).parent
    modules = [
        ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        for path in sorted(folder.rglob("*.py"))
        if path.name not in ("__init__.py", "__main__.py")
    ]
    assert len(modules) > 90
    assert all(importlib.import_module(module) for module in modules)


def test_the_version_is_one() -> None:
    """The version in the package is the one that `pyproject.toml` gives the wheel."""
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == ragauge.__version__


def test_public_names_are_found_without_sources(tmp_path: Path) -> None:
    """A package of compiled modules alone, as slim images have them, has the names of its stub."""
    package = tmp_path / "slim"
    package.mkdir()
    source = package / "__init__.py"
    source.write_text(
        "from ragauge.lazy import public_names\n__getattr__, __dir__, __all__ = public_names(__name__)\n",
        encoding="utf-8",
    )
    (package / "__init__.pyi").write_text("from ragauge.types import Sample as Sample\n", encoding="utf-8")
    py_compile.compile(str(source), str(package / "__init__.pyc"))
    source.unlink()
    code = "import slim; from slim import *; print(Sample.__module__, dir(slim))"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == "ragauge.types ['Sample']\n"
