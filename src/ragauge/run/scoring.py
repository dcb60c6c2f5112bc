"""Scoring: one sample at a time, as they come."""

from __future__ import annotations

from typing import Any

from ragauge.run.blocking import blocking
from ragauge.run.evaluate import evaluate_async
from ragauge.run.preparing import StoreLike
from ragauge.run.run import SampleScores
from ragauge.run.settings import MetricsLike
from ragauge.run.specs import JudgeLike


async def score_async(
    sample: Any, metrics: MetricsLike = None, judge: JudgeLike = "embedded", store: StoreLike = None, **options: Any
) -> SampleScores:
    """The scores of one sample, for programs that score what they have just answered; `score` waits for them.

        rg.score({"query": "Who wrote it?", "response": "Ada.", "contexts": ["Ada wrote it."]})["faithfulness"]

    sample: a dict, or whatever else a row of `evaluate` may be. The other arguments are those of `evaluate`; a judge
    that is asked again and again is best made once, by `judge_of` or `bench_of`. With `score` threads may share it.
    Many samples are scored faster by `evaluate`, side by side.

    Raises as `evaluate` does.
    """
    run = await evaluate_async([sample], metrics, judge, store, **options)
    return run.scores[0]


score = blocking(score_async, "score", shared=True)
