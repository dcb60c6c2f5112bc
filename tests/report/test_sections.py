from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from gzip import decompress
from pathlib import Path
from typing import Any

import pytest
from tests.report.judged import measured

import ragauge as rg
from ragauge.report import sections
from ragauge.report.document import parts


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sections that a test registers are gone after it."""
    monkeypatch.setattr(sections, "SECTIONS", {})


@pytest.fixture(scope="module")
def run() -> rg.Run:
    """Four judged samples."""
    return measured(name="r")


def lengths(run: rg.Run) -> list[dict[str, Any]]:
    """Characters of each response."""
    counts = ((one.sample.id, len(one.sample.response or "")) for one in run.records())
    return [{"sample": sample, "characters": count, "share": count / 40} for sample, count in counts]


def texts(run: rg.Run, folder: Path) -> dict[str, str]:
    """The run in every form that shows sections."""
    saved = {ending: run.save(folder / f"r.{ending}").read_text(encoding="utf-8") for ending in ("md", "json")}
    return {**saved, "terminal": str(run), "notebook": run._repr_markdown_()}


def test_a_registered_function_adds_a_section_to_every_form(run: rg.Run, tmp_path: Path) -> None:
    """One decorated function is enough for the terminal, notebooks, Markdown, the JSON document and the page."""
    before = texts(run, tmp_path)
    rg.report.report_section("Response | lengths")(lengths)
    shown = texts(run, tmp_path)
    assert "| sample | characters | share |\n|---|---|---|\n| good | 15 | 0.375 |\n" in shown["md"]
    assert "## Response | lengths\n\nCharacters of each response.\n" in shown["md"]
    for form in ("terminal", "notebook"):
        assert "Characters of each response." in shown[form]
        assert "0.375" in shown[form]
    (section,) = json.loads(shown["json"])["sections"]
    assert section["columns"] == ["sample", "characters", "share"]
    assert section["rows"][0] == ["good", 15, 0.375]
    assert run.to_dict()["sections"] == [section]
    head = json.loads(decompress(dict(parts(run.record, run.records(), run.sections()))["head"]))
    assert head["sections"][0]["rows"][0] == ["good", "15", "0.375"]
    assert head["sections"][0]["numeric"] == [False, True, True]
    sections.SECTIONS.clear()
    assert texts(run, tmp_path) == before
    assert "sections" not in run.to_dict()


def test_a_failing_section_shows_its_error(run: rg.Run, tmp_path: Path) -> None:
    """An exception in a section's function is shown in its place; the rest of the report is written."""

    @rg.report.report_section("Broken")
    def broken(run: rg.Run) -> list[dict[str, Any]]:
        return [{"x": run.estimates["no such metric"].value}]

    rg.report.report_section("Lengths")(lengths)
    for text in texts(run, tmp_path).values():
        assert "This section failed: KeyError: " in text
        assert "0.375" in text
        assert "faithfulness" in text


def test_cells_without_a_number_are_empty(run: rg.Run, tmp_path: Path) -> None:
    """NaN, infinities and missing cells are None, never a number; other objects become text on one line."""
    rows: list[dict[str, Any]] = [{"a": float("nan"), "b": float("inf")}, {"b": True, "c": Path("x\ny")}]
    rg.report.report_section("Odd")(lambda run: rows)
    (section,) = run.to_dict()["sections"]
    assert section["rows"] == [[None, None, None], [None, "True", "x\ny"]]
    assert "| – | True | x y |" in texts(run, tmp_path)["md"]


def test_markup_in_a_section_has_no_effect(run: rg.Run, tmp_path: Path) -> None:
    """Titles, columns and cells are escaped in Markdown and HTML and cannot break a table."""
    rg.report.report_section("<b>@all</b>")(lambda run: [{"<i>|": "<script>|::error::"}])
    shown = texts(run, tmp_path)
    assert "<script>" not in shown["md"] + shown["notebook"]
    assert "<b>" not in shown["md"] + shown["notebook"]
    assert "@all" not in shown["md"]
    assert "::error::" not in shown["terminal"]


def test_long_sections_are_cut_in_text(run: rg.Run, tmp_path: Path) -> None:
    """Markdown and the terminal show 50 rows and how many are missing; the JSON document has all."""
    rg.report.report_section("Long")(lambda run: ({"n": n} for n in range(60)))
    shown = texts(run, tmp_path)
    assert "10 more rows are not shown." in shown["md"]
    assert "| 50 |" not in shown["md"]
    assert len(json.loads(shown["json"])["sections"][0]["rows"]) == 60


def test_a_section_without_rows_is_left_out(run: rg.Run) -> None:
    """A function with nothing to say adds nothing; a title is required."""
    rg.report.report_section("Empty")(lambda run: [])
    assert run.sections() == ()
    with pytest.raises(rg.errors.UsageError, match="a section needs a title"):
        rg.report.report_section(" ")


@pytest.mark.slow
def test_installed_packages_add_sections_to_the_command_line(
    run: rg.Run, tmp_path: Path, install_package: Callable[..., Path]
) -> None:
    """A module named by an entry point registers its section before the command line makes a report."""
    code = (
        "from ragauge.report import report_section\n\n"
        "@report_section('From a package')\ndef add(run):\n    return [{'id': run.id}]\n"
    )
    points = "[ragauge.report_sections]\nmine = my_sections\nbroken = no_such_module\n"
    site = install_package("my_sections", points, code)
    data = tmp_path / "data.jsonl"
    data.write_text('{"response": "A.", "contexts": ["A."]}\n', encoding="utf-8")
    source = str(Path(rg.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "ragauge", "run", str(data), "-m", "faithfulness", "--no-store"],
        env={"PYTHONPATH": f"{source}:{site}", "PYTHONIOENCODING": "utf-8"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "From a package" in done.stdout
    assert "broken\nThis section failed: ModuleNotFoundError: No module named 'no_such_module'" in done.stdout
