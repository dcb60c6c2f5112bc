from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import Result
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.store import Store

Call = Callable[..., Result]


def _message(result: Result) -> str:
    """Standard error on one line."""
    return " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data.json"], "error: data.json: no such file; did you mean 'data.jsonl'?"),
        (["nowhere/data.jsonl"], "there is no folder nowhere either"),
        (["data.ods"], "the extension '.ods' is not known; known: .jsonl"),
        (["data.jsonl", "-m", "faithfulnes"], "unknown metric 'faithfulnes'; did you mean 'faithfulness'?"),
        (["data.jsonl", "-m", "rouge(types=rougeX)"], "rouge"),
        (["data.jsonl", "-m", "rouge(stem=true)"], "unknown parameter of rouge 'stem'"),
        (["data.jsonl", "-m", "bias"], "embedded does not answer classify"),
        (["data.jsonl", "-m", "summary_coherence"], "no sample has 'source'"),
        (["data.jsonl", "-j", "embeded"], "unknown judge 'embeded'; did you mean 'embedded'?"),
        (["data.jsonl", "-j", "entails=embedded"], "did you mean 'entail'?"),
        (["data.jsonl", "-j", "embedded", "-j", "recording:x"], "name a kind for each"),
        (["data.jsonl", "-j", "recording:x.jsonl"], "recording 'x.jsonl' does not exist"),
        (["data.jsonl", "-j", "python:nowhere:mine"], "No module named 'nowhere'"),
        (["data.jsonl", "-j", "python:json:loads"], "python:json:loads is function, not a judge"),
        (["data.jsonl", "-j", "python:json"], "write python:MODULE:NAME"),
        (["data.jsonl", "-o", "data.jsonl"], "data.jsonl is read by this command; choose another file to write"),
        (["data.jsonl", "-o", "data.jsonl/out.json"], "cannot write data.jsonl/out.json"),
        (
            ["data.jsonl", "--fail-under", "faithfulness"],
            "--fail-under faithfulness: write METRIC=NUMBER, or METRIC@COLUMN=VALUE:NUMBER",
        ),
        (["data.jsonl", "-m", "bleu(weights=0+0)"], "weights must add up to more than 0"),
        (["."], "a folder, not a file"),
        (["data.jsonl", "--map", "response"], "write --map NAME=VALUE"),
        (["data.jsonl", "--map", "response=reponse"], "unknown column 'reponse'; did you mean 'response'?"),
        (["data.jsonl", "--map", "respons=response"], "unknown field 'respons'; did you mean 'response'?"),
        (["data.jsonl", "--group", "hous"], "did you mean 'house'?"),
        (["data.jsonl", "--labels", "none.jsonl"], "none.jsonl"),
        (["data.jsonl", "--limit", "0"], "--limit"),
        (["data.jsonl", "--fail-under", "bleu=high"], "--fail-under bleu=high: write METRIC=NUMBER"),
        (["data.jsonl", "--fail-under", "bleu=nan"], "--fail-under bleu=nan: write METRIC=NUMBER"),
        (["data.jsonl", "--fail-under", "blue=0.5"], "did you mean 'bleu'?"),
        (["data.jsonl", "-m", "bleu", "--fail-over", "chrf=0.5"], "unknown metric of this run 'chrf'"),
        (["data.jsonl", "--colour"], "No such option"),
        ([], "give DATA, or --from mlflow:EXPERIMENT"),
    ],
)
def test_a_wrong_call_ends_with_2_before_anything_is_asked(
    call: Call, folder: Path, arguments: list[str], message: str
) -> None:
    """An error is one line with the fix; exit code 2, no judgment, no traceback."""
    result = call("run", *arguments)
    assert result.exit_code == 2
    assert message in _message(result)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    if (folder / ".ragauge").exists():
        assert list(Store.open(folder / ".ragauge").judgments()) == []


def test_a_missing_field_is_one_message(call: Call, folder: Path) -> None:
    """Metrics that lack the same field share one message; if its column serves another field, it says so."""
    answers = call("run", "data.jsonl", "-m", "trust")
    assert "citation" not in _message(answers)
    assert "parametric, trust_score: no sample has 'answers'; name the column with --map answers=COLUMN" in _message(
        answers
    )
    row = {"query": "How is tea?", "answers": ["Tea is hot."], "contexts": ["Tea is hot."], "response": "Hot."}
    (folder / "plain.jsonl").write_text(json.dumps(row), encoding="utf-8")
    refused = call("run", "plain.jsonl", "-m", "trust")
    assert refused.exit_code == 2
    assert _message(refused).count("no sample has 'answers'") == 1
    assert "the column 'answers' is read as 'references', which --map answers=answers changes" in _message(refused)
    assert call("run", "plain.jsonl", "-m", "trust", "--map", "answers=answers").exit_code == 0
    (folder / "empty.jsonl").write_text(json.dumps({**row, "answers": "", "query": ""}), encoding="utf-8")
    empty = call("run", "empty.jsonl", "-m", "answer_correctness")
    assert empty.exit_code == 2
    assert "no sample has 'references' (correct answers); the column 'answers' is empty in all of them" in _message(
        empty
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty; write one sample a row"),
        ("\n\n", "no rows"),
        ("[]", "no rows"),
        ("not json", "row 1: line 1 is not JSON"),
        ('{"a": 1}', "no column of a known name; found: 'a'."),
        ('{"query": "q"}\n{"query": "q", "response": {"no": "text"}}', "row 2, column 'response': an object, not text"),
        ('{"id": "x", "query": "q"}\n{"id": "x", "query": "r"}', "id 'x' was given to row 1 already"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_read(call: Call, folder: Path, content: str, message: str) -> None:
    """Empty files, broken rows and unknown columns are named with the place and the fix; exit code 2."""
    (folder / "odd.jsonl").write_text(content)
    result = call("run", "odd.jsonl")
    assert result.exit_code == 2
    assert _message(result).startswith("error: odd.jsonl")
    assert message in _message(result)


def test_a_broken_row_can_be_skipped(call: Call, folder: Path, rows: list[dict[str, Any]]) -> None:
    """--skip-bad-rows skips a broken row, with count and reason; without it the command ends with 2."""
    lines = [*map(json.dumps, rows[:3]), '{"query": "q", "respo', *map(json.dumps, rows[3:])]
    (folder / "odd.jsonl").write_text("\n".join(lines))
    assert call("run", "odd.jsonl", "-m", "bleu").exit_code == 2
    result = call("run", "odd.jsonl", "-m", "bleu", "--skip-bad-rows")
    assert result.exit_code == 0
    assert "odd.jsonl: 6 samples" in result.stdout
    assert "Rows skipped: 1. Skipped: odd.jsonl, row 4: line 4 is not JSON" in " ".join(result.stdout.split())


def test_only_failures_end_with_1(call: Call, folder: Path) -> None:
    """If every score failed the exit code is 1 with the reason, and the run is kept."""
    call("run", "data.jsonl", "-m", "faithfulness", "--limit", "1", "--store", "first")
    (folder / "other.jsonl").write_text(json.dumps({"query": "q", "response": "Else.", "contexts": ["Something."]}))
    result = call("run", "other.jsonl", "-m", "faithfulness", "-j", "recording:first", "-o", "out.json")
    assert result.exit_code == 1
    assert "no score has a value, the first because: not_recorded" in _message(result)
    assert json.loads((folder / "out.json").read_text())["estimates"]["faithfulness"]["failed"] == 1


def test_some_failures_end_with_1(call: Call, folder: Path) -> None:
    """If some scores failed the exit code is 1 with their number and the reason; the others are printed and written."""
    call("run", "data.jsonl", "-m", "faithfulness", "--limit", "2", "--store", "first")
    result = call("run", "data.jsonl", "-m", "faithfulness", "-j", "recording:first", "-o", "out.json")
    assert result.exit_code == 1
    assert "scores failed (faithfulness 4), the first because: not_recorded" in _message(result)
    assert json.loads((folder / "out.json").read_text())["estimates"]["faithfulness"]["n"] == 2


def test_failed_scores_are_named_beside_a_gate(call: Call, folder: Path) -> None:
    """With 3, for a gate, as with 1, what failed is printed and comes first in the summary and the test of the run."""
    call("run", "data.jsonl", "-m", "faithfulness,token_f1", "--limit", "2", "--store", "first")
    judged = ("run", "data.jsonl", "-m", "faithfulness,token_f1", "-j", "recording:first")
    result = call(*judged, "--fail-under", "token_f1=0.99", "-o", "out.md", "-o", "out.xml")
    failed = "scores failed (faithfulness 4), the first because: not_recorded"
    assert result.exit_code == 3
    assert "gate failed: token_f1" in _message(result)
    assert failed in _message(result)
    (first, *_) = [line for line in (folder / "out.md").read_text().splitlines() if line.startswith("- ")]
    assert first.startswith(f"- ❌ **{failed}")
    case = ElementTree.parse(folder / "out.xml").find(".//testcase[@name='run']/error")
    assert case is not None
    assert str(case.get("message")).startswith(failed)


def test_files_of_an_earlier_run_are_replaced_although_nothing_was_done(
    call: Call, folder: Path, stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a key is refused from the start the files say so, with the gates failed, and no run is kept."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    gated = ("run", "data.jsonl", "-m", "faithfulness", "--fail-under", "faithfulness=0.5")
    outputs = ("-o", "out.xml", "-o", "out.md", "-o", "out.json", "-o", "out.html", "-o", "out.sarif")
    assert call(*gated, *outputs, "--no-store").exit_code == 0
    server = stub_server(key="another")
    result = call(*gated, *outputs, "-j", f"openai/gpt-4o-mini?base_url={server.url}", "--store", "kept")
    assert result.exit_code == 1, result.stderr
    assert "error: no sample was done: openai/gpt-4o-mini cannot answer any more: unauthorized" in _message(result)
    suite = ElementTree.parse(folder / "out.xml").getroot()[0]
    assert (suite.get("errors"), suite.get("failures")) == ("1", "1")
    run = json.loads((folder / "out.json").read_text())["run"]
    assert run["status"] == "stopped"
    assert "unauthorized" in run["stopped"]
    report = (folder / "out.md").read_text()
    assert "❌ **The run is stopped because openai/gpt-4o-mini cannot answer any more: unauthorized" in report
    assert "no sample was done" not in report
    assert "the same command goes on" not in report
    assert not json.loads((folder / "out.sarif").read_text())["runs"][0]["invocations"][0]["executionSuccessful"]
    assert Store.open(folder / "kept").runs() == []


def test_the_worst_samples_are_those_of_the_gate_that_failed(call: Call, folder: Path) -> None:
    """After a run and in a report the samples shown are the worst by the failed gate, and both list the gates."""
    metrics = ("-m", "faithfulness,token_f1", "--fail-under", "token_f1=1", "--fail-under", "faithfulness=0.1")
    ran = call("run", "data.jsonl", *metrics)
    reported = call("report")
    for result in (ran, reported):
        assert "Worst by token_f1" in result.stdout
    for line in ("gate failed: token_f1 is 0.", "gate holds: faithfulness ≥ 0.1"):
        assert line in reported.stdout
        assert line in ran.stderr
    assert reported.exit_code == 0


def test_a_gate_without_a_value_says_why(call: Call, folder: Path) -> None:
    """The line of a gate on a metric that failed everywhere has the reason."""
    call("run", "data.jsonl", "-m", "faithfulness", "--limit", "1", "--store", "first")
    (folder / "other.jsonl").write_text(json.dumps({"query": "q", "response": "Else.", "contexts": ["Something."]}))
    judged = ("run", "other.jsonl", "-m", "faithfulness,max_words(5)", "-j", "recording:first")
    result = call(*judged, "--fail-under", "faithfulness=0.5")
    assert "gate failed: faithfulness has no value (0 of 1 sample: not_recorded" in _message(result)


def test_only_undefined_scores_end_with_1(call: Call, folder: Path) -> None:
    """If every score is undefined the exit code is 1 as well, with the reason."""
    (folder / "empty.jsonl").write_text(json.dumps({"query": "Who?", "response": "", "contexts": ["Ada."]}))
    result = call("run", "empty.jsonl", "-m", "faithfulness")
    assert result.exit_code == 1
    assert "no score has a value, the first because: the response makes no claim" in _message(result)


def test_a_broken_store_ends_with_1(call: Call, folder: Path) -> None:
    """A file that is no store ends the command with 1 and says what to do."""
    (folder / "store.db").write_text("something else, and long enough to be taken for a database" * 20)
    result = call("run", "data.jsonl", "--store", "store.db")
    assert result.exit_code == 1
    assert "not a SQLite database; give another path with --store" in _message(result)


@pytest.mark.parametrize(
    ("gates", "code", "complaint"),
    [
        (["--fail-under", "token_f1=0.1"], 0, ""),
        (["--fail-over", "hallucination=0"], 0, ""),
        (["--fail-under", "token_f1=0.999"], 3, "gate failed: token_f1 is 0."),
        (["--fail-under", "token_f1=0.1", "--fail-under", "exact_match=0.5"], 3, "exact_match is 0.000, below 0.5"),
        (["--fail-under", "rouge(stemmer=true).rouge1=0.999"], 3, "gate failed: rouge(stemmer=true).rouge1 is 0."),
        (["--fail-under", "rouge(types=rouge1).rouge1=0.999"], 3, "rouge(types=rouge1).rouge1 is 0."),
        (["--fail-under", "rouge( stemmer = true ).rouge1=0.999"], 3, "gate failed: rouge(stemmer=true).rouge1 is"),
        (["--fail-under", "pooled(faithfulness)=0"], 0, ""),
        (["--fail-under", "token_f1=0.1", "--min-measured", "1"], 0, "gate holds: token_f1 ≥ 0.1 (6 samples)"),
    ],
)
def test_gates(call: Call, gates: list[str], code: int, complaint: str) -> None:
    """--fail-under and --fail-over end the command with 3 if an estimate is beyond them, and name it."""
    metrics = "token_f1,exact_match,hallucination,rouge(types=rouge1),rouge(stemmer=true),pooled(faithfulness)"
    result = call("run", "data.jsonl", "-m", metrics, *gates)
    assert result.exit_code == code
    assert complaint in result.stderr
    assert "token_f1" in result.stdout


def test_a_gate_is_on_what_summaries_are_measured_by(call: Call, folder: Path) -> None:
    """Without -m a gate may be on the variants against the source, which the data call for."""
    (folder / "sum.jsonl").write_text(json.dumps({"document": "Ada wrote it.", "summary": "Ada wrote it."}))
    result = call("run", "sum.jsonl", "--fail-under", "faithfulness(against=source)=0.9")
    assert "gate holds: faithfulness(against=source) ≥ 0.9 (1 sample)" in result.stderr


def test_a_value_above_its_gate_fails(call: Call, folder: Path) -> None:
    """--fail-over ends the command with 3 if a metric of which less is better is higher."""
    row = {"query": "When?", "response": "The bridge opened in 1950.", "contexts": ["The bridge opened in 1910."]}
    (folder / "wrong.jsonl").write_text(json.dumps(row))
    result = call("run", "wrong.jsonl", "-m", "hallucination", "--fail-over", "hallucination=0.1")
    assert (result.exit_code, "hallucination is 1.000, above 0.1" in result.stderr) == (3, True)


@pytest.mark.parametrize(
    ("gate", "complaint"),
    [
        ("--fail-under hallucination=0.5", "lower is better for hallucination, so good runs would fail"),
        ("--fail-under hallucination=0.5", "write --fail-over hallucination=0.5"),
        ("--fail-over faithfulness=0.5", "write --fail-under faithfulness=0.5"),
        ("--fail-under faithfulness=5", "off the scale of faithfulness; give a number from 0 to 1"),
        ("--fail-under summary_coherence=0.5", "off the scale of summary_coherence; give a number from 1 to 5"),
        ("--min-measured 0.5", "--min-measured is for gates; add --fail-under METRIC=NUMBER"),
        ("--fail-over pooled(hallucination)=-1", "off the scale of pooled(hallucination)"),
    ],
)
def test_an_invalid_gate_is_refused(call: Call, folder: Path, gate: str, complaint: str) -> None:
    """A gate on the better side, or off the metric's scale, ends with 2 and the fix, before anything is judged."""
    metrics = "faithfulness,hallucination,summary_coherence,pooled(hallucination)"
    result = call("run", "data.jsonl", "-m", metrics, *gate.split())
    assert (result.exit_code, complaint in _message(result)) == (2, True), result.stderr
    assert not (folder / ".ragauge").exists()


def test_a_gate_on_a_metric_without_a_value_fails(call: Call, folder: Path) -> None:
    """A metric without a value, or left out, has not passed: exit code 3."""
    (folder / "few.jsonl").write_text(json.dumps({"query": "Who?", "response": "", "contexts": ["Who? Ada."]}))
    undefined = call("run", "few.jsonl", "-m", "faithfulness,context_relevance", "--fail-under", "faithfulness=0")
    left_out = call("run", "few.jsonl", "--fail-over", "bias=1")
    assert (undefined.exit_code, left_out.exit_code) == (3, 3)
    assert "gate failed: faithfulness has no value" in undefined.stderr
    assert "gate failed: bias has no value" in left_out.stderr


def test_outputs_are_written_although_a_gate_fails(call: Call, folder: Path) -> None:
    """A failing gate does not prevent the files from being written."""
    result = call("run", "data.jsonl", "-m", "token_f1", "--fail-under", "token_f1=1", "-o", "out.json")
    assert result.exit_code == 3
    assert json.loads((folder / "out.json").read_text())["run"]["id"] == rg.Run.open(folder / ".ragauge").id


def test_a_server_without_log_probabilities_is_one_line(start: Callable[..., Any], stub_server: StubFactory) -> None:
    """The error is all that its process writes: nothing says that a connection was left open."""
    judge = f"vllm/m?base_url={stub_server(without=['logprobs']).url}&logprobs=true"
    stdout, stderr = start("run", "data.jsonl", "-m", "faithfulness", "-j", judge).communicate(timeout=60)
    assert (stdout, stderr.count("\n")) == ("", 1), stderr
    assert "gives no log-probabilities" in stderr
