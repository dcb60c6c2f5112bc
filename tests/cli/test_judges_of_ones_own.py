from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import ragauge as rg

Call = Callable[..., Result]

MODULE = """
import ragauge as rg

mine = rg.judge_from(entail=lambda premise, hypothesis: hypothesis in premise, name="substring/1")
down = rg.judge_from(entail=lambda premise, hypothesis: 1 / 0, name="down")
"""


def test_a_judge_in_a_module_is_named_on_the_command_line(call: Call, folder: Path) -> None:
    """`-j entail=python:MODULE:NAME` takes a judge from a Python module in the working folder."""
    (folder / "my_judges.py").write_text(MODULE)
    result = call("run", "data.jsonl", "-m", "faithfulness", "-j", "entail=python:my_judges:mine")
    assert result.exit_code == 0, result.output
    assert {str(judge) for judge in rg.Run.open(folder / ".ragauge").record.judges.values()} == {
        "substring/1",
        "embedded",
    }


def test_failures_have_a_reason(call: Call, folder: Path) -> None:
    """The reason is below the table, and the exit code is 1 if every score failed."""
    (folder / "my_judges.py").write_text(MODULE)
    result = call("run", "data.jsonl", "-m", "faithfulness", "-j", "entail=python:my_judges:down")
    assert result.exit_code == 1
    assert "Failed at least once: faithfulness: judge_error: entail() raised ZeroDivisionError" in result.stdout


def test_labels_that_match_nothing_are_mentioned(call: Call, folder: Path) -> None:
    """A label for other texts is not used, and the report says so."""
    question = {"kind": "entail", "premise": ["another text"], "hypothesis": "A claim."}
    line = json.dumps({"question": question, "answer": "entailed", "by": "ann"})
    (folder / "labels.jsonl").write_text(line + "\n")
    result = call("run", "data.jsonl", "-m", "faithfulness", "--labels", "labels.jsonl")
    assert result.exit_code == 0
    assert "No label was used" in " ".join(result.stdout.split())


CHECKS = """
import ragauge as rg


@rg.check
def short(sample, *, words=50):
    return len(sample.response.split()) <= words


def polite(sample):
    return "book" in sample.response, "it names the book"


limit = 3
"""


@pytest.mark.parametrize("place", ["checks.py:", "python:checks:", "python:checks.py:"])
def test_checks_of_ones_own_are_named_on_the_command_line(call: Call, folder: Path, place: str) -> None:
    """`-m` takes functions and metrics from a file or module in the working folder, with parameters, and gates them."""
    (folder / "checks.py").write_text(CHECKS)
    metrics = f"{place}short(words=3),{place}polite,max_words(100)"
    done = call("run", "data.jsonl", "-m", metrics, "--fail-under", "polite=0.5", "--fail-under", "short=0.5")
    assert (done.exit_code, "gate failed: short is 0.000" in done.stderr) == (3, True), done.output
    estimates = rg.Run.open(folder / ".ragauge").estimates
    assert {key: one.value for key, one in estimates.items()} == {"short": 0, "polite": 1, "max_words": 1}
    scored = call("score", "-", "-m", f"{place}polite", "--no-store", input='{"response": "no"}\n')
    assert json.loads(scored.stdout)["scores"]["polite"]["value"] == 0


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("checks.py:shrt", "did you mean 'short'"),
        ("checks.py:short(wrods=3)", "did you mean 'words'"),
        ("checks.py:limit", "name a function of a sample"),
        ("chekcs.py:short", "check the path"),
        ("python:chekcs:short", "must be in this folder or installed"),
        ("broken.py:short", "SyntaxError"),
        ("python:broken:short", "importing it raised SyntaxError"),
    ],
)
def test_mistakes_in_checks_of_ones_own(call: Call, folder: Path, spec: str, named: str) -> None:
    """What cannot be imported or measured is reported before anything runs, and nothing is stored."""
    (folder / "checks.py").write_text(CHECKS)
    (folder / "broken.py").write_text("def short(:")
    done = call("run", "data.jsonl", "-m", spec)
    assert (done.exit_code, named in done.stderr) == (2, True), done.stderr
    assert not (folder / ".ragauge").exists()


def test_a_spec_that_is_not_typed_runs_no_code(folder: Path) -> None:
    """Only the command line names code: in the specs of programs, stores and files it is refused."""
    (folder / "evil.py").write_text("open('ran', 'w')\n\ndef check(sample):\n    return 1\n")
    with pytest.raises(rg.errors.UsageError, match="a function of your own is itself given"):
        rg.evaluate("data.jsonl", "evil.py:check")
    assert not (folder / "ran").exists()
