"""The five metrics by valor-lite 0.39, in threads; a worker of benchmarks/llm_flow.py, for an environment of its own.

    pip install valor-lite==0.39.0 openai

Its evaluator has no concurrency; each metric of each sample is a task of a pool of threads, which share one client.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

from measured import METRICS, MODEL, Row, Task, measure, task
from valor_lite.text_generation import Context, Evaluator, QueryResponse


def asked(row: Row) -> QueryResponse:
    """A row as Valor knows it."""
    return QueryResponse(row["query"], row["response"], Context(row["references"], row["contexts"]))


def scored(evaluator: Evaluator, sample: QueryResponse, metric: str) -> bool:
    """Whether a metric of a sample came to a value."""
    try:
        return bool(getattr(evaluator, f"compute_{metric}")(sample).type != "Error")
    except Exception:
        return False


def results(given: Task, evaluator: Evaluator, rows: list[Row]) -> list[bool]:
    """Whether each metric of each row came to a value, metric by metric within a row."""
    tasks = product(map(asked, rows), METRICS)
    with ThreadPoolExecutor(given.width) as pool:
        return list(pool.map(lambda pair: scored(evaluator, *pair), tasks))


def main() -> None:
    """Measure."""
    given = task()
    os.environ["OPENAI_BASE_URL"] = given.url
    evaluator = Evaluator.openai(MODEL, api_key="none", retries=2)
    results(given, evaluator, given.rows[:1])

    def unscored(found: Any) -> int:
        return sum(not all(found[at : at + len(METRICS)]) for at in range(0, len(found), len(METRICS)))

    measure(lambda: results(given, evaluator, given.rows), unscored)


if __name__ == "__main__":
    main()
