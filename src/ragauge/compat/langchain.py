"""LangChain: ragauge's metrics as evaluators of langsmith, and as string evaluators. docs/migrating/langchain.md

from ragauge.compat.langchain import evaluator

langsmith.evaluate(my_chain.invoke, data="my data set", evaluators=[evaluator("faithfulness,answer_correctness")])
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from threading import Thread
from typing import Any, TypeVar

import ragauge as rg

Feedback = dict[str, list[dict[str, Any]]]
Found = TypeVar("Found")


def evaluator(metrics: Any, judge: Any = "embedded", **options: Any) -> Callable[..., Feedback]:
    """A function of inputs, outputs and reference outputs, for langsmith's `evaluate`.

    It gives for each value of `metrics` its key, its score, and a comment that names the pieces which count against the
    output. Where a score is undefined or failed it is None, and the comment says why.

    metrics, judge, options: as for `rg.evaluate`, such as map={"query": "inputs.topic"} for a column within the inputs.
    Raises UsageError for what is no judge; the function does for what is no metric, and for a missing field.
    """
    told = aevaluator(metrics, judge, **options)

    def ragauge(inputs: Any, outputs: Any, reference_outputs: Any = None) -> Feedback:
        return _waited_for(told(inputs, outputs, reference_outputs))

    return ragauge


def aevaluator(metrics: Any, judge: Any = "embedded", **options: Any) -> Callable[..., Coroutine[Any, Any, Feedback]]:
    """The same to be awaited, for langsmith's `aevaluate`."""
    made = judge if isinstance(judge, Mapping) else rg.judge_of(judge)

    async def ragauge(inputs: Any, outputs: Any, reference_outputs: Any = None) -> Feedback:
        row = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs or None}
        run = await rg.evaluate_async([row], metrics, made, **options)
        scores = run.scores[0].items()
        comments = {key: rg.explain(score, run.estimates[key].better) for key, score in scores}
        return {"results": [{"key": key, "score": score.value, "comment": comments[key]} for key, score in scores]}

    return ragauge


class _StringEvaluator:
    """One value of a metric, such as "faithfulness" or "rouge.rougeL", as a string evaluator of LangChain.

    `evaluate_strings` takes prediction, input, reference and contexts=[...], and gives score and reasoning, which are
    those of `evaluator`. judge, options: as for `rg.evaluate`.
    """

    evaluation_name, requires_input, requires_reference = "", True, False

    def __init__(self, metric: str, judge: Any = "embedded", **options: Any) -> None:
        self._metric, self._key = rg.value_of(metric)
        self._judge, self._options = judge if isinstance(judge, Mapping) else rg.judge_of(judge), options
        self.evaluation_name = metric
        self.requires_reference = any("references" in need.reads for need in self._metric.needs)

    def _check_evaluation_args(self, *_: Any, **__: Any) -> None:
        """Left to the metric."""

    def _evaluate_strings(self, **given: Any) -> dict[str, Any]:
        return _waited_for(self._aevaluate_strings(**given))

    async def _aevaluate_strings(self, *, prediction: Any, **given: Any) -> dict[str, Any]:
        known = {"input": "query", "reference": "references", "contexts": "contexts"}
        row = {"response": prediction, **{field: given[name] for name, field in known.items() if given.get(name)}}
        run = await rg.evaluate_async([row], [self._metric], self._judge, **self._options)
        score = run.scores[0][self._key]
        return {"score": score.value, "reasoning": rg.explain(score, self._metric.better)}


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop for the threads of all runners, so that they share a judge and its connections."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="ragauge", daemon=True).start()
    return loop


def _waited_for(work: Coroutine[Any, Any, Found]) -> Found:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


def __getattr__(name: str) -> Any:
    if name != "StringEvaluator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from langchain_classic.evaluation import StringEvaluator
    except ImportError:
        raise rg.MissingExtra("ragauge.compat.langchain.StringEvaluator", "langchain") from None
    said = {"__doc__": _StringEvaluator.__doc__, "__module__": __name__}
    globals()[name] = made = type(name, (_StringEvaluator, StringEvaluator), said)
    return made
