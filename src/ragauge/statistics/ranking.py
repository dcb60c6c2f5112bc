"""Ranking by preferences between pairs: the strengths of Bradley and Terry, with intervals over samples."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragauge.arrays import Array, np
from ragauge.statistics.agreement import METHOD, resampled
from ragauge.statistics.intervals import Interval

#: Newton's method: the most steps, the largest change of a strength in one, and the change at which it ends.
_STEPS, _LARGEST, _PRECISION = 100, 2.0, 1e-9


def bradley_terry(wins: Array) -> Array:
    """The strengths of k systems whose differences are the log-odds of being preferred (Bradley and Terry, 1952).

    By maximum likelihood. A tie is added to each pair, so that a system that always wins has a finite strength.

    Args:
        wins: (k, k), how often the row is preferred to the column; a tie is half of one on both sides.

    Returns:
        (k,), with mean 0.
    """
    count = len(wins)
    smoothed = wins + 0.5 * (1 - np.eye(count))
    games, won = smoothed + smoothed.T, smoothed.sum(axis=1)
    strengths = np.zeros(count)
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(strengths - strengths[:, None]))
        weights = games * expected * (1 - expected)
        information = np.diag(weights.sum(axis=1)) - weights + 1 / count  # the last holds the mean at 0
        step = np.linalg.solve(information, won - (games * expected).sum(axis=1))
        strengths = strengths + np.clip(step, -_LARGEST, _LARGEST)
        if np.abs(step).max() < _PRECISION:
            break
    centred: Array = strengths - strengths.mean()
    return centred


def ranked(outcomes: Array, groups: Sequence[Hashable], resamples: int = 1000) -> list[Interval]:
    """The strengths of k systems on n samples, with 95 % percentile intervals by the bootstrap over groups.

    Args:
        outcomes: (n, k, k), for each sample 1 where the row is preferred to the column, 0.5 in a tie, else 0; both
            entries of a pair are 0 where it was not compared.
        groups: of each sample; samples of one group are not independent.
        resamples: how many.
    """

    def strengths(rows: Any) -> Array:
        return bradley_terry(outcomes[rows].sum(axis=0))

    values = strengths(slice(None))
    drawn = resampled(groups, strengths, resamples)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0) if drawn else (values, values)
    ends = zip(values, low, high, strict=True)
    return [Interval(float(value), float(least), float(most), METHOD) for value, least, most in ends]
