"""Gates as options of a command: --fail-under and --fail-over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Literal

from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.registry import CATALOGUE, select_metrics
from ragauge.scores import Estimate, Gate, check_gate

#: The option for each side of a bound on which a gate fails.
_OPTIONS: Mapping[Literal["below", "above"], str] = {"below": "--fail-under", "above": "--fail-over"}


def gates(under: Sequence[str], over: Sequence[str], metrics: str | None) -> list[Gate]:
    """The gates of --fail-under and --fail-over.

    Raises UnknownName for a metric that the run does not measure, BadParameter for a gate of another form, for one that
    fails on the side where its metric is better, and for a bound off the metric's scale.
    """
    known = {
        key: metric for metric in (CATALOGUE if metrics is None else select_metrics(metrics)) for key in metric.values
    }
    conditions = _read(under, "below") + _read(over, "above")
    for gate in conditions:
        if gate.metric not in known:
            raise UnknownName("metric of this run", gate.metric, known)
        metric, condition = known[gate.metric], f"{gate.metric}={gate.bound:g}"
        other = f"write {_OPTIONS['above' if gate.fails == 'below' else 'below']} {condition}"
        check_gate(gate, metric.better, metric.scale, f"{_OPTIONS[gate.fails]} {condition}", other)
    return conditions


def _read(given: Sequence[str], fails: Literal["below", "above"]) -> list[Gate]:
    option = _OPTIONS[fails]
    for condition in given:
        if "=" not in condition:
            raise BadParameter(f"{option} {condition}: write {option} METRIC=NUMBER")
    split = [condition.rpartition("=") for condition in given]  # a metric's own parameters may hold a "="
    return [Gate(metric, _number(bound, f"{option} {metric}={bound}"), fails) for metric, _, bound in split]


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise BadParameter(f"{where}: {text!r} is not a number; write METRIC=NUMBER")
    return number


def failures(estimates: Mapping[str, Estimate], conditions: Sequence[Gate]) -> list[str]:
    """What is wrong, a line for each gate that failed."""
    return [line for gate in conditions if (line := gate.failure(estimates))]
