from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ragauge.cli import dataworkz
from ragauge.compat.dataworkz import COLUMNS, evaluate

Call = Callable[..., Result]

COMMAND = ("dataworkz", "evaluate")
FILES = (
    *("--benchmark", "benchmark.csv", "--dataworkz_response_file", "responses.txt"),
    *("--evaluation_file", "out.csv", "--no-extras"),
)


@pytest.fixture
def workplace(folder: Path) -> Path:
    """A folder with a benchmark of six questions, responses to them, and one more response."""
    with (folder / "benchmark.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["Query", "Golden Response", "Golden Context"])
        table.writerows([f"Who wrote book {n}?", f"Ada Bell wrote book {n}.", "Books."] for n in range(6))
    blocks = [f"question : Who wrote book {n}?\nanswer :\nAda Bell wrote it.\nlinks : []\n" for n in range(7)]
    (folder / "responses.txt").write_text("".join(blocks))
    (folder / "other.txt").write_text("question : When?\nanswer : Now.\n")
    return folder


def _written(workplace: Path) -> list[dict[str, str]]:
    with (workplace / "out.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_evaluate_writes_a_row_for_each_question(call: Call, workplace: Path) -> None:
    """The file has every column; means, unmatched rows and where to find the evidence are printed."""
    result = call(*COMMAND, *FILES)
    assert result.exit_code == 0
    rows = _written(workplace)
    assert (list(rows[0]), len(rows)) == (list(COLUMNS), 6)
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("LLM")] == [
        ["LLM", "Recall"],
        ["LLM", "Precision"],
        ["LLM", "F1"],
    ]
    assert "questions not in the benchmark, left out: 1, such as 'Who wrote book 6?'" in lines
    assert "wrote out.csv" in lines
    assert "its evidence: ragauge report" in lines[-1]


def test_names_may_be_written_with_either_dash(call: Call, workplace: Path) -> None:
    """Commands and options can be written with - and with _."""
    spelt = [name.replace("_", "-") if name.startswith("--") else name for name in FILES]
    assert call(*COMMAND, *spelt, "--no_store").exit_code == 0
    assert not (workplace / ".ragauge").exists()
    texts = ("--golden-response", "Ada came.", "--candidate_response", "Ada came.", "--no_extras")
    outputs = [
        call("dataworkz", name, "--question", "Who came?", *texts).stdout
        for name in ("evaluate_question", "evaluate-question")
    ]
    assert outputs[0] == outputs[1]
    assert "LLM F1: 1.0\n" in outputs[0]
    assert "Common Claims: {'1': 'Ada came.'}\n" in outputs[0]


def test_missing_libraries_are_named(call: Call, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a library is missing, one line names the empty columns."""
    monkeypatch.setitem(sys.modules, "bert_score", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    texts = ("--question", "q", "--golden_response", "Ada came.", "--candidate_response", "Ada.")
    for result in (call("dataworkz", "evaluate_question", *texts), call(*COMMAND, *FILES[:-1])):
        assert result.exit_code == 0
        assert result.stdout.count("Similarity Score: empty; similarity needs an optional library") == 1
        assert "pip install 'ragauge[bertscore]'" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (FILES[:4], "Missing option '--evaluation_file'"),
        (("--benchmark", "none.csv", *FILES[2:]), "none.csv: no such file"),
        ((*FILES, "--evaluation_file", "responses.txt"), "responses.txt is read by this command"),
        ((*FILES, "--evaluation_file", "responses.txt/out.csv"), "cannot write responses.txt/out.csv"),
        ((*FILES, "--dataworkz_response_file", "other.txt"), "no row has a golden response and a response"),
        ((*FILES, "--dataworkz_response_file", "benchmark.csv"), "benchmark.csv: no question with an answer"),
        ((*FILES, "--map", "references=Gold"), "unknown column 'Gold'; known: Golden Context"),
        ((*FILES, "--judge", "embeded"), "unknown judge 'embeded'"),
        ((*FILES, "--fail-under", "LLM F1=1"), "unknown metric of this run 'LLM F1'"),
    ],
)
def test_wrong_calls_end_with_2(arguments: tuple[str, ...], message: str, call: Call, workplace: Path) -> None:
    """An error in the call or the data is one line, and nothing is written."""
    result = call(*COMMAND, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (workplace / "out.csv").exists()


def test_excel_files_need_a_library(call: Call, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the message says what to install, and the exit code is 2."""
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (workplace / "benchmark.xlsx").write_bytes(b"x")
    result = call(*COMMAND, *FILES, "--benchmark", "benchmark.xlsx")
    assert result.exit_code == 2
    assert "pip install 'ragauge[xlsx]'" in result.stderr


def test_a_gate_ends_with_3(call: Call, workplace: Path) -> None:
    """Below --fail-under the file is written nevertheless."""
    result = call(*COMMAND, *FILES, "--fail-under", "bleu=0.99")
    assert result.exit_code == 3
    assert "gate failed: bleu is" in result.stderr
    assert len(_written(workplace)) == 6


def test_no_judgment_ends_with_1(call: Call, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared wording is written, and the reason is in every row and in the message."""
    (workplace / "broken_judges.py").write_text(
        "import ragauge as rg\n"
        "def fail(*texts): raise RuntimeError('out of order')\n"
        "mine = rg.judge_from(decompose=fail, entail=fail)\n"
    )
    monkeypatch.syspath_prepend(str(workplace))
    result = call(*COMMAND, *FILES, "--judge", "python:broken_judges:mine")
    assert result.exit_code == 1
    assert "no claims were judged, the first because:" in result.stderr
    assert all("out of order" in row["Explanation"] and row["Bleu Score"] for row in _written(workplace))


def test_a_limit_ends_with_4(call: Call, workplace: Path, stub_server: Callable[..., Any]) -> None:
    """Finished rows are written at --max-cost; without it the same command pays for the others alone."""
    server = stub_server()
    judge = f"openai/m?base_url={server.url}&price=100:100&concurrency=1"
    whole = evaluate("benchmark.csv", "responses.txt", judge=judge, extras=False).run.record.spent
    stopped = call(*COMMAND, *FILES, "--judge", judge, "--max-cost", 0.95 * whole.cost)
    assert stopped.exit_code == 4
    assert "run the same command again to resume" in stopped.stderr
    assert 0 < len(_written(workplace)) < 6
    server.reset()
    assert call(*COMMAND, *FILES, "--judge", judge).exit_code == 0
    assert len(_written(workplace)) == 6
    assert 0 < server.stats()["calls"] < whole.calls


def test_an_interrupt_ends_with_130(call: Call, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says that finished judgments are kept."""

    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dataworkz, "evaluate", interrupted)
    result = call(*COMMAND, *FILES)
    assert result.exit_code == 130
    assert "Every judgment made so far is kept in .ragauge" in result.stderr
