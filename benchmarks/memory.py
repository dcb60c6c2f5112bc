"""How much memory a run takes as its data grows.

    python benchmarks/memory.py [--most 100000] [--embedded-most 10000]

Peak resident memory and seconds of whole runs from a file into a store on disk, each in a process of its own: "rouge",
which asks no judge; "embedded", the embedded judge; "LLM", a judge over HTTP, against the stub server of the tests.
Rows are short, and no two are alike.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.llm.stub.process import StubServer

import ragauge as rg

WORDS = (
    "harbour council spring ship water north engine paper light stone river letter market tower house bridge garden "
    "window winter teacher captain village forest island museum station doctor farmer signal mirror".split()
)
SIZES = (100, 1_000, 10_000, 100_000)
METRICS = {"rouge": "rouge", "embedded": "faithfulness", "LLM": "faithfulness"}


def main() -> None:
    """Measure one way at one size, or print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--most", type=int, default=SIZES[-1], help="rows of the largest run")
    options.add_argument("--embedded-most", type=int, default=10_000, help="... with the embedded judge")
    options.add_argument("--one", nargs=3, metavar=("WAY", "ROWS", "JUDGE"), help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.one:
        way, rows, judge = asked.one
        print(json.dumps(measured(METRICS[way], int(rows), judge)))
        return
    print(f"{'':10}{'rows':>9}{'seconds':>9}{'peak MB':>9}")
    with StubServer() as stub:
        for way in METRICS:
            judge = f"openai/stub?base_url={stub.url}&concurrency=16" if way == "LLM" else "embedded"
            most = min(asked.most, asked.embedded_most) if way == "embedded" else asked.most
            for rows in (size for size in SIZES if size <= most):
                command = [sys.executable, __file__, "--one", way, str(rows), judge]
                environment = {**os.environ, "OPENAI_API_KEY": "none"}
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
                seconds, peak = json.loads(done.stdout)
                print(f"{way:10}{rows:9,}{seconds:9.1f}{peak:9.0f}", flush=True)


def measured(metric: str, rows: int, judge: str) -> tuple[float, float]:
    """Seconds of a run, and the peak of this process in megabytes."""
    with TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        with data.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in drawn(rows))
        begun = time.perf_counter()
        rg.evaluate(data, metric, judge=judge, store=Path(folder) / "store")
        seconds = time.perf_counter() - begun
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def drawn(rows: int) -> Iterator[dict[str, Any]]:
    """Rows of two short chunks and a response of one sentence, of which half repeat a sentence of a chunk."""
    chance = random.Random(0)
    for number in range(rows):
        chunks = [f"{sentence(chance, number)} {sentence(chance, number)}" for _ in range(2)]
        response = chunks[0].partition(". ")[0] + "." if number % 2 else sentence(chance, number)
        yield {"query": f"What of {number}?", "response": response, "contexts": chunks, "references": [response]}


def sentence(chance: random.Random, number: int) -> str:
    """A sentence of a dozen words."""
    words: Sequence[str] = [chance.choice(WORDS) for _ in range(9)]
    return f"The {words[0]} of {words[1]} {number} has a {' '.join(words[2:])}."


if __name__ == "__main__":
    main()
