from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: By judge the most files, functions and calls in a stack that one sample crosses from the reader to the report.
LIMITS = {"function": (45, 332, 15), "embedded": (55, 431, 15), "llm": (57, 490, 18)}


@pytest.mark.parametrize("judge", LIMITS)
def test_one_sample_crosses_few_functions(judge: str) -> None:
    """One sample crosses no more files, functions and calls in a stack than `scripts/trace.py` may count."""
    done = subprocess.run(
        [sys.executable, "scripts/trace.py", "--judge", judge], cwd=ROOT, capture_output=True, text=True
    )
    counts = re.search(r"files (\d+), functions (\d+), depth (\d+)", done.stdout)
    assert counts, done.stdout + done.stderr
    for count, limit in zip(map(int, counts.groups()), LIMITS[judge], strict=True):
        assert limit / 2 < count <= limit, counts[0]
