"""A layer's probabilities are stretched and shifted to those of examples."""

from __future__ import annotations

import math
import random
from importlib import import_module
from typing import Any

import pytest

from ragauge.judges.embedded.layer import logistic

fit_layer: Any = import_module("fit_layer")


@pytest.mark.parametrize(("stretch", "shift"), [(0.5, 1.0), (2.0, -0.5), (1.0, 0.0)])
def test_a_layer_learns_how_sure_it_may_be(stretch: float, shift: float) -> None:
    """Examples with logits `stretch` times the layer's and `shift` beyond give back both, as if each label were as
    frequent."""
    chance, examples = random.Random(1), []
    for _ in range(20_000):
        value = chance.uniform(-3, 3)
        label = float(chance.random() < logistic(stretch * (value + 0.2) + shift))
        examples.append(fit_layer.Example("kind", {"words": value}, label, False))
    entailed = sum(one.label for one in examples)
    found = fit_layer.calibrated({"constant": 0.2, "words": 1.0}, examples)
    assert found["words"] == pytest.approx(stretch, abs=0.1)
    prior = math.log(entailed / (len(examples) - entailed))
    assert found["constant"] == pytest.approx(0.2 * stretch + shift - prior, abs=0.1)
