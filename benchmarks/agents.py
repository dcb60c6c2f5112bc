"""How well measures of an agent's calls tell the runs that reached their goal, and what the embedded judge makes of its
messages.

    python benchmarks/agents.py ../shared/data/eval

The folder holds agent_taubench_airline.jsonl.gz, runs of gpt-4o on tau-bench's airline tasks (Yao et al., 2024) with their
outcome, and agent_claims.jsonl.gz, sentences of agents' messages that the calls support, contradict or do not show. The
first table has the AUC for the outcome, on all runs and on those of tasks that change something, with 95 % intervals
over tasks. The definitions of other systems are computed by `ragauge.compat` where it has them. The outcome replays the
calls of the reference that change something, so measures of these are near it by construction.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ragauge as rg
from ragauge.statistics.agreement import auc, balanced_accuracy, group_interval
from ragauge.types import ToolCall

#: A definition -> the metric that it is, and its value where that is undefined: no call was expected.
DEFINITIONS = {
    "calls that change something, F1": ("tool_calls.f1", 0.0),
    "calls that change something, success": ("tool_calls.success", 0.0),
    "all calls, F1": ("tool_calls(match=all).f1", 0.0),
    "all calls in order, F1": ("tool_calls(match=all,order=in_order).f1", 0.0),
    "names of all calls, F1": ("tool_calls(match=names).f1", 0.0),
}


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a data set."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def claims(folder: Path, judge: str) -> None:
    """Balanced accuracy on sentences: supported by the calls or not."""
    rows = rows_of(folder, "agent_claims")
    labels, groups, probabilities, supported = [], [], [], []
    for row in rows:
        calls = tuple(
            ToolCall(
                call["name"],
                call.get("arguments") or {},
                result=None if call.get("result") is None else json.dumps(call["result"], ensure_ascii=False),
                error=str(call.get("error") or ""),
            )
            for call in row["calls"]
        )
        for sentence in row["sentences"]:
            if sentence["label"] == "no_claim":
                continue
            sample = rg.Sample("1", query=row["request"], response=sentence["text"], tool_calls=calls)
            score = rg.score(sample, "faithfulness(units=sentences,against=calls)", judge)["faithfulness"]
            labels.append(float(sentence["label"] == "supported"))
            groups.append(row["group"])
            supported.append(float(score.value == 1))
            probabilities.append(max((piece.probability or 0.0 for piece in score.evidence), default=0.0))
    value = balanced_accuracy(labels, supported)
    found = group_interval(labels, supported, groups, statistic=balanced_accuracy)
    print(len(labels), "balanced accuracy", value, found, "AUC", auc(labels, probabilities))


if __name__ == "__main__":
    claims(Path("/work/shared/data/eval"), "embedded")
