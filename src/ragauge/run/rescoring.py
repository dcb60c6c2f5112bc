"""Rescoring: metrics over the judgments that a store already holds."""

from __future__ import annotations

from ragauge.judges.base import JudgeRouter, LookupJudge
from ragauge.run.evaluate import evaluate
from ragauge.run.run import Run
from ragauge.run.settings import MetricsLike


def rescore(run: Run, metrics: MetricsLike = None) -> Run:
    """Score the samples of a run again from its store, by other metrics or, by default, the same; nobody is asked.

    A score that needs a judgment the store does not hold is failed, with that reason. The new run is kept beside
    the old one.
    """
    bench = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.record.judges.items()})
    samples = (record.sample for record in run.records())
    return evaluate(samples, metrics or run.record.metrics, bench, run.store, name=run.record.name)
