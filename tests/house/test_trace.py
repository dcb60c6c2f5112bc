from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: What one sample may cross from the reader to the report.
FILES, FUNCTIONS, DEPTH = 40, 300, 15


def test_one_sample_crosses_few_functions() -> None:
    """`scripts/trace.py` counts at most 40 files, 300 functions and a stack of 15 of our own."""
    done = subprocess.run([sys.executable, "scripts/trace.py"], cwd=ROOT, capture_output=True, text=True)
    found = re.search(r"files (\d+), functions (\d+), depth (\d+)", done.stdout)
    assert found, done.stdout + done.stderr
    files, functions, depth = map(int, found.groups())
    assert 20 <= files <= FILES
    assert 100 <= functions <= FUNCTIONS
    assert 8 <= depth <= DEPTH
