"""How much memory a run takes as its data grows.

    python benchmarks/memory.py [rouge function LLM embedded] [--sizes 100 1000 10000 100000]

Peak resident memory and seconds of CPU of whole runs from a file into a store on disk, each in a process of its own:
"rouge", which asks no judge; "function", a judge made of functions that answer at once; "LLM", a judge over HTTP,
against the stub server of the tests; "embedded", the embedded judge. Rows are short, and no two are alike.
"bytes a row" is by how much the peak is higher than at the size before, for each additional row.
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
METRICS = {"rouge": "rouge", "function": "faithfulness", "LLM": "faithfulness", "embedded": "faithfulness"}


def main() -> None:
    """Measure one way at one size, or print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("ways", nargs="*", choices=METRICS, default=list(METRICS), help="what to measure")
    options.add_argument("--sizes", nargs="+", type=int, default=[100, 1_000, 10_000, 100_000], help="rows")
    options.add_argument("--url", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.url:
        print(json.dumps(measured(asked.ways[0], asked.sizes[0], asked.url)))
        return
    print(f"{'':10}{'rows':>9}{'CPU s':>9}{'peak MB':>9}{'bytes a row':>13}")
    with StubServer() as stub:
        for way in asked.ways:
            before = None
            for rows in asked.sizes:
                command = [sys.executable, __file__, way, f"--sizes={rows}", f"--url={stub.url}"]
                environment = {**os.environ, "OPENAI_API_KEY": "none"}
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
                seconds, peak = json.loads(done.stdout)
                growth = f"{(peak - before[1]) * 2**20 / (rows - before[0]):13,.0f}" if before else ""
                print(f"{way:10}{rows:9,}{seconds:9.1f}{peak:9.1f}{growth}", flush=True)
                before = rows, peak


def measured(way: str, rows: int, url: str) -> tuple[float, float]:
    """Seconds of CPU of a run, and the peak of this process in megabytes."""
    with TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        with data.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in drawn(rows))
        begun = time.process_time()
        rg.evaluate(data, METRICS[way], judge=judge_of(way, url), store=Path(folder) / "store")
        seconds = time.process_time() - begun
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def judge_of(way: str, url: str) -> Any:
    """The judge of a way."""
    if way == "LLM":
        return f"openai/stub?base_url={url}&concurrency=16"
    if way == "function":
        return rg.judge_from(
            decompose=lambda text: [text],
            entail=lambda premise, hypothesis: "entailed" if hypothesis in premise else "neutral",
        )
    return "embedded"


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
