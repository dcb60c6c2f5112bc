"""Packaged tables, and logistic layers: coefficients fitted by training/ over named values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


def packaged(name: str) -> str:
    """A file of the folder data/ as it is."""
    return (files("ragauge.judges.embedded") / "data" / name).read_text(encoding="utf-8")


@cache
def coefficients(name: str) -> Mapping[str, Mapping[str, float]]:
    """The layers of data/NAME.json by what they decide: the coefficients of each by name."""
    table: dict[str, dict[str, float]] = json.loads(packaged(f"{name}.json"))
    return table


def predict(layer: Mapping[str, float], values: Mapping[str, float]) -> float:
    """The probability that a layer gives to values."""
    return logistic(linear(layer, values))


def linear(layer: Mapping[str, float], values: Mapping[str, float]) -> float:
    """The logit that a layer gives to values; it uses only those that it names."""
    return layer["constant"] + math.fsum(weight * values[name] for name, weight in layer.items() if name != "constant")


def logistic(logit: float) -> float:
    """The probability of a logit."""
    return 1 / (1 + math.exp(-max(min(logit, 30.0), -30.0)))
