"""Gates as options of a command: --fail-under and --fail-over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Literal

from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.catalogue import CATALOGUE, chosen
from ragauge.nouns.gates import Gate
from ragauge.nouns.scores import Estimate


def gates(under: Sequence[str], over: Sequence[str], metrics: str | None) -> list[Gate]:
    """The gates of --fail-under and --fail-over. Raises UnknownName for a metric that the run does not measure."""
    known = [key for metric in (CATALOGUE if metrics is None else chosen(metrics)) for key in metric.values]
    conditions = _read(under, "--fail-under", "below") + _read(over, "--fail-over", "above")
    for gate in conditions:
        if gate.metric not in known:
            raise UnknownName("metric of this run", gate.metric, known)
    return conditions


def _read(given: Sequence[str], option: str, fails: Literal["below", "above"]) -> list[Gate]:
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
