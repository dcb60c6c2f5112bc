"""How many questions of entailment the embedded judge answers, compared with merely counting words.

    python benchmarks/embedded.py

Claims are sentences of the demo's chunks, each held against the three to five chunks of another or the same row.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable
from importlib.resources import as_file, files

import ragauge as rg
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.questions import Entail

ROUNDS = 3


def questions() -> list[Entail]:
    """Six claims for each row of the demo, drawn with a fixed seed."""
    samples: list[rg.Sample] = []
    for name in ("baseline", "candidate"):
        with as_file(files("ragauge.demo") / f"{name}.jsonl") as path:
            samples += rg.read(path)
    chance = random.Random(0)
    claims = [chunk.text.partition(". ")[0] + "." for sample in samples for chunk in sample.contexts or ()]
    premises = [tuple(chunk.passage for chunk in sample.contexts or ()) for sample in samples]
    return [Entail(premise, chance.choice(claims)) for premise in premises for _ in range(6)]


def counted(question: Entail) -> float:
    """The share of the claim's words that the chunks hold: the named alternative."""
    there = set(" ".join(question.premise).lower().split())
    claim = question.hypothesis.lower().split()
    return sum(word in there for word in claim) / len(claim)


def rate(action: Callable[[], object], count: int) -> float:
    """How many of `count` an action does in a second: the median of several rounds."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return count / statistics.median(times)


def main() -> None:
    """Measure and print."""
    asked, judge = questions(), EmbeddedJudge()

    began = time.perf_counter()
    asyncio.run(judge.answer(asked))
    first = len(asked) / (time.perf_counter() - began)
    again = rate(lambda: asyncio.run(judge.answer(asked)), len(asked))
    words = rate(lambda: [counted(question) for question in asked], len(asked))
    print(f"{len(asked)} claims against three to five chunks each, median of {ROUNDS}, one core")
    print(f"chunks not yet read: {first:8.0f} a second")
    print(f"chunks read before:  {again:8.0f} a second")
    print(f"counting words:      {words:8.0f} a second, {words / again:.0f} times as many")


if __name__ == "__main__":
    main()
