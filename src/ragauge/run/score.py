"""One sample at a time, and metrics over the judgments that a store already holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from ragauge.errors import BadParameter, RunFailed
from ragauge.judges.base import JudgeRouter, LookupJudge
from ragauge.metrics.registry import value_of
from ragauge.readers import read
from ragauge.rounds import missing_fields
from ragauge.run.evaluate import evaluate, evaluate_async
from ragauge.run.prepare import MetricsLike, StoreLike, opened_store
from ragauge.run.results import Run, SampleScores
from ragauge.run.specs import JudgeLike, load_judges
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
    """The scores of one sample, for programs that score what they have just answered; `score` waits for them.

        rg.score({"query": "Who wrote it?", "response": "Ada.", "contexts": ["Ada wrote it."]})["faithfulness"]

    sample: a dict, or whatever else a row of `evaluate` may be. attempts: as long as a score fails, so many runs are
    made in all, each asking only for what is missing. strict: raise RunFailed where a score fails even so. The other
    arguments are those of `evaluate`; a judge that is asked again and again is best made once, by `judge_of` or
    `bench_of`. With `score` threads may share it. Many samples are scored faster by `evaluate`, side by side.

    Raises as `evaluate` does.
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
    """Scores a sample by one metric at a time, as evaluators of other libraries do, for no more calls than all at once.

        scorer = rg.Scorer(["faithfulness", "answer_relevance"], judge="openai/gpt-4o-mini")
        scores = await scorer.score_async("faithfulness", {"query": ..., "response": ..., "contexts": [...]})

    metrics: values of metrics, such as "faithfulness" or "rouge.rougeL"; `values` has the metric of each, and the key
    of its score. judge, store, options: as for `evaluate`; without a store judgments are kept as long as the scorer is.

    Raises UsageError for what is no metric or judge.
    """

    def __init__(
        self, metrics: Iterable[str], judge: JudgeLike = "embedded", store: StoreLike = None, **options: Any
    ) -> None:
        self.values = {name: value_of(name) for name in metrics}
        self._bench, self._store, self._options = load_judges(judge), opened_store(store), options
        self._under_way: dict[Any, asyncio.Task[SampleScores]] = {}

    async def score_async(self, name: str, row: Any) -> SampleScores:
        """The scores of one of the metrics, and of those others that the sample has the fields for.

        Whoever asks for another metric of the same sample meanwhile waits for the same run; later the judgments are
        there. Raises as `evaluate` does.
        """
        (sample,) = read([row])
        wanted, _ = self.values[name]
        able = [one for one, _ in self.values.values() if one is wanted or not missing_fields(one.needs, [sample])]
        asked = (asyncio.get_running_loop(), repr(sample), tuple(one.spec for one in able))
        if asked not in self._under_way:
            scoring = score_async(sample, able, self._bench, self._store, **self._options)
            self._under_way[asked] = asyncio.ensure_future(scoring)
            self._under_way[asked].add_done_callback(lambda _: self._under_way.pop(asked))
        return await asyncio.shield(self._under_way[asked])

    score = blocking(score_async, "score", shared=True)


def rescore(run: Run, metrics: MetricsLike = None) -> Run:
    """Score the samples of a run again from its store, by other metrics or, by default, the same; nobody is asked.

    A score that needs a judgment the store does not hold is failed, with that reason. The new run is kept beside
    the old one.
    """
    bench = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.record.judges.items()})
    samples = (record.sample for record in run.records())
    return evaluate(samples, metrics or run.record.metrics, bench, run.store, name=run.record.name)
