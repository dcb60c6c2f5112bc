"""Gates: conditions on estimates that a run must meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.nouns.scores import Estimate

#: The sign for the side of its bound on which a gate is met.
_SIGNS = {"below": "≥", "above": "≤"}


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


def gates_of(bounds: Mapping[str, float], estimates: Mapping[str, Estimate]) -> tuple[Gate, ...]:
    """A gate for each bound: the least that will do where higher is better, the most where lower is.

    Raises UnknownName for a metric that was not measured, BadParameter for a bound that is no number.
    """
    for metric, bound in bounds.items():
        if metric not in estimates:
            raise UnknownName("metric of this run", metric, estimates)
        if isinstance(bound, bool) or not isinstance(bound, int | float) or bound != bound:
            raise BadParameter(f"the bound of {metric} is {bound!r}; give a number")
    return tuple(
        Gate(metric, bound, "above" if estimates[metric].better == "lower" else "below")
        for metric, bound in bounds.items()
    )
