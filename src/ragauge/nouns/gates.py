"""Gates: conditions on estimates that a run must meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Literal

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.nouns.scores import Better, Estimate, Scale

#: The sign for the side of its bound on which a gate is met.
_SIGNS = {"below": "≥", "above": "≤"}

#: The side of a bound that is worse.
_WORSE: Mapping[Better, Literal["below", "above"]] = {"higher": "below", "lower": "above"}


class Gate(msgspec.Struct, frozen=True):
    """The estimate of `metric` must not lie below, or else above, `bound`.

    fails: the side of the bound on which the gate fails.
    """

    metric: str
    bound: float
    fails: Literal["below", "above"] = "below"

    def failure(self, estimates: Mapping[str, Estimate]) -> str | None:
        """What is wrong, or None. A metric without a value fails: it cannot be said to have passed."""
        estimate = estimates.get(self.metric)
        if estimate is None or estimate.value is None:
            return f"{self.metric} has no value"
        below = self.fails == "below"
        if (estimate.value < self.bound) if below else (estimate.value > self.bound):
            return f"{self.metric} is {estimate.value:.3f}, {self.fails} {self.bound:g}"
        return None

    def __str__(self) -> str:
        return f"{self.metric} {_SIGNS[self.fails]} {self.bound:g}"


def gates_of(bounds: Mapping[str, float] | Sequence[Gate], estimates: Mapping[str, Estimate]) -> tuple[Gate, ...]:
    """A gate for each bound: the least that will do where higher is better, the most where lower is; or gates as given.

    Raises UnknownName for a metric that was not measured, BadParameter for a bound that is no number or off the
    metric's scale, and for a gate that fails on the side where its metric is better.
    """
    gates = _made(bounds, estimates) if isinstance(bounds, Mapping) else tuple(bounds)
    for gate in gates:
        if gate.metric in estimates:
            estimate = estimates[gate.metric]
            other = f'give fails="{_WORSE[estimate.better]}"'
            check_gate(gate, estimate.better, estimate.scale, f"the bound of {gate.metric} is {gate.bound!r}", other)
    return gates


def _made(bounds: Mapping[str, float], estimates: Mapping[str, Estimate]) -> tuple[Gate, ...]:
    for metric, bound in bounds.items():
        if metric not in estimates:
            raise UnknownName("metric of this run", metric, estimates)
        if isinstance(bound, bool) or not isinstance(bound, int | float) or isnan(bound):
            raise BadParameter(f"the bound of {metric} is {bound!r}; give a number")
    return tuple(Gate(metric, bound, _WORSE[estimates[metric].better]) for metric, bound in bounds.items())


def check_gate(gate: Gate, better: Better, scale: Scale | None, given: str, other: str) -> None:
    """Raise BadParameter for a gate that good values fail, or whose bound no value can lie beyond.

    better, scale: of its metric; a scale of None is not known. given: the gate as the caller wrote it. other: how the
    caller writes the gate that fails on the other side.
    """
    if gate.fails != _WORSE[better]:
        raise BadParameter(f"{given}: {better} is better for {gate.metric}, so good runs would fail; {other}")
    if scale is not None and not scale[0] <= gate.bound <= scale[1]:
        raise BadParameter(f"{given}: off the scale of {gate.metric}; give a number from {scale[0]:g} to {scale[1]:g}")
