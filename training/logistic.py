"""Logistic regression by Newton's method."""

from __future__ import annotations

from typing import Any

import numpy as np

PENALTY = 3.0


def newton(values: Any, labels: Any, weights: Any, penalty: float = PENALTY) -> Any:
    """Constants of the columns of `values`, the first of which is the constant term, the only one without a penalty."""
    constants = np.zeros(values.shape[1])
    penalties = np.full(values.shape[1], penalty)
    penalties[0] = 0
    for _ in range(30):
        chances = 1 / (1 + np.exp(-np.clip(values @ constants, -30, 30)))
        slope = values.T @ (weights * (labels - chances)) - penalties * constants
        curve = (values.T * (weights * chances * (1 - chances))) @ values + np.diag(penalties)
        step = np.linalg.solve(curve + 1e-9 * np.eye(len(curve)), slope)
        constants = constants + step
        if np.abs(step).max() < 1e-9:
            break
    return constants


def fitted(values: Any, labels: Any, weights: Any, sense: Any) -> Any:
    """The fit in which no column works against its sense (1, -1, or 0 for either): those that would are left out, one
    at a time."""
    kept = np.ones(values.shape[1], dtype=bool)
    while True:
        constants = np.zeros(values.shape[1])
        constants[kept] = newton(values[:, kept], labels, weights)
        against = constants * sense
        if against.min() >= 0:
            return constants
        kept[against.argmin()] = False
