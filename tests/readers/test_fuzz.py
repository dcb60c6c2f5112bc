"""Damaged inputs end in a score or in an error that says how to fix them; `benchmarks/fuzz.py` damages them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[2] / "benchmarks" / "fuzz.py"

TEXT = (
    "jsonl,json,csv,tsv,txt,gz,rows,columns,sheet,recordings,labels,batch results,metrics,judges,replies,"
    "decompositions,typed labels"
)


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "count"), [(TEXT, 20_000), ("parquet,arrow,xlsx", 600)], ids=["text", "binary"])
def test_no_damaged_input_ends_in_an_exception_of_another_kind(kinds: str, count: int) -> None:
    """Of thousands of damaged inputs, none raises what is not ragauge's own; `--count 100000` takes a minute or two."""
    command = [sys.executable, str(FUZZ), "--count", str(count), "--only", kinds]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
