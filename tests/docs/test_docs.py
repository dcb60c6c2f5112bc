"""The documentation runs, and what is made from the code is up to date."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from ragauge.cli.main import main
from ragauge.report import sections

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/migrating").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def pages_with(language: str) -> list[Any]:
    """The pages with such blocks; of these the README is among the fast tests."""
    found = [page for page in PAGES if blocks(page, language)]
    return [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem != "README")) for page in found]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, with data files as the pages assume: the first half of the demo's candidate."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sections, "SECTIONS", {})
    rows = (ROOT / "src/ragauge/demo/candidate.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for name in ("answers", "old", "new"):
        (tmp_path / f"{name}.jsonl").write_text("".join(rows[: len(rows) // 2]), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_on_the_pages_runs(page: Path, workplace: Path) -> None:
    """The Python blocks of a page run one after the other, and what they assert holds."""
    names: dict[str, Any] = {}
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), names)

    assert names


@pytest.mark.parametrize("page", pages_with("console"))
def test_commands_on_the_pages_run(page: Path, workplace: Path) -> None:
    """The `$ ragauge ...` lines of a page exit with 0, in their order."""
    lines = [line for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ragauge ")]
    for line in lines:
        result = CliRunner().invoke(main, shlex.split(line, comments=True)[2:])
        assert result.exit_code == 0, f"{line}\n{result.output}"

    assert lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that is there."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.fixture(scope="module")
def made() -> ModuleType:
    """The script that makes pages from the code."""
    spec = importlib.util.spec_from_file_location("made_docs", ROOT / "scripts" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "maker"),
    [("metrics.md", "metrics_page"), ("command-line.md", "commands_page"), ("embedded-judge.md", "embedded_page")],
)
def test_pages_made_from_the_code_are_up_to_date(name: str, maker: str, made: ModuleType) -> None:
    """The page in docs is what `python scripts/docs.py` would write now."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == getattr(made, maker)()
