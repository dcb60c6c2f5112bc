"""Judges on the command line, and fitting a threshold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import ragauge as rg
from ragauge.cli.options import judge_option
from ragauge.errors import BadParameter
from ragauge.run.specs import load_judge

Call = Callable[..., Result]
CASCADE = "cascade(embedded,openai/x?temperature=0,threshold=0.9)"
MODULE = """
import ragauge as rg

mine = rg.judge_from(entail=lambda premise, hypothesis: (hypothesis in premise, 0.99), name="substring/1")
"""


@pytest.mark.parametrize(
    "spec",
    [
        "embedded",
        "openai/gpt-4o-mini?temperature=0",
        "ollama/qwen3:8b?base_url=http://host:1/v1",
        "cohere/x?concurrency=2",
        "recording:runs/a=b.jsonl",
        CASCADE,
        "cascade(embedded,openai/x,entail=0.9)",
        "panel(openai/x?temperature=0,openai/y)",
    ],
)
def test_an_equals_sign_within_a_spec_names_no_kind(spec: str) -> None:
    """A spec with options is one judge for everything; a kind or a topic may precede it."""
    assert judge_option([spec]) == judge_option([f"*={spec}"]) == spec
    for key in ("entail", "classify:toxic", "rate:topical_match"):
        assert judge_option([f"{key}={spec}"])[key] == spec  # type: ignore[index]


def test_one_bare_judge_is_for_the_rest() -> None:
    """A spec without a kind is for all other kinds; two of them are refused."""
    assert judge_option([]) == "embedded"
    assert judge_option([f"entail={CASCADE}", "openai/x?seed=1"]) == {"entail": CASCADE, "*": "openai/x?seed=1"}
    with pytest.raises(BadParameter, match="name a kind for each"):
        judge_option([CASCADE, "openai/x?seed=1"])


def test_a_panel_judges_from_the_command_line(call: Call, folder: Path) -> None:
    """`-j "panel(...)"` runs, and the report states how far the members agreed."""
    (folder / "panel_judges.py").write_text(MODULE)
    result = call("run", "data.jsonl", "-m", "faithfulness", "-j", "panel(embedded,python:panel_judges:mine)")
    assert result.exit_code == 0, result.output
    assert "panel(embedded, substring/1): all agreed on" in " ".join(result.stdout.split())
    assert str(rg.Run.open(folder / ".ragauge").record.judges["*"]) == "panel(embedded, substring/1)"


def test_a_cascade_judges_from_the_command_line(call: Call, folder: Path) -> None:
    """`-j KIND=cascade(...)` runs with options in brackets, and the report states what was passed on."""
    (folder / "cascade_judges.py").write_text(MODULE)
    spec = "entail=cascade(python:cascade_judges:mine,embedded,threshold=0.9)"
    result = call("run", "data.jsonl", "-m", "faithfulness", "-j", spec)
    assert result.exit_code == 0, result.output
    assert "went up to embedded" in " ".join(result.stdout.split())


def test_a_cascade_without_a_threshold_says_how_to_find_one(call: Call) -> None:
    """The error of a cascade without a threshold names the command that fits one."""
    result = call("run", "data.jsonl", "-j", "cascade(openai/y,openai/x)")
    assert result.exit_code == 2
    assert "`ragauge judges tune` finds one on labels of yours" in result.stderr


def test_the_lexical_judge(call: Call, folder: Path) -> None:
    """`-j lexical` judges by words alone, under its own name; it is on the list, and takes no argument."""
    assert "lexical " in call("judges").stdout
    result = call("run", "data.jsonl", "-m", "faithfulness", "-j", "lexical")
    assert result.exit_code == 0, result.output
    assert "compares words, numbers and names, not meaning" in " ".join(result.stdout.split())
    assert str(rg.Run.open(folder / ".ragauge").record.judges["*"]) == "lexical"
    with pytest.raises(BadParameter, match="write 'lexical'"):
        load_judge("lexical:5")
