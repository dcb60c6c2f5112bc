"""One sample at a time, and metrics over the judgments that a store already holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from ragauge.errors import BadParameter, RunFailed
from ragauge.judges.base import JudgeLike, JudgeRouter, LookupJudge
from ragauge.metrics.registry import value_of
from ragauge.readers import read
from ragauge.rounds import missing_fields
from ragauge.run.evaluate import evaluate, evaluate_async
from ragauge.run.prepare import MetricsLike, StoreLike, opened_store
from ragauge.run.results import Run, SampleScores
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking


async def score_async(
    sample: Any,
    metrics: MetricsLike = None,
    judge: JudgeLike = "embedded",
    store: StoreLike = None,
    *,
    attempts: int = 1,
    strict: bool = False,
    **options: Any,
) -> SampleScores:
    """The scores of one sample, for programs that score an answer right away; `score` is the synchronous form.

        rg.score({"query": "Who wrote it?", "response": "Ada.", "contexts": ["Ada wrote it."]})["faithfulness"]

    Make a judge that is used repeatedly once, with `load_judge` or `load_judges`; threads may share it through `score`.
    For many samples `evaluate` is faster.

    Args:
        sample: a dict, or anything else that can be a row of `evaluate`.
        metrics, judge, store, options: as of `evaluate`.
        attempts: the greatest number of runs while a score fails; each asks only for what is missing.
        strict: raise RunFailed if a score still fails.

    Returns:
        The scores by metric key.

    Raises:
        RunFailed: a score failed and `strict` is set; also as `evaluate`.
        UsageError, StoreError: as `evaluate`.
    """
    if attempts < 1:
        raise BadParameter(f"attempts={attempts} must be 1 or more")
    opened = opened_store(store)
    for _ in range(attempts):
        run = await evaluate_async([sample], metrics, judge, opened, **options)
        if not run.record.failures:
            break
    for metric, reason in run.record.failures.items() if strict else ():
        raise RunFailed(f"{metric}: {reason}")
    return run.scores[0]


score = blocking(score_async, "score", shared=True)


class Scorer:
    """Scores a sample by one metric at a time, as evaluators of other libraries do, with the calls of all at once.

        scorer = rg.Scorer(["faithfulness", "answer_relevance"], judge="openai/gpt-4o-mini")
        scores = await scorer.score_async("faithfulness", {"query": ..., "response": ..., "contexts": [...]})

    Args:
        metrics: values of metrics, such as "faithfulness" or "rouge.rougeL"; `values` maps each to its metric and the
            key of its score.
        judge, store, options: as of `evaluate`; without a store, judgments live as long as the scorer.

    Raises:
        UsageError: a metric or judge is unknown.
    """

    def __init__(
        self, metrics: Iterable[str], judge: JudgeLike = "embedded", store: StoreLike = None, **options: Any
    ) -> None:
        self.values = {name: value_of(name) for name in metrics}
        self._router, self._store, self._options = load_judges(judge), opened_store(store), options
        self._in_flight: dict[Any, asyncio.Task[SampleScores]] = {}

    async def score_async(self, name: str, row: Any) -> SampleScores:
        """The scores of one metric, and of the others that the sample has the fields for.

        Concurrent requests for other metrics of the same sample share one run. Raises as `evaluate` does.
        """
        (sample,) = read([row])
        wanted, _ = self.values[name]
        able = [one for one, _ in self.values.values() if one is wanted or not missing_fields(one.needs, [sample])]
        asked = (asyncio.get_running_loop(), repr(sample), tuple(one.spec for one in able))
        if asked not in self._in_flight:
            scoring = score_async(sample, able, self._router, self._store, **self._options)
            self._in_flight[asked] = asyncio.ensure_future(scoring)
            self._in_flight[asked].add_done_callback(lambda _: self._in_flight.pop(asked))
        return await asyncio.shield(self._in_flight[asked])

    score = blocking(score_async, "score", shared=True)


def rescore(run: Run, metrics: MetricsLike = None) -> Run:
    """Score the samples of a run again from the judgments in its store; no judge is asked.

    Args:
        run: a run whose store is open.
        metrics: as of `evaluate`; None: those of the run.

    Returns:
        The new run, kept in the same store. A score that needs a judgment which is not there is failed, and says so.

    Raises:
        UsageError: as `evaluate`.
    """
    router = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.record.judges.items()})
    samples = (record.sample for record in run.records())
    return evaluate(samples, metrics or run.record.metrics, router, run.store, name=run.record.name)
