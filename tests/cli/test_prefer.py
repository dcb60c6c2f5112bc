"""`ragauge compare --prefer` and `ragauge rank`: what they ask, say and cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.llm.stub.fixture import StubFactory

Call = Callable[..., Any]
PREFER = ("--prefer", "more complete, without errors")


@pytest.fixture
def runs(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with a store of three runs of 8 samples: "old", "new" and "third"."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    for name in ("old", "new", "third"):
        rows = [
            {"query": f"Who wrote book {n}?", "response": f"The {name} one, Ada Bell, wrote {n}."} for n in range(8)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        assert call("run", f"{name}.jsonl", "-m", "max_words(20)", "--name", name).exit_code == 0
    return folder


def test_a_preference_is_priced_asked_and_resumed(call: Call, runs: Path, stub_server: StubFactory) -> None:
    """The price comes first; each sample is asked twice, in calls of their own; the same command asks nothing again."""
    server = stub_server()
    command = ("compare", "old", "new", *PREFER, "-j", f"openai/gpt-4o-mini?base_url={server.url}", "-o", "c.json")
    result = call(*command)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "preference: 16 questions to ask, 0 already answered"
    assert lines[1].startswith("16 calls, about ")
    assert "price $" in lines[1]
    assert server.stats()["calls"] == 16
    assert "preferred ↑" in result.stdout
    assert "asked in both orders; on " in result.stdout
    written = json.loads((runs / "c.json").read_text())
    assert written["preference"]["samples"] == 8
    again = call(*command)
    assert again.stdout.splitlines()[0] == "preference: 0 questions to ask, 16 already answered"
    assert server.stats()["calls"] == 16
    assert call("report", written["preference"]["run"]).exit_code == 0


def test_a_limit_ends_with_4(call: Call, runs: Path, stub_server: StubFactory) -> None:
    """At the limit what was asked is kept and shown, the exit code is 4, and the same command goes on."""
    server = stub_server()
    command = ("compare", "old", "new", *PREFER, "-j", f"openai/m?base_url={server.url}&price=100:100&concurrency=1")
    result = call(*command, "--max-cost", 0.5)
    assert result.exit_code == 4
    assert "stopped: the limit of $0.5 was reached" in result.stderr
    before = server.stats()["calls"]
    assert 0 < before < 16
    assert call(*command).exit_code == 0
    assert server.stats()["calls"] == 16


def test_rank_compares_each_two(call: Call, runs: Path, stub_server: StubFactory) -> None:
    """Three runs are three pairs over 8 samples in two orders, in one run of preferences; the file says the order."""
    server = stub_server()
    command = ("rank", "old", "new", "third", *PREFER, "-j", f"openai/gpt-4o-mini?base_url={server.url}")
    result = call(*command, "-o", "ranking.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "preference: 48 questions to ask, 0 already answered"
    assert server.stats()["calls"] == 48
    assert "new over old ↑" in result.stdout
    assert "won/tied/lost" in result.stdout
    assert len(json.loads((runs / "ranking.json").read_text())["runs"]) == 3


@pytest.mark.parametrize("command", [("compare", "old", "new"), ("rank", "old", "new", "third")])
def test_preferences_that_all_failed_end_with_1(command: tuple[str, ...], call: Call, runs: Path) -> None:
    """Where the judge answers no question at all, the exit code is 1 and the message gives the reason."""
    judge = (
        "import ragauge as rg\nbroken = rg.judge_from(rate=lambda rubric, response, other, **_: 1 / 0, name='broken')"
    )
    (runs / "own.py").write_text(judge, encoding="utf-8")
    result = call(*command, *PREFER, "-j", "python:own:broken")
    assert result.exit_code == 1, result.output
    assert "no preference has a value, the first because: " in result.stderr
    assert "division by zero" in result.stderr


def test_what_cannot_be_preferred_ends_with_2(call: Call, runs: Path) -> None:
    """A judge without grades and runs without claims end with exit code 2, in one line."""
    for command, message in (
        (("compare", "old", "new", *PREFER), "embedded does not answer rate"),
        (("rank", "old", "new", "--prefer", "claims"), "no judged claims in common"),
        (("rank", "old", *PREFER), "two or more different runs"),
        (("compare", "old", "new", "--prefer", ""), "prefer is empty"),
        (("compare", "old", "new", *PREFER, "-j", "openai/my-own", "--max-cost", 1), "price=0.15:0.60"),
    ):
        result = call(*command)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
        assert message in result.stderr
