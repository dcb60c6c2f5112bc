"""Judges on the command line, and fitting a threshold."""

from __future__ import annotations

import gzip
import json
import re
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
        "decisions:openai/x?concurrency=2",
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
    assert "ragauge judges fit openai/y --labels FILE" in result.stderr


def _labels(folder: Path, count: int) -> None:
    """Labels for claims that are in their texts, or not."""
    lines = []
    for n in range(count):
        question = {"kind": "entail", "premise": [f"Bridge {n} is red. Bridge {n} is long."]}
        question["hypothesis"] = f"Bridge {n} is red." if n % 2 else f"Bees number {n} make honey."
        answer = "entailed" if n % 2 else "neutral"
        lines.append(json.dumps({"question": question, "answer": answer, "by": "ann"}))
    (folder / "labels.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_threshold_is_fitted_on_labels(call: Call, folder: Path) -> None:
    """`judges fit` prints the threshold, the share beyond it, and a spec that can be used."""
    _labels(folder, 100)
    result = call("judges", "fit", "embedded", "--labels", "labels.jsonl")
    assert result.exit_code == 0, result.output
    words, use = result.stdout.splitlines()
    found = re.fullmatch(r"entail: beyond (0\.8\d?) lie 100% of 100 answers, right in 100\.0%, at least 97\.\d%", words)
    assert found
    assert use == f"use: cascade(embedded,JUDGE,entail={found.group(1)})"
    spec = use.removeprefix("use: ").replace("JUDGE", "openai/gpt-4o-mini")
    assert str(load_judge(spec).identity) == "cascade(embedded, openai/gpt-4o-mini)"


def test_too_few_labels_fit_nothing(call: Call, folder: Path) -> None:
    """If the labels do not show the required accuracy, the nearest threshold is printed."""
    _labels(folder, 20)
    result = call("judges", "fit", "embedded", "--labels", "labels.jsonl")
    assert result.exit_code == 0
    assert "no threshold reaches 95%" in result.stdout
    assert result.stdout.endswith("no threshold qualifies, so a cascade would never use its answer\n")


def test_a_threshold_is_fitted_on_labelled_sets(call: Call, folder: Path) -> None:
    """`judges fit --data` takes the sets that `judges measure` takes."""
    (folder / "sets").mkdir()
    with gzip.open(folder / "sets" / "ent_a.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"premise": f"Lake {n} is deep.", "claim": f"Lake {n} is deep.", "label": 1}) + "\n"
            for n in range(80)
        )
    (folder / "fit_judges.py").write_text(MODULE)
    result = call("judges", "fit", "python:fit_judges:mine", "--data", "sets", "--limit", 70, "--accuracy", 0.9)
    assert result.exit_code == 0, result.output
    assert "use: cascade(python:fit_judges:mine,JUDGE,entail=0.99)" in result.stdout
    assert "of 70 answers" in result.stdout


def test_fitting_needs_labels(call: Call) -> None:
    """Without labels there is nothing to fit on, and the error says what to give."""
    result = call("judges", "fit", "embedded")
    assert result.exit_code == 2
    assert "--labels FILE, or --data FOLDER" in result.stderr


def test_the_lexical_judge(call: Call, folder: Path) -> None:
    """`-j lexical` judges by words alone, under its own name; it is on the list, and takes no argument."""
    assert "lexical " in call("judges").stdout
    result = call("run", "data.jsonl", "-m", "faithfulness", "-j", "lexical")
    assert result.exit_code == 0, result.output
    assert "compares words, numbers and names, not meaning" in " ".join(result.stdout.split())
    assert str(rg.Run.open(folder / ".ragauge").record.judges["*"]) == "lexical"
    with pytest.raises(BadParameter, match="write 'lexical'"):
        load_judge("lexical:5")
