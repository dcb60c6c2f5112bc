"""`ragauge parity`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Call = Callable[..., Result]


@pytest.fixture
def scored(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """The working directory, with the rows and ragas' scores of them as scores.csv, in ragas' format."""
    with (folder / "scores.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["user_input", "response", "retrieved_contexts", "faithfulness", "answer_relevancy", "mine"])
        for n, row in enumerate(rows):
            faithfulness = "" if n == 0 else 1.0 if n % 2 else 0.0
            table.writerow([row["query"], row["response"], json.dumps(row["contexts"]), faithfulness, 0.9, 50])
    return folder


def test_the_scores_alone(scored: Path, call: Call) -> None:
    """`ragauge parity --against ragas scores.csv` measures the samples in the file and explains differences."""
    done = call("parity", "--against", "ragas", "scores.csv", "-o", "out.md", "-o", "out.json")
    assert done.exit_code == 0
    assert "A: ragas: scores.csv" in done.output
    assert "Not compared: mine: no known counterpart among ours." in done.output
    assert "supported by context 1: “Ada Bell wrote book 3 in 1930.”" in done.output
    assert "different definition: theirs is the mean cosine" in done.output
    document = json.loads((scored / "out.json").read_text(encoding="utf-8"))
    assert list(document["differences"]) == ["faithfulness", "answer_relevance"]
    assert (scored / "out.md").read_text(encoding="utf-8").startswith("# Comparison\n")


def test_with_a_run(scored: Path, call: Call) -> None:
    """With a run of the store nothing is judged, and rows are matched by their texts."""
    call("run", "data.jsonl", "-m", "faithfulness")
    done = call("parity", "scores.csv", "--against", "ragas", "--run", "latest", "--show", "0")
    assert done.exit_code == 0
    assert "Not compared: answer_relevancy: answer_relevance was not measured." in done.output
    assert "supported by" not in done.output


def test_samples_from_elsewhere(scored: Path, call: Call) -> None:
    """With --data the samples come from another file; columns can be named, with brackets."""
    lines = [f"{number},1\n" for number in range(1, 7)]
    (scored / "bare.csv").write_text("id,score(of=it)\n" + "".join(lines), encoding="utf-8")
    column = "score(of=it)=faithfulness"
    done = call("parity", "bare.csv", "--against", "valor", "--data", "data.jsonl", "--column", column, "--no-store")
    assert done.exit_code == 0
    assert "0/6/0" in done.output


def test_scores_need_samples(scored: Path, call: Call) -> None:
    """A file without samples is an error that says how to name them."""
    (scored / "numbers.json").write_text('{"faithfulness": 0.9}', encoding="utf-8")
    alone = call("parity", "numbers.json", "--against", "ragas")
    assert alone.exit_code == 2
    assert "numbers.json holds no samples; name them with --data FILE, or a run of them with --run RUN" in alone.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "latest", "--data", "data.jsonl"], "give --data or --run, not both"),
        (["-o", "out.txt"], "unknown ending; use one of .json .md .html"),
        (["--data", "data.json", "-o", "data.json"], "data.json is read by this command"),
        (["--run", "latest", "--no-store"], "--run names a run in the store; leave out --no-store"),
        (["--column", "mine"], "write --column THEIRS=OURS"),
        (["--column", "nix=bleu"], "unknown column 'nix'"),
        (["--column", "mine=nix"], "unknown metric 'nix'"),
        (["-m", "bleu"], "has a counterpart among bleu"),
        (["--map", "query=nix"], "unknown column 'nix'"),
    ],
)
def test_wrong_calls(scored: Path, call: Call, arguments: list[str], message: str) -> None:
    """An error in the call is found before anything is judged, with exit code 2."""
    done = call("parity", "scores.csv", "--against", "ragas", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
