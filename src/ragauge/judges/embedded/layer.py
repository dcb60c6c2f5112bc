"""A logistic layer: fitted constants over named values, packaged as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def constants(name: str) -> Mapping[str, Mapping[str, float]]:
    """The layers of data/NAME.json by what they decide; of each the constants by name. Made in training/."""
    table: dict[str, dict[str, float]] = json.loads(text_of(name))
    return table


def text_of(name: str) -> str:
    """The constants as they are packaged, for hashing."""
    return (files("ragauge.judges.embedded") / f"data/{name}.json").read_text(encoding="utf-8")


def chance(layer: Mapping[str, float], values: Mapping[str, float]) -> float:
    """The probability that a layer gives to values."""
    return logistic(weighed(layer, values))


def weighed(layer: Mapping[str, float], values: Mapping[str, float]) -> float:
    """The logit that a layer gives to values, of which it weighs those that it names beside its constant."""
    return layer["constant"] + math.fsum(weight * values[name] for name, weight in layer.items() if name != "constant")


def logistic(logit: float) -> float:
    """The probability of a logit."""
    return 1 / (1 + math.exp(-max(min(logit, 30.0), -30.0)))


def logit(chance: float, most: float = 5.0) -> float:
    """The logit of a probability, kept within -most..most."""
    if chance <= 0 or chance >= 1:
        return most if chance >= 1 else -most
    return max(-most, min(most, math.log(chance / (1 - chance))))
