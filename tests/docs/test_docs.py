"""The documentation runs, and what is made from the code is up to date."""

from __future__ import annotations

import importlib.util
import re
import shutil
import tomllib
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from scripts import commands
from tests.llm.stub.fixture import StubFactory
from tests.postgres import PostgresServer

from ragauge.cli.main import main
from ragauge.report import sections

ROOT = Path(__file__).resolve().parents[2]
PAGES = commands.PAGES


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def pages_with(language: str) -> list[Any]:
    """The pages with such blocks; of these the README is among the fast tests."""
    found = [page for page in PAGES if blocks(page, language)]
    return [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem != "README")) for page in found]


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes import these sources."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, with data files as the pages assume: the first half of the demo's candidate."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sections, "SECTIONS", {})
    rows = (ROOT / "src/ragauge/demo/candidate.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for name in ("answers", "old", "new"):
        (tmp_path / f"{name}.jsonl").write_text("".join(rows[: len(rows) // 2]), encoding="utf-8")
    shutil.copy(ROOT / "tests/readers/exports/otlp.jsonl", tmp_path / "traces.jsonl")
    return tmp_path


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_on_the_pages_runs(page: Path, workplace: Path) -> None:
    """The Python blocks of a page run one after the other, and what they assert holds."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        if page.stem == "trackers":  # what MLflow and its libraries warn of
            warnings.simplefilter("ignore")
        for code in blocks(page, "python"):
            exec(compile(code, page.name, "exec"), names)

    assert names


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands.commands(page)], ids=lambda page: page.stem)
def test_commands_on_the_pages_run(page: Path, tmp_path: Path, stub_server: StubFactory, sources: None) -> None:
    """The commands of a page exit with 0, in their order; CI also runs them with the plain installation alone."""
    environment, replaced = commands.stubs(stub_server())
    outcomes = list(commands.outcomes(page, tmp_path, environment, replaced))
    assert [(outcome.command, outcome.printed) for outcome in outcomes if outcome.code] == []


@pytest.mark.slow
def test_commands_with_a_database_run(
    tmp_path: Path, stub_server: StubFactory, postgres: PostgresServer, sources: None
) -> None:
    """The commands of the page on stores exit with 0 with a PostgreSQL server of this machine in place of theirs."""
    environment, replaced = commands.stubs(stub_server())
    replaced["postgresql://writer@db.example.org/evals"] = f"'{postgres.new()}'"
    outcomes = list(commands.outcomes(ROOT / "docs/store.md", tmp_path, environment, replaced))
    assert [(outcome.command, outcome.printed) for outcome in outcomes if outcome.code != 0] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "command-line"], ids=lambda page: page.stem)
def test_no_command_stands_where_it_is_not_run(page: Path) -> None:
    """Only blocks marked `sh` and `console` have commands; the texts of `--help` are not looked at."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    others = [block for language, block in blocks if language not in ("sh", "console")]
    others += re.findall(r"\n\n( {4}\S.*)", text)
    command = re.compile(r"^ *(?:\$ )?(?:ragauge|python3?|pip|sh|\.venv/bin/\w+) [^=]", re.MULTILINE)
    assert [block for block in others if command.search(block)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_sentence_tells_to_run_is_there(page: Path) -> None:
    """Subcommands, options, scripts and extras that a page names in a sentence exist."""
    text = page.read_text(encoding="utf-8")
    spans = [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]
    wrong = [span for span in spans if span.startswith("ragauge ") and unknown(span.split()[1:])]
    scripts = re.findall(r"`(?:python|sh) ((?:benchmarks|scripts|training)/[\w./]+)", text)
    assert wrong + [name for name in scripts if not (ROOT / name).exists()] == []
    extras = {name for names in re.findall(r"ragauge\[([\w,-]+)\]", text) for name in names.split(",")}
    assert extras <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def unknown(words: list[str]) -> list[str]:
    """The subcommands and options of `ragauge` among words that there are not."""
    command: click.Command = main
    while isinstance(command, click.Group) and words and words[0][0].isalpha():
        context = click.Context(command)
        subcommand = command.get_command(context, words[0])
        if subcommand is None:
            return words[:1]
        command, words = subcommand, words[1:]
    options = {name for option in command.params for name in option.opts} | {"--help", "--version"}
    return [word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word) and word not in options]


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
