"""LangChain: ragauge's metrics as evaluators of langsmith, and as string evaluators; docs/migrating/langchain.md."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import ragauge as rg
from ragauge.compat import derived

Feedback = dict[str, list[dict[str, Any]]]


def evaluator(metrics: Any, judge: Any = "embedded", **options: Any) -> Callable[..., Feedback]:
    """An evaluator for langsmith's `evaluate`: a function of inputs, outputs and reference outputs.

    It returns for each value of `metrics` its key, its score, and a comment that names the pieces which count against
    the output. An undefined or failed score is None, and the comment has the reason.

    Args:
        metrics: as for `rg.evaluate`.
        judge: as for `rg.evaluate`.
        options: as for `rg.evaluate`, such as map={"query": "inputs.topic"} for a column within the inputs.

    Raises:
        UsageError: for an unknown metric or judge; the function raises it for a missing field.
    """
    return rg.blocking(aevaluator(metrics, judge, **options), "ragauge", shared=True)


def aevaluator(metrics: Any, judge: Any = "embedded", **options: Any) -> Callable[..., Coroutine[Any, Any, Feedback]]:
    """The asynchronous `evaluator`, for langsmith's `aevaluate`."""
    router = rg.load_judges(judge)
    with suppress(rg.errors.MissingField):  # of a row without fields; any other error in the metrics is raised
        rg.plan([rg.Sample(id="1")], metrics, router)

    async def ragauge(inputs: Any, outputs: Any, reference_outputs: Any = None) -> Feedback:
        row = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs or None}
        scores = await rg.score_async(row, metrics, router, **options)
        return {
            "results": [{"key": k, "score": score.value, "comment": scores.explain(k)} for k, score in scores.items()]
        }

    return ragauge


class _StringEvaluator:
    """One value of a metric, such as "faithfulness" or "rouge.rougeL", as a string evaluator of LangChain.

    `evaluate_strings` takes prediction, input, reference and contexts=[...], and returns a score and its reasoning, as
    `evaluator` does. judge, options: as for `rg.evaluate`.
    """

    evaluation_name, requires_input, requires_reference = "", True, False

    def __init__(self, metric: str, judge: Any = "embedded", **options: Any) -> None:
        self._scorer = rg.Scorer([metric], judge, **options)
        measure, self._key = self._scorer.values[metric]
        self.evaluation_name = metric
        self.requires_reference = any("references" in need.reads for need in measure.needs)

    def _check_evaluation_args(self, *_: Any, **__: Any) -> None:
        """The metric checks its own arguments."""

    async def _aevaluate_strings(self, *, prediction: Any, **arguments: Any) -> dict[str, Any]:
        fields = {"input": "query", "reference": "references", "contexts": "contexts"}
        row = {
            "response": prediction,
            **{field: arguments[name] for name, field in fields.items() if arguments.get(name)},
        }
        scores = await self._scorer.score_async(self.evaluation_name, row)
        return {"score": scores[self._key].value, "reasoning": scores.explain(self._key)}

    _evaluate_strings = rg.blocking(_aevaluate_strings, "_evaluate_strings", shared=True)


__getattr__ = derived(_StringEvaluator, "langchain", "langchain_classic.evaluation", "StringEvaluator")
