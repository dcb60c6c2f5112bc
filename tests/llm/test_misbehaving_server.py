"""Whole runs against a server that misbehaves, as `benchmarks/faults.py` measures them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ragauge

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "faults.py"
MIXES = ("mix-statuses", "mix-bodies", "mix-replies", "mix-all")
ENDING = ("429-absurd", "limits-absurd", "308-elsewhere")


def _measured(*names: str) -> tuple[int, str]:
    """The exit code and the last line of the benchmark with these faults."""
    arguments = [argument for name in names for argument in ("--only", name)]
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--samples", "20", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(ragauge.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.stdout, done.stderr
    return done.returncode, done.stdout


@pytest.mark.slow
def test_no_mix_of_faults_loses_a_score_or_makes_one_wrong() -> None:
    """With 20 % of the replies faulty, in status, body, text or all of these, scores are those of a clean run."""
    code, table = _measured(*MIXES)
    assert ": 0 unscored, 0 wrong, 0 runs bad" in table, table
    assert code == 0, table


@pytest.mark.slow
def test_a_run_that_a_server_ends_is_complete_when_run_again() -> None:
    """Asked to wait for a year, or redirected to another origin, a run says so, sends nothing, and can be resumed."""
    code, table = _measured(*ENDING)
    assert table.count("complete when run again") == len(ENDING), table
    assert code == 0, table
