from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

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
