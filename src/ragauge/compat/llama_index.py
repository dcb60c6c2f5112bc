"""LlamaIndex: ragauge's metrics as its evaluators, for its batch runner; docs/migrating/llama_index.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ragauge as rg
from ragauge.compat import derived
from ragauge.compat.trust_eval import TrustScoreEvaluator as TrustScoreEvaluator


class _MetricEvaluator:
    """One value of a metric, such as "faithfulness" or "rouge.rougeL", as an evaluator of LlamaIndex.

    The feedback names the pieces that count against the response. An undefined or failed score is None, and the result
    invalid, with the reason. judge, store: as for `rg.evaluate`. threshold: the minimum score to pass, or the maximum
    for a metric where lower is better. Raises UsageError for an unknown metric or judge, and for a missing field.
    """

    def __init__(
        self, metric: str, judge: Any = "embedded", *, threshold: float = 0.5, store: Any = None, scorer: Any = None
    ) -> None:
        self.metric, self.threshold = metric, threshold
        self._scorer: rg.Scorer = scorer or rg.Scorer([metric], judge, store)

    async def aevaluate(
        self, query: str | None = None, response: str | None = None, contexts: Sequence[str] | None = None, **more: Any
    ) -> Any:
        """The EvaluationResult of a response. more: other fields of the sample, such as reference=."""
        from llama_index.core.evaluation import EvaluationResult

        texts = {"query": query, "response": response, "contexts": contexts}
        row = {name: text for name, text in {**texts, **more}.items() if text is not None}
        scores = await self._scorer.score_async(self.metric, row)
        metric, key = self._scorer.values[self.metric]
        score, sign = scores[key], 1 if metric.better == "higher" else -1
        return EvaluationResult(
            **texts,
            score=score.value,
            passing=None if score.value is None else sign * score.value >= sign * self.threshold,
            feedback=scores.explain(key),
            invalid_result=score.value is None,
            invalid_reason=score.undefined or score.failed,
        )

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """Prompts belong to the judge."""


def evaluators(*metrics: str, judge: Any = "embedded", threshold: float = 0.5, store: Any = None) -> dict[str, Any]:
    """Metric -> its `MetricEvaluator`, for BatchEvalRunner. They share judgments."""
    made, scorer = __getattr__("MetricEvaluator"), rg.Scorer(metrics, judge, store)
    return {metric: made(metric, threshold=threshold, scorer=scorer) for metric in metrics}


__getattr__ = derived(_MetricEvaluator, "llama-index", "llama_index.core.evaluation", "BaseEvaluator")
