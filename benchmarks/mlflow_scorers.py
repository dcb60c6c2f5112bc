"""Our scorers inside MLflow: their numbers beside those of `rg.evaluate`, and their calls beside those of its own.

Run `python benchmarks/mlflow_scorers.py`, with the extra `mlflow` installed. The rows are the packaged answers, each
repeated with other sentences left out, and judged by the embedded judge; calls are counted at the tests' stub of a
provider. MLflow keeps its traces in a file of SQLite that is removed. Exit code 1: a number differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
import time
from importlib.resources import files
from itertools import count, islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.llm.stub.process import StubServer

import ragauge as rg
from ragauge.compat.mlflow import scorers

METRICS = "faithfulness,correctness,rouge(types=rougeL)"
SIX = "faithfulness,answer_relevance,context_precision,context_recall,context_relevance,correctness"

Row = dict[str, Any]


def rows(number: int) -> list[Row]:
    """The packaged answers, over and over, each time without some of their sentences."""
    chance = random.Random(0)
    texts = (
        (files("ragauge.demo") / f"{name}.jsonl").read_text(encoding="utf-8") for name in ("baseline", "candidate")
    )
    packaged = [row for text in texts for row in map(json.loads, text.splitlines()) if row.get("references")]
    return list(islice((changed(row, chance) for _ in count() for row in packaged), number))


def changed(row: Row, chance: random.Random) -> Row:
    """A row whose response lacks some of its sentences."""
    sentences = re.split(r"(?<=[.!?])\s+", row["response"])
    response = " ".join(sentence for sentence in sentences if chance.random() < 0.7) or sentences[0]
    contexts = [context["text"] for context in row["contexts"]]
    return {"query": row["query"], "response": response, "contexts": contexts, "references": row["references"]}


def for_mlflow(given: list[Row]) -> list[Row]:
    """The rows as MLflow takes them; `row` is the place of each."""
    return [
        {
            "inputs": {"query": row["query"], "contexts": row["contexts"], "row": place},
            "outputs": row["response"],
            "expectations": {"expected_response": row["references"][0]},
        }
        for place, row in enumerate(given)
    ]


def scored_by_mlflow(mlflow: Any, given: list[Row]) -> dict[int, dict[str, float | None]]:
    """The value of each metric by the place of its row, None where it has none."""
    mlflow.genai.evaluate(data=for_mlflow(given), scorers=scorers(METRICS))
    traces = mlflow.search_traces(return_type="list", max_results=len(given) + 1)
    return {
        json.loads(trace.data.request)["row"]: {
            said.name: said.feedback.value for said in trace.info.assessments if said.feedback
        }
        for trace in traces
    }


def differing(mlflow: Any, number: int) -> int:
    """Print how many numbers of MLflow's evaluation differ from `rg.evaluate`'s, and the time of both."""
    given = rows(number)
    start = time.perf_counter()
    theirs = scored_by_mlflow(mlflow, given)
    between = time.perf_counter()
    run = rg.evaluate([{**row, "references": row["references"][:1]} for row in given], METRICS, progress=lambda _: None)
    end = time.perf_counter()
    ours = {place: {key: score.value for key, score in scores.items()} for place, scores in enumerate(run.scores)}
    pairs = [(theirs[place].get(key), value) for place in theirs for key, value in ours[place].items()]
    differ = sum(their != our for their, our in pairs)
    empty = sum(our is None for _, our in pairs)
    print(f"{number} rows, MLflow kept {len(theirs)}: of {len(pairs):,} numbers {differ} differ, {empty} are None")
    print(f"  seconds: mlflow.genai.evaluate {between - start:.0f}, rg.evaluate {end - between:.0f}")
    return differ


def calls(mlflow: Any, number: int) -> None:
    """Print how many calls of a model six metrics take a sample, ours and MLflow's own."""
    from mlflow.genai.scorers import Correctness, Guidelines, RelevanceToQuery, Safety

    data, model = for_mlflow(rows(number)), "openai:/gpt-4o-mini"
    os.environ["OPENAI_API_KEY"] = "none"
    with StubServer() as stub:
        os.environ["OPENAI_API_BASE"] = os.environ["OPENAI_BASE_URL"] = stub.url
        mlflow.genai.evaluate(data=data, scorers=scorers(SIX, rg.llm("openai/gpt-4o-mini", base_url=stub.url)))
        ours = stub.stats()["calls"] / number
        stub.reset()
        guidelines = [
            Guidelines(name=name, guidelines=f"It is {name}.", model=model) for name in ("kind", "short", "clear")
        ]
        own = [Correctness(model=model), RelevanceToQuery(model=model), Safety(model=model), *guidelines]
        mlflow.genai.evaluate(data=data, scorers=own)
        theirs = stub.stats()["calls"] / number
    print(f"calls a sample for six metrics, over {number} samples: {ours:g}; six of MLflow's own scorers: {theirs:g}")


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where it puts artifacts
        os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder}/mlflow.db"
        os.environ |= {
            "MLFLOW_SQLALCHEMYSTORE_POOL_SIZE": "50",
            "MLFLOW_GENAI_EVAL_MAX_WORKERS": "3",
        }  # SQLite has locks
        scorers("bleu")  # which asks MLflow to send no telemetry before it is imported
        import mlflow

        mlflow.set_experiment("equal")
        differ = differing(mlflow, options.rows)
        mlflow.set_experiment("calls")
        calls(mlflow, min(options.rows, 40))
    raise SystemExit(bool(differ))


if __name__ == "__main__":
    main()
