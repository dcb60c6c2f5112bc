"""`ragauge judges check` and `ragauge judges tune`: what they print, write and refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.llm.stub.fixture import StubFactory

from ragauge.analysis.robustness import CHANGES, Change

Call = Callable[..., Any]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key; the stub accepts any."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")


def test_the_command_prints_and_writes_the_card(call: Call, folder: Path, stub_server: StubFactory) -> None:
    """Six calls a sample and the day of their price; again, the repetition alone is asked; the file has the figures."""
    server = stub_server()
    command = ("judges", "check", "-j", f"openai/gpt-4o-mini?base_url={server.url}", "--limit", 3, "-o", "card.json")
    result = call(*command)
    assert result.exit_code == 0, result.output
    assert "6 claims of 3 samples" in result.stdout
    assert "openai/gpt-4o-mini: prices of 20" in result.stdout
    assert server.stats()["calls"] == 18
    written = json.loads((folder / "card.json").read_text())
    assert written["schema"] == "ragauge.robustness/1"
    assert [one["name"] for one in written["changes"]] == list(CHANGES)
    assert Change.__struct_fields__ == tuple(written["changes"][0])
    call(*command)
    assert server.stats()["calls"] == 21


def test_the_command_refuses_what_it_cannot_do(call: Call, folder: Path) -> None:
    """An unknown ending, missing data and a judge without a price under a limit end with exit code 2."""
    assert folder.exists()
    assert "use one of .json" in call("judges", "check", "-o", "card.txt").stderr
    assert "no such file" in call("judges", "check", "--data", "nowhere.jsonl").stderr
    assert "price=0.15:0.60" in call("judges", "check", "-j", "openai/my-own", "--max-cost", 1).stderr


ROWS = [
    {"premise": f"The bridge of town {n} is red.", "claim": f"The {thing} of town {n} is red.", "label": supported}
    for n in range(30)
    for thing, supported in (("bridge", 1), ("harbour tunnel company", int(n % 10 == 0)))
]


def labelled(file: Path, rows: list[dict[str, Any]]) -> Path:
    """A labelled set."""
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def test_a_tuned_judge_judges(call: Call, folder: Path, stub_server: StubFactory) -> None:
    """The figures are printed, the file is a judge for `run`, and the same command asks nothing again."""
    server = stub_server()
    data = labelled(folder / "ent_bridges.jsonl", ROWS)
    judge = f"openai/gpt-4o-mini?base_url={server.url}"
    result = call("judges", "tune", "-j", judge, "--data", data, "-o", "judge.json")
    assert result.exit_code == 0, result.output
    assert "as it is" in result.stdout
    assert "balanced accuracy on 60 labels, each by what the other half chooses: before" in result.stdout
    assert "wrote judge.json; use: -j judge.json --allow-host 127.0.0.1" in result.stdout
    calls = server.stats()["calls"]
    assert calls >= 30
    assert call("judges", "tune", "-j", judge, "--data", data, "-o", "judge.json").exit_code == 0
    assert server.stats()["calls"] == calls
    run = call("run", "data.jsonl", "-m", "faithfulness", "-j", "judge.json", "--allow-host", "127.0.0.1")
    assert run.exit_code == 0, run.output
    assert "judge openai/gpt-4o-mini" in run.stdout
    assert server.stats()["calls"] > calls


def test_code_is_not_tuned_into_a_file(call: Call, folder: Path) -> None:
    """A judge that is code ends with code 2 before it is asked, since no judge file may hold it."""
    data = labelled(folder / "ent_bridges.jsonl", ROWS)
    result = call("judges", "tune", "-j", "cascade(embedded,python:mine:judge)", "--data", data, "-o", "judge.json")
    assert result.exit_code == 2
    assert "python:mine:judge is code, which a judge file cannot hold" in result.stderr


def test_tuning_stops_at_a_limit(call: Call, folder: Path, stub_server: StubFactory) -> None:
    """At the limit the exit code is 4, nothing is written, and the same command goes on."""
    server = stub_server()
    data = labelled(folder / "ent_bridges.jsonl", ROWS)
    judge = f"openai/gpt-4o-mini?base_url={server.url}&price=10:10"
    command = ("judges", "tune", "-j", judge, "--data", data, "-o", "judge.json")
    assert call(*command, "--max-cost", 0.2).exit_code == 4
    assert not (folder / "judge.json").exists()
    before = server.stats()["calls"]
    assert 0 < before < 60
    assert call(*command).exit_code == 0


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("ent_a.jsonl", [{**row, "label": 1} for row in ROWS], "60 of 60 labels say supported or yes"),
        ("ent_a.jsonl", ROWS[:6], "6 labels for verdicts"),
        ("ent_a.jsonl", [{"premise": "p", "label": 1}], "row 1: a field is missing or of the wrong form ('claim')"),
        ("mine.jsonl", ROWS, "a set's name begins with ent_, cit_"),
    ],
)
def test_labels_that_cannot_tune_end_with_code_2(
    call: Call, folder: Path, name: str, rows: list[dict[str, Any]], message: str
) -> None:
    """The message says what is wrong with the labels, and nothing is written."""
    data = labelled(folder / name, rows)
    result = call("judges", "tune", "--data", data, "-o", "judge.json")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (folder / "judge.json").exists()


def test_labels_and_a_place_are_needed(call: Call, folder: Path) -> None:
    """Without labels, with an unknown ending, or onto the labels themselves nothing is tuned."""
    data = labelled(folder / "ent_a.json", ROWS)
    assert "give people's labels" in call("judges", "tune", "-o", "judge.json").stderr
    assert "use one of .json" in call("judges", "tune", "--data", data, "-o", "judge.toml").stderr
    assert "is read by this command" in call("judges", "tune", "--data", data, "-o", data).stderr
