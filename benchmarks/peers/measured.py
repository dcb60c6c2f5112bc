"""What a system measured by `benchmarks/llm_flow.py` has in common with the others: a process of its own.

It gets ready with one sample, says so on its output, waits for a line on its input, works, and prints what that took:
{"seconds": wall time, "cpu": seconds of CPU of the process, "unscored": samples that lack a score}. Needs Python alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

METRICS = ("faithfulness", "answer_relevance", "context_precision", "context_recall", "answer_correctness")
MODEL = "gpt-4o-mini"

Row = Mapping[str, Any]


class Task(NamedTuple):
    """What to measure: rows, by calls to the server at `url`, with a given concurrency. way: one of several."""

    rows: list[Row]
    url: str
    width: int
    way: str


def task() -> Task:
    """The task that the arguments name."""
    arguments = argparse.ArgumentParser(description="A worker of benchmarks/llm_flow.py.")
    arguments.add_argument("rows", type=Path)
    arguments.add_argument("--url", required=True)
    arguments.add_argument("--width", type=int, required=True)
    arguments.add_argument("--way", default="")
    given = arguments.parse_args()
    lines = given.rows.read_text(encoding="utf-8").splitlines()
    return Task([json.loads(line) for line in lines], given.url, given.width, given.way)


def measure(work: Callable[[], Any], unscored: Callable[[Any], int], more: Mapping[str, float] | None = None) -> None:
    """Do the work after a line of input, and print what it took. unscored: counts by the result. more: to print."""
    tell("ready")
    sys.stdin.readline()
    began, cpu = time.perf_counter(), time.process_time()
    result = work()
    took = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    tell(json.dumps({**took, "unscored": unscored(result), **(more or {})}))


def tell(line: str) -> None:
    """Say something to the benchmark."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
