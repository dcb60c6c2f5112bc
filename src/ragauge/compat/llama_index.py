"""LlamaIndex: ragauge's metrics as its evaluators, for its batch runner. docs/migrating/llama_index.md

from ragauge.compat.llama_index import evaluators

runner = BatchEvalRunner(evaluators("faithfulness", "answer_relevance", judge="openai/gpt-4o-mini"), workers=8)
results = await runner.aevaluate_responses(queries, responses)
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import ragauge as rg

if TYPE_CHECKING:
    from llama_index.core.evaluation import EvaluationResult


class _Scoring:
    """Scores samples for evaluators that share it: a run if they ask for a sample side by side, else its judgments."""

    def __init__(self, metrics: Sequence[str], judge: Any, store: Any) -> None:
        self.values = {name: rg.value_of(name) for name in metrics}
        self._judge = judge if isinstance(judge, Mapping) else rg.judge_of(judge)
        self._store = store or rg.Store.temporary()
        self._under_way: dict[Any, asyncio.Task[rg.Run]] = {}

    async def score(self, name: str, row: Mapping[str, Any]) -> tuple[rg.Score, Any]:
        """The score by one of the metrics, and which way is better; the others are measured with it if they can be."""
        (sample,) = rg.read([row])
        metric, key = self.values[name]
        able = [one for one, _ in self.values.values() if one is metric or _reads(one, sample)]
        asked = (asyncio.get_running_loop(), repr(sample), tuple(one.spec for one in able))
        if asked not in self._under_way:
            run = rg.evaluate_async([sample], able, self._judge, self._store)
            self._under_way[asked] = asyncio.ensure_future(run)
            self._under_way[asked].add_done_callback(lambda _: self._under_way.pop(asked))
        return (await asyncio.shield(self._under_way[asked])).scores[0][key], metric.better


def _reads(metric: Any, sample: rg.Sample) -> bool:
    """Whether the sample has all that a metric reads."""
    return all(getattr(sample, field) is not None for need in metric.needs for field in need.reads)


class _Evaluator:
    """A metric as an evaluator of LlamaIndex.

    metric: one value of a metric, such as "faithfulness" or "rouge.rougeL". threshold: the score from which on a
    response passes, or up to which, where less is better. judge, store: as for `rg.evaluate`.

    The feedback names the pieces that count against the response. A score that is undefined or failed is None, and the
    result invalid, with the reason. Raises UsageError for what is no metric or judge, and later for a missing field.
    """

    def __init__(
        self, metric: str, judge: Any = "embedded", *, threshold: float = 0.5, store: Any = None, scoring: Any = None
    ) -> None:
        self.metric, self.threshold = metric, threshold
        self._scoring: _Scoring = scoring or _Scoring([metric], judge, store)

    async def aevaluate(
        self, query: str | None = None, response: str | None = None, contexts: Sequence[str] | None = None, **more: Any
    ) -> EvaluationResult:
        """The result for one response. more: what else its sample holds, such as reference= for a correct answer."""
        from llama_index.core.evaluation import EvaluationResult

        texts = {"query": query, "response": response, "contexts": contexts}
        row = {name: text for name, text in {**texts, **more}.items() if text is not None}
        score, better = await self._scoring.score(self.metric, row)
        sign = 1 if better == "higher" else -1
        return EvaluationResult(
            **texts,
            score=score.value,
            passing=None if score.value is None else sign * score.value >= sign * self.threshold,
            feedback=rg.explain(score, better),
            invalid_result=score.value is None,
            invalid_reason=score.undefined or score.failed,
        )

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """It is the judge that has prompts."""


def evaluators(*metrics: str, judge: Any = "embedded", threshold: float = 0.5, store: Any = None) -> dict[str, Any]:
    """A `MetricEvaluator` for each metric, by its name, as BatchEvalRunner takes them; they share judgments."""
    scoring = _Scoring(metrics, judge, store)
    return {metric: _evaluator_class()(metric, threshold=threshold, scoring=scoring) for metric in metrics}


@cache
def _evaluator_class() -> Any:
    try:
        from llama_index.core.evaluation import BaseEvaluator
    except ImportError:
        raise rg.MissingExtra("ragauge.compat.llama_index", "llama-index") from None
    return type("MetricEvaluator", (_Evaluator, BaseEvaluator), {"__doc__": _Evaluator.__doc__, "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name == "MetricEvaluator":
        return _evaluator_class()
    from ragauge.compat import trust_eval

    if name != "TrustScoreEvaluator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return trust_eval.TrustScoreEvaluator
