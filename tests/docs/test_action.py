"""The GitHub action: its steps are run by bash, as GitHub runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the action runs on Linux and macOS")


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A folder as of a runner, with data; ragauge is installed as far as a launcher for this Python."""
    launcher = tmp_path / "temp" / "ragauge" / "bin" / "ragauge"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ragauge "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    row = '{"query": "Who?", "response": "Ada wrote it.", "contexts": ["Ada wrote it."], "references": ["Ada."]}\n'
    (tmp_path / "answers.jsonl").write_text(row * 3, encoding="utf-8")
    return tmp_path


def step(
    name: str, folder: Path, python_path: str = str(ROOT / "src"), **inputs: str
) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does, with inputs in place of the defaults."""
    (found,) = [one for one in ACTION["runs"]["steps"] if one["name"] == name]
    given = {key: inputs.get(key.replace("-", "_"), one.get("default", "")) for key, one in ACTION["inputs"].items()}
    filled = {
        variable: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], value)
        for variable, value in found["env"].items()
    }
    places = {name: str(folder / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": python_path,
            "RUNNER_TEMP": str(folder / "temp"),
            "GITHUB_ACTION_PATH": str(ROOT),
            **places,
            **filled,
        },
        capture_output=True,
        text=True,
    )


def outputs(folder: Path) -> dict[str, str]:
    """What the steps gave out."""
    return dict(line.split("=", 1) for line in (folder / "github_output").read_text(encoding="utf-8").splitlines())


@pytest.mark.slow
def test_a_run_writes_junit_sarif_and_the_summary(runner: Path) -> None:
    """Gates that hold let the step succeed, with JUnit, SARIF and the summary at the paths that it gives out."""
    gates = {"fail_under": "token_f1=0.1\nbleu=0\n", "min_measured": "0.9"}
    done = step("Measure", runner, data="answers.jsonl", metrics="bleu,token_f1", **gates)
    assert done.returncode == 0, done.stderr
    given = outputs(runner)
    assert given["exit-code"] == "0"
    suite = ElementTree.parse(given["junit"]).getroot()
    assert {case.get("name") for case in suite.iter("testcase")} >= {"bleu", "token_f1"}
    assert '"version": "2.1.0"' in Path(given["sarif"]).read_text(encoding="utf-8")
    summary = (runner / "github_step_summary").read_text(encoding="utf-8")
    assert summary == Path(given["summary"]).read_text(encoding="utf-8")
    assert "token_f1" in summary


@pytest.mark.slow
def test_a_gate_that_fails_fails_the_step_after_everything_is_written(runner: Path) -> None:
    """A failed gate exits with 3, and the files and the summary are there nevertheless."""
    options = "--limit\n2\n--no-store"
    done = step("Measure", runner, data="answers.jsonl", metrics="bleu", fail_under="bleu=0.9", options=options)
    assert (done.returncode, outputs(runner)["exit-code"]) == (3, "3")
    assert "gate failed: bleu" in done.stderr
    assert "bleu" in (runner / "github_step_summary").read_text(encoding="utf-8")
    assert not (runner / ".ragauge").exists()


@pytest.mark.slow
def test_a_check_of_ones_own(runner: Path) -> None:
    """A metric may be a function in a file of the repository that is checked out."""
    (runner / "checks.py").write_text("def named(sample):\n    return 'Ada' in sample.response\n", encoding="utf-8")
    done = step("Measure", runner, data="answers.jsonl", metrics="checks.py:named", fail_under="named=1")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_wrong_file_is_reported(runner: Path) -> None:
    """A file that is not there fails the step with the message of the command, and no path is given out."""
    done = step("Measure", runner, data="answer.jsonl")
    assert done.returncode == 2
    assert "answer.jsonl: no such file" in done.stderr
    assert outputs(runner) == {"exit-code": "2"}


def test_inputs_are_no_code(runner: Path) -> None:
    """What an input holds is an argument and never a command; expressions stand in no script."""
    done = step("Measure", runner, data="$(touch pwned); `touch pwned`", metrics='bleu"; touch pwned; "')
    assert done.returncode == 2
    assert not (runner / "pwned").exists()
    assert not [one["name"] for one in ACTION["runs"]["steps"] if "${{" in one.get("run", "")]


def test_every_input_reaches_a_step() -> None:
    """Each input is read by a step, and the example of the documentation gives none that there is not."""
    steps = str(ACTION["runs"]["steps"])
    assert [name for name in ACTION["inputs"] if f"inputs.{name} " not in steps] == []
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(encoding="utf-8"), re.DOTALL)
    steps_shown: list[dict[str, Any]] = yaml.safe_load(example)["jobs"]["measure"]["steps"]
    (shown,) = [one["with"] for one in steps_shown if "ragauge" in one["uses"]]
    assert set(shown) <= set(ACTION["inputs"])


@pytest.mark.slow
def test_the_action_installs_what_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step installs ragauge from the repository into an environment of its own, and the second uses it."""
    pytest.importorskip("hatchling")
    (tmp_path / "temp").mkdir()
    (tmp_path / "answers.jsonl").write_text('{"response": "Ada.", "references": ["Ada."]}\n', encoding="utf-8")
    # Nothing is downloaded: the build backend and the dependencies are those of this Python.
    for name, value in {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}.items():
        monkeypatch.setenv(name, value)
    installed = step("Install", tmp_path, python_path=sysconfig.get_path("purelib"))
    assert installed.returncode == 0, installed.stderr
    (package,) = (tmp_path / "temp" / "ragauge").glob("lib/python*/site-packages/ragauge/__init__.py")
    assert package.read_bytes() == (ROOT / "src/ragauge/__init__.py").read_bytes()
    done = step(
        "Measure", tmp_path, data="answers.jsonl", metrics="token_f1", python_path=sysconfig.get_path("purelib")
    )
    assert done.returncode == 0, done.stderr
    assert "token_f1" in (tmp_path / "github_step_summary").read_text(encoding="utf-8")
