from __future__ import annotations

from math import comb
from statistics import NormalDist

import numpy as np
import pytest

from ragauge.statistics.intervals import low_quantile

Z = NormalDist().inv_cdf(0.975)


def exact_low(hits: int, n: int) -> float:
    """The Clopper-Pearson lower limit by its definition: where `hits` or more have a probability of 2.5 %."""
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        tail = sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(hits, n + 1))
        low, high = (p, high) if tail < 0.025 else (low, p)
    return low


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 30, 100])
def test_yes_no_points_give_clopper_pearson(n: int) -> None:
    """With one more point at 0, the quantile is the exact binomial limit to 0.003, and not above it."""
    for hits in range(1, n + 1):
        shapes = np.array([n - hits + 1.0, hits])
        exact = exact_low(hits, n)
        assert exact - 0.003 < low_quantile(np.array([0.0, 1.0]), shapes, Z) < exact + 2e-5


@pytest.mark.parametrize("n", [2, 3, 6, 20])
def test_agrees_with_simulated_weights(n: int) -> None:
    """On continuous points the quantile is that of a simulation by uniform weights on the simplex."""
    chance = np.random.default_rng(n)
    points = np.append(chance.beta(0.5, 0.7, n), 0.0)
    means = chance.dirichlet(np.ones(n + 1), 200_000) @ points
    assert low_quantile(points, np.ones(n + 1), Z) == pytest.approx(np.quantile(means, 0.025), abs=0.004)


def test_a_shape_of_k_is_k_equal_points() -> None:
    """Points may be given once with the number of times that they occur."""
    once = low_quantile(np.array([0.0, 0.4, 1.0]), np.array([1.0, 3.0, 2.0]), Z)
    each = low_quantile(np.array([0.0, 0.4, 0.4, 0.4, 1.0, 1.0]), np.ones(6), Z)
    assert once == pytest.approx(each, abs=1e-12)


def test_a_million_points_are_near_the_normal_limit() -> None:
    """With very many points the quantile is the mean less z standard errors."""
    points = np.linspace(0, 1, 1_000_001)
    expected = 0.5 - Z * points.std() / 1000
    assert low_quantile(points, np.ones_like(points), Z) == pytest.approx(expected, abs=1e-6)
