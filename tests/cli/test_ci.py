from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from click.testing import Result

Call = Callable[..., Result]


def _failures(path: Path) -> list[str | None]:
    return [failure.get("message") for failure in ElementTree.parse(path).getroot().iter("failure")]


def test_a_gate_that_fails_is_in_every_file(call: Call, folder: Path) -> None:
    """The files for CI are written before the command ends with 3, and `report` writes the same gates again."""
    outputs = ("results.xml", "faults.sarif", "summary.md", "claims.csv")
    written = [part for name in outputs for part in ("-o", name)]
    metrics = "faithfulness,hallucination,bleu"
    gates = ["--fail-under", "bleu=0.99", "--fail-over", "hallucination=1"]
    assert call("run", "data.jsonl", "-m", metrics, *gates, *written).exit_code == 3
    (message,) = _failures(folder / "results.xml")
    assert message is not None
    assert message.startswith("bleu is 0.")
    assert f"❌ **{message.partition(' [')[0]}" in (folder / "summary.md").read_text(encoding="utf-8")
    assert json.loads((folder / "faults.sarif").read_text(encoding="utf-8"))["runs"][0]["results"] == []
    assert len(list(csv.DictReader((folder / "claims.csv").read_text(encoding="utf-8").splitlines()))) == 6
    assert call("report", "-o", "again.xml").exit_code == 0
    assert _failures(folder / "again.xml") == [message]


def test_the_files_of_gates_are_written_first(call: Call, folder: Path) -> None:
    """However the outputs are ordered, JUnit, SARIF and JSON are there before the page, which takes longest."""
    names = ("page.html", "table.csv", "results.xml", "summary.md", "faults.sarif")
    result = call("run", "data.jsonl", "-m", "bleu", *(part for name in names for part in ("-o", name)))
    written = [line.partition("wrote ")[2] for line in result.stdout.splitlines() if line.startswith("wrote ")]
    assert written == ["results.xml", "faults.sarif", "page.html", "table.csv", "summary.md"]
    times = [(folder / name).stat().st_mtime_ns for name in written]
    assert times == sorted(times)
