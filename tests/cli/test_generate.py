from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Call = Callable[..., Result]

SAMPLES: list[dict[str, Any]] = [
    {"id": "a", "query": "Is the kettle warm?", "contexts": ["The kettle is warm.", "Ice is cold."]},
    {"id": "b", "query": "Who sweeps chimneys?", "contexts": ["The kettle is warm."]},
    {"id": "c", "query": "Is the kettle red?"},
]
COMMAND = ("generate", "samples.jsonl", "-o", "answers.jsonl")


@pytest.fixture
def workplace(folder: Path) -> Path:
    """A folder with samples."""
    (folder / "samples.jsonl").write_text("\n".join(map(json.dumps, SAMPLES)), encoding="utf-8")
    return folder


@pytest.fixture
def model(stub_server: Callable[..., Any]) -> str:
    """A model served over HTTP."""
    return f"openai/gpt-4o-mini?base_url={stub_server().url}"


def _answers(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()]


def test_answers_are_written_and_counted(call: Call, workplace: Path, model: str) -> None:
    """One sample is answered with a citation, one declined, one cannot be asked; all three are in the file."""
    result = call(*COMMAND, "-j", model)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "openai/gpt-4o-mini: 2 answers to 3 samples, 1 of them refusals; 2 asked for, 0 known"
    assert lines[1].startswith("without response: 1 sample, the first because no_documents: the sample has no contexts")
    assert lines[2].startswith("2 calls, ")
    assert lines[3] == "wrote answers.jsonl; measure it with: ragauge run answers.jsonl -m trust"
    answers = _answers(workplace)
    assert [row.get("response") for row in answers] == [
        "The kettle is warm [1].",
        "I apologize, but I couldn't find an answer in the documents.",
        None,
    ]
    assert answers[0]["system"] == "openai/gpt-4o-mini"


def test_the_same_command_asks_only_for_what_is_missing(call: Call, workplace: Path, model: str) -> None:
    """Answers are known the second time; another refusal is another prompt."""
    call(*COMMAND, "-j", model)
    assert "0 asked for, 2 known" in call(*COMMAND, "-j", model).output
    assert "2 asked for, 0 known" in call(*COMMAND, "-j", model, "--refusal", "Nothing.").output
    assert _answers(workplace)[1]["response"] == "Nothing."
    assert "2 asked for, 0 known" in call(*COMMAND, "-j", model, "--no-store").output


def test_a_custom_refusal_is_measured_as_one(call: Call, workplace: Path, model: str) -> None:
    """The sentence of --refusal counts as a refusal at once, and in the run that reads the file."""
    result = call(*COMMAND, "-j", model, "--refusal", "Nothing on file.", "--limit", 2)
    assert "2 answers to 2 samples, 1 of them refusals" in result.output
    assert _answers(workplace)[1]["response"] == "Nothing on file."
    call("run", "answers.jsonl", "-m", "answered_ratio", "-o", "run.json")
    estimate = json.loads((workplace / "run.json").read_text(encoding="utf-8"))["estimates"]["answered_ratio"]
    assert estimate["value"] == 0.5


def test_options_of_generate(call: Call, workplace: Path, model: str) -> None:
    """Form, examples, number of documents and the judge of citations can be chosen."""
    shot = {"query": "q", "contexts": ["c"], "response": "Yes [1]."}
    (workplace / "shots.jsonl").write_text(json.dumps(shot), encoding="utf-8")
    options = ["--form", "list", "--shots", "shots.jsonl", "--shot-count", 1, "--seed", 3, "--top", 1, "--no-refusal"]
    result = call(*COMMAND, "-j", model, *options, "--cite", "embedded", "--limit", 1)
    assert result.exit_code == 0, result.output
    (row,) = _answers(workplace)
    assert len(row["contexts"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-j", "nobody/model"], "unknown provider 'nobody'"),
        (["-j", "embedded"], "write PROVIDER/MODEL"),
        (["-j", "openai/m?temperatur=1"], "unknown option 'temperatur'; did you mean 'temperature'?"),
        (["-j", "openai/m", "--refusal", "No.", "--no-refusal"], "give --refusal SENTENCE, or --no-refusal alone"),
        (["-j", "openai/m", "--shots", "samples.jsonl"], "samples that can be examples: 0, of 2 that are needed"),
        (["-j", "ollama/m", "--cite", "nobody"], "unknown judge 'nobody'"),
    ],
)
def test_wrong_calls_end_with_2(arguments: list[str], message: str, call: Call, workplace: Path) -> None:
    """An error in the call or the data is one line, and nothing is written."""
    result = call(*COMMAND, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (workplace / "answers.jsonl").exists()


def test_a_limit_ends_with_4(call: Call, workplace: Path, stub_server: Callable[..., Any]) -> None:
    """At --max-cost finished answers are written and the command says how to continue."""
    rows = [{**SAMPLES[0], "id": str(n), "query": f"Is kettle {n} warm?"} for n in range(20)]
    (workplace / "samples.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = f"openai/m?base_url={stub_server().url}&price=100:100&concurrency=1"
    result = call(*COMMAND, "-j", model, "--max-cost", 0.5)
    assert result.exit_code == 4
    assert "stopped: the limit of $0.5 was reached; run the same command again to resume" in result.stderr
    answered = sum("response" in row for row in _answers(workplace))
    assert 0 < answered < 20
    assert f"; {answered} asked for, 0 known" in result.output


def test_no_answer_ends_with_1(call: Call, workplace: Path, stub_server: Callable[..., Any]) -> None:
    """If no sample is answered the command fails, and the file has the reason for each."""
    result = call(*COMMAND, "-j", f"openai/m?base_url={stub_server(key='right').url}")
    assert result.exit_code == 1
    assert "no sample is whole, the first because" in result.stderr
    assert "wrote answers.jsonl\n" in result.output
    assert all(row["metadata"]["failed"]["response"] for row in _answers(workplace))
