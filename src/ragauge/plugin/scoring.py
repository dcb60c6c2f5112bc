"""The pytest fixture: measures a system, and fails the test with the evidence if it scores too low."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ragauge.errors import UsageError
from ragauge.metrics.base import Bounds, Measure
from ragauge.metrics.registry import key_of, select_metrics
from ragauge.report.explain import estimate_numbers, failing
from ragauge.report.wording import FEW, gate_words, shortfalls
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

    def assert_scores(self, data: Any, bounds: Bounds, *, min_measured: float = 0.0, **options: Any) -> Run:
        """Fail the test if an estimate is beyond its bound, with the worst samples and their evidence.

        So do a run that ended early, and scores of these metrics that failed. Each estimate is added to the test report
        as properties: `faithfulness.value`, `.low`, `.high`, `.n`. A warning says where less than half of the samples
        are measured.

        Args:
            data: a Run, or data to measure; a single row may be a dict.
            bounds: metric, by its key, spec or itself -> the lowest acceptable value, or the highest if lower is
                better; a key such as "faithfulness@domain=finance" is of a slice.
            min_measured: the share of the samples, from 0 to 1, that each metric must have scores of.
            options: of `ragauge.evaluate`; without `metrics`, those of the bounds are measured.

        Raises:
            AssertionError: an estimate is beyond its bound or rests on too few samples, or scores are lacking.
            UsageError: a metric was not measured, a bound is off its scale, or options were given with a Run.
        """
        __tracebackhide__ = True
        try:
            if isinstance(data, Run) and options:
                raise UsageError(f"the run is measured already; give {', '.join(options)} to evaluate()")
            run = data if isinstance(data, Run) else _measured(data, bounds, min_measured, options)
            gates = run._gates(bounds, min_measured)
        except UsageError as error:
            raise error.with_traceback(None) from None  # the fault is in the line of the test
        record = run.record
        if run is not data:
            run.hold_to(gates)
        estimates = {gate: estimate for gate in gates if (estimate := gate.estimate(record))}
        for gate, estimate in estimates.items():
            for name, number in estimate_numbers(estimate).items():
                self._record(f"{gate.key}.{name}", number)
        faults = [text for _, text in failing(record, gates, run.records())]
        faults += shortfalls(record, {gate.metric for gate in gates})
        if faults:
            raise AssertionError("\n".join(faults))
        for gate, estimate in estimates.items():
            if estimate.n < FEW * estimate.samples:
                warnings.warn(gate_words(record, gate), stacklevel=2)
        return run


def _measured(data: Any, bounds: Bounds, min_measured: float, options: dict[str, Any]) -> Run:
    """The run over the data, once the bounds are checked against its metrics."""
    metrics = select_metrics(options.get("metrics") or map(_metric, bounds))
    measured = {key: metric for metric in metrics for key in metric.values}
    gates_of({key_of(name, metrics): bound for name, bound in bounds.items()}, measured, min_measured)
    return evaluate(data, **{**options, "metrics": metrics})


def _metric(bound: str | Measure) -> str | Measure:
    """The metric of a bound: `rouge` for `rouge.rougeL`."""
    if not isinstance(bound, str):
        return bound
    key = re.split("@[^@=()]+=", bound)[0]
    with suppress(UsageError):
        select_metrics(key)
        return key
    return key.rpartition(".")[0] or key
