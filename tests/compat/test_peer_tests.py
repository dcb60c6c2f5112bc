"""`benchmarks/peer_tests.py` runs another system's tests against our door and counts the outcomes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "peer_tests.py"

TESTS = """
import pytest
from rag_evals.base import ChunkScore
from rag_evals.machinery import Prompt

def test_a_score():
    assert ChunkScore(id_chunk=0, score=0.5).score == 0.5

async def test_another_number():
    assert ChunkScore(id_chunk=0, score=0.5).score == 0.75

def test_of_their_own_machinery():
    assert Prompt("x").render()
"""


def run(source: Path) -> subprocess.CompletedProcess[str]:
    """The benchmark over a checkout."""
    command = [sys.executable, str(SCRIPT), "rag_evals", "--source", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.slow
def test_outcomes_are_counted_with_their_causes(tmp_path: Path) -> None:
    """A test passes, fails, or uses what the door has not, which counts apart; the checkout stays as it is."""
    pytest.importorskip("pydantic")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_base.py").write_text(TESTS, encoding="utf-8")
    done = run(tmp_path)
    assert "| rag_evals | 1 | 1 | 1 |" in done.stdout, done.stdout + done.stderr
    assert "1 × Skipped: uses rag_evals.machinery.Prompt" in done.stdout
    assert "1 × assert 0.5 == 0.75" in done.stdout
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["test_base.py", "tests"]


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    """A wrong folder is one line that says what is missing."""
    done = run(tmp_path)
    assert (done.returncode, "has none of tests; name the folder that holds tests/" in done.stderr) == (2, True)
