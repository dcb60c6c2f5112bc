"""How well definitions of right calls of tools tell which runs of an agent reached their goal, and how well the judge
tells whether an agent's message says what its calls did.

    python benchmarks/agents.py ../shared/data/eval

The folder holds agent_taubench_airline.jsonl.gz, runs of gpt-4o on tau-bench's airline tasks (Yao et al., 2024), four
of each, with their outcome, and agent_claims.jsonl.gz, sentences of agents' messages that the calls support, contradict
or do not show. The first table has the AUC for the outcome on all runs, and on those of tasks whose reference changes
something, with 95 % intervals over tasks. The outcome replays the calls of the reference that change something, so
what counts these is near it by construction. Those of other systems are computed by `ragauge.compat`; those of Google's
ADK are 1 or 0: whether the expected calls are all there in any order, in their order, or are the only ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import ragauge as rg
from ragauge.compat import deepeval
from ragauge.compat.ragas.metrics import ToolCallAccuracy, ToolCallF1
from ragauge.statistics.agreement import auc, balanced_accuracy, group_interval

METRICS = [
    *("tool_calls", "tool_calls(match=all)", "tool_calls(match=all,order=in_order)"),
    *("tool_calls(match=all,order=exact)", "tool_calls(match=names)"),
]
THEIRS = {"ToolCallAccuracy": ToolCallAccuracy(), "ToolCallF1": ToolCallF1()}

Scores = Mapping[str, rg.scores.Score]


def part(key: str) -> Callable[[rg.Sample, Scores], float]:
    """The value of a metric."""
    return lambda _, scores: scores[key].value or 0.0


def all_there(spec: str) -> Callable[[rg.Sample, Scores], float]:
    """Whether all expected calls were made, as they are where none was expected."""
    return lambda _, scores: float(scores[f"{spec}.recall"].value in (1, None))


def tool_correctness(sample: rg.Sample, _: Scores) -> float:
    """DeepEval's score of the names of the calls."""
    called, expected = (
        [deepeval.ToolCall(call.name, output=call.result, input_parameters=call.arguments) for call in calls]
        for calls in (sample.calls.values(), sample.reference_tool_calls or ())
    )
    case = deepeval.LLMTestCase("", "", tools_called=called, expected_tools=expected)
    return deepeval.ToolCorrectnessMetric().measure(case)


DEFINITIONS = {
    "ragauge, calls that change something: F1": part("tool_calls.f1"),
    "ragauge, calls that change something: success": part("tool_calls.success"),
    "ragauge, all calls: F1": part("tool_calls(match=all).f1"),
    "ragauge, names of all calls: F1": part("tool_calls(match=names).f1"),
    "DeepEval ToolCorrectnessMetric": tool_correctness,
    "ragas ToolCallAccuracy": part("ragas_tool_call_accuracy"),
    "ragas ToolCallF1": part("ragas_tool_call_f1"),
    "Google ADK, any order": all_there("tool_calls(match=all)"),
    "Google ADK, in order": all_there("tool_calls(match=all,order=in_order)"),
    "Google ADK, exact": part("tool_calls(match=all,order=exact).success"),
}


def outcomes(path: Path) -> None:
    """The table of definitions, and pass^k."""
    theirs = [metric.measure for metric in THEIRS.values()]
    run = rg.evaluate(path, [*METRICS, *theirs, *(f"pass_all({k})" for k in (1, 2, 3, 4))])
    rows = [(scores.sample, scores) for scores in run.scores]
    writes = [(sample, scores) for sample, scores in rows if scores["tool_calls.recall"].value is not None]
    print(f"AUC for the outcome | {len(rows)} runs | {len(writes)} whose reference changes something")
    for name, value in DEFINITIONS.items():
        cells = []
        for chosen in (rows, writes):
            labels = [float(sample.metadata["outcome"]) for sample, _ in chosen]
            values = [value(sample, scores) for sample, scores in chosen]
            low, high = group_interval(labels, values, [sample.group for sample, _ in chosen]) or (0.0, 1.0)
            cells.append(f"{auc(labels, values):.3f} [{low:.3f}, {high:.3f}]")
        print(f"{name} | {' | '.join(cells)}")
    for key, estimate in run.estimates.items():
        if key.startswith("pass_all"):
            print(f"{key}: {estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]")


def claims(path: Path, judge: str) -> None:
    """How well a judge tells the sentences that the calls support from the others that claim something."""
    rows = [
        {
            "id": f"{row.id}, {place}",
            "query": row.query,
            "response": sentence["text"],
            "tool_calls": row.metadata["calls"],
            "label": sentence["label"],
            "group": row.group,
        }
        for row in rg.read(path, map={"response": "message"})
        for place, sentence in enumerate(row.metadata["sentences"], start=1)
        if sentence["label"] != "no_claim"
    ]
    run = rg.evaluate(rows, "faithfulness(against=calls,units=sentences)", judge)
    labels = [float(row["label"] == "supported") for row in rows]
    scores = [scores["faithfulness"] for scores in run.scores]
    supported = [float(score.value == 1) for score in scores]
    low, high = group_interval(labels, supported, [row["group"] for row in rows], balanced_accuracy) or (0.0, 1.0)
    value = balanced_accuracy(labels, supported)
    print(f"{len(rows)} sentences, {judge}: balanced accuracy {value:.3f} [{low:.3f}, {high:.3f}]")
    for label in ("supported", "contradicted", "unsupported"):
        judged = [judgment for row, judgment in zip(rows, supported, strict=True) if row["label"] == label]
        print(f"{label}: {sum(judged):.0f} of {len(judged)} judged as supported")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judge", default="embedded")
    options = parser.parse_args()
    outcomes(options.folder / "agent_taubench_airline.jsonl.gz")
    claims(options.folder / "agent_claims.jsonl.gz", options.judge)
