"""The pytest fixture: measures a system, and fails the test with the evidence if it scores too low."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ragauge.errors import UsageError
from ragauge.metrics.registry import select_metrics
from ragauge.report.explain import estimate_numbers, failing
from ragauge.report.wording import FEW, gate_words
from ragauge.run.evaluate import evaluate
from ragauge.run.results import Run
from ragauge.scores import gates_of


class Scoring:
    """The fixture `ragauge`. record: takes the name and value of each property for the test report."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record

    def evaluate(self, data: Any, *arguments: Any, **options: Any) -> Run:
        """`ragauge.evaluate` with all of its arguments; data may be a single row, as a dict."""
        return evaluate(data, *arguments, **options)

    def assert_scores(
        self, data: Any, bounds: Mapping[str, float], *, min_measured: float = 0.0, **options: Any
    ) -> Run:
        """Fail the test if an estimate is beyond its bound, with the worst samples and their evidence.

        Each estimate is added to the test report as properties: `faithfulness.value`, `.low`, `.high`, `.n`. A warning
        says where less than half of the samples are measured.

        Args:
            data: a Run, or data to measure; a single row may be a dict.
            bounds: metric key -> the lowest acceptable value, or the highest if lower is better.
            min_measured: the share of the samples, from 0 to 1, that each metric must have scores of.
            options: of `ragauge.evaluate`; without `metrics`, those of the bounds are measured.

        Raises:
            AssertionError: an estimate is beyond its bound, or rests on too few samples.
            UsageError: a metric was not measured, a bound is off its scale, or options were given with a Run.
        """
        __tracebackhide__ = True
        try:
            if not isinstance(data, Run):
                run = evaluate(data, **{"metrics": list(dict.fromkeys(map(_metric, bounds))), **options})
            elif options:
                raise UsageError(f"the run is measured already; give {', '.join(options)} to evaluate()")
            else:
                run = data
            gates = gates_of(bounds, run.estimates, min_measured)
        except UsageError as error:
            raise error.with_traceback(None) from None  # the fault is in the line of the test
        for gate in gates:
            for name, number in estimate_numbers(run.estimates[gate.metric]).items():
                self._record(f"{gate.metric}.{name}", number)
        failed = failing(run.record, gates, run.records())
        if failed:
            raise AssertionError("\n".join(text for _, text in failed))
        for gate in gates:
            if run.estimates[gate.metric].n < FEW * run.estimates[gate.metric].samples:
                warnings.warn(gate_words(run.record, gate), stacklevel=2)
        return run


def _metric(key: str) -> str:
    """The metric that gives the value called `key`: `rouge` for `rouge.rougeL`. Raises UnknownName."""
    with suppress(UsageError):
        select_metrics(key)
        return key
    metric, dot, _ = key.rpartition(".")
    select_metrics(metric if dot else key)
    return metric
