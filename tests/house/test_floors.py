from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import ragauge

ROOT = Path(__file__).parents[2]
SOURCE = Path(ragauge.__file__).parent


def test_imports_keep_to_the_floors(tmp_path: Path) -> None:
    """import-linter finds every import going down, and no input or output on the pure floors."""
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--config",
        str(ROOT / "pyproject.toml"),
        "--no-cache",
    ]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_every_package_stands_on_a_floor() -> None:
    """Each package and module of ragauge is named in the layers, so that none escapes them."""
    layers = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    free = {"__init__", "__main__", "version"}
    assert [name for name in sorted(names - free) if f"ragauge.{name}" not in layers] == []


def test_every_file_says_what_it_is() -> None:
    """Each module begins with a docstring."""
    for path in sorted(SOURCE.rglob("*.py")):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path.name


def test_no_file_names_a_machine() -> None:
    """No source or test holds a path of somebody's machine."""
    homes = ("/" + "work/", "/" + "home/", "/" + "Users/", "C:" + "\\")
    for folder in (SOURCE, ROOT / "tests", ROOT / "benchmarks"):
        for path in sorted(folder.rglob("*.py")):
            found = [home for home in homes if home in path.read_text(encoding="utf-8")]
            assert not found, f"{path.name} names {found}"
