"""What a run costs besides the judge, and what sharing questions saves.

    python benchmarks/run.py [--samples 500]

The judge answers at once, so the time is that of planning, asking, storing and scoring. The named alternative is the
way other frameworks work: each metric asks for itself, in a run of its own.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import ragauge as rg
from ragauge.run.results import Run

METRICS = ["faithfulness", "answer_relevance", "context_precision", "context_recall", "answer_correctness"]


def rows(count: int) -> list[dict[str, object]]:
    """Samples with five contexts of a hundred words, a response of four sentences and a reference of two."""
    return [
        {
            "query": f"What is the rule number {i}?",
            "response": " ".join(f"Rule {i} says {word} is allowed." for word in ("a", "b", "c", "d")),
            "contexts": [f"Rule {i} part {k}. " + "All words count here. " * 25 for k in range(5)],
            "references": [f"Rule {i} says a is allowed. Rule {i} says b is allowed."],
        }
        for i in range(count)
    ]


def instant() -> object:
    """A judge that costs nothing."""
    return rg.judge_from(
        decompose=lambda text: [piece.strip() + "." for piece in text.split(".") if piece.strip()],
        entail=lambda premise, hypothesis: "entailed" if hypothesis in premise else "neutral",
        relevant=lambda query, text: query in text,
        name="instant",
    )


def timed(action: Callable[[], list[Run]], repetitions: int) -> tuple[float, list[Run]]:
    """The median time of an action, and what it gave."""
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - began)
    return statistics.median(times), result


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--samples", type=int, default=500)
    arguments.add_argument("--repetitions", type=int, default=3)
    given = arguments.parse_args()
    data = rows(given.samples)
    together, (one,) = timed(lambda: [rg.evaluate(data, METRICS, instant())], given.repetitions)
    alone, many = timed(lambda: [rg.evaluate(data, [metric], instant()) for metric in METRICS], given.repetitions)
    asked = one.record.asked
    asked_alone = sum(run.record.asked for run in many)
    print(f"{given.samples} samples, {len(METRICS)} metrics, median of {given.repetitions}")
    print(f"together: {asked:>7} questions, {together:6.2f} s, {given.samples / together:7.0f} samples/s")
    print(f"alone:    {asked_alone:>7} questions, {alone:6.2f} s, {given.samples / alone:7.0f} samples/s")
    print(f"ratio:    {asked_alone / asked:7.2f} x          {alone / together:6.2f} x")
    print(f"besides the judge: {together / asked * 1e6:.0f} microseconds a question")


if __name__ == "__main__":
    main()
