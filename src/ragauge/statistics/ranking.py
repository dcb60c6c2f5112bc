"""Ranking by preferences between pairs: the strengths of Bradley and Terry, with intervals over samples."""

from __future__ import annotations

from ragauge.arrays import Array, np
from ragauge.statistics.intervals import Clusters, Interval, random_sums, sums_by_cluster

#: Newton's method: the most steps, the largest change of a strength in one, and the change at which it ends.
_STEPS, _LARGEST, _PRECISION = 100, 2.0, 1e-9
#: The tie added to each pair, as a share of a comparison: to a strength, and to the ends of its interval.
_TIE, _TIE_OF_ENDS = 1.0, 0.1


def bradley_terry(wins: Array, tie: float = _TIE) -> Array:
    """The strengths of k systems whose differences are the log-odds of being preferred (Bradley and Terry, 1952).

    By maximum likelihood. A tie is added to each pair, so that a system that always wins has a finite strength.

    Args:
        wins: (..., k, k), how often the row is preferred to the column; a tie is half of one on both sides.
        tie: how many are added, above 0.

    Returns:
        (..., k), with mean 0.
    """
    count = wins.shape[-1]
    smoothed = wins + tie / 2 * (1 - np.eye(count))
    games, won = smoothed + smoothed.swapaxes(-1, -2), smoothed.sum(axis=-1)
    strengths = np.zeros(won.shape)
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(strengths[..., None, :] - strengths[..., None]))
        weights = games * expected * (1 - expected)
        information = np.eye(count) * weights.sum(axis=-1)[..., None] - weights + 1 / count  # the last holds the mean
        step = np.linalg.solve(information, (won - (games * expected).sum(axis=-1))[..., None])[..., 0]
        strengths = strengths + np.clip(step, -_LARGEST, _LARGEST)
        if np.abs(step).max() < _PRECISION:
            break
    centred: Array = strengths - strengths.mean(axis=-1, keepdims=True)
    return centred


def ranked(outcomes: Array, clusters: Clusters = None, resamples: int = 1000) -> list[Interval]:
    """The strengths of k systems on n samples, with 95 % intervals by the Bayesian bootstrap over samples, or clusters.

    One sample is added in which the system loses to all others for the low end, and wins for the high end, as in
    `aggregate_interval`. Coverage: docs/compare.md.

    Args:
        outcomes: (n, k, k), for each sample 1 where the row is preferred to the column, 0.5 in a tie, else 0; both
            entries of a pair are 0 where it was not compared.
        clusters: of each sample; samples of one cluster are not independent.
        resamples: how many random weightings.

    Returns:
        An interval per system; without values for one that was never compared.
    """
    method = "Bayesian bootstrap over clusters" if clusters else "Bayesian bootstrap"
    compared = np.flatnonzero((outcomes + outcomes.swapaxes(1, 2)).any(axis=(0, 2)))
    intervals = [Interval(None, None, None, method) for _ in range(outcomes.shape[1])]
    if not compared.size:
        return intervals
    count = compared.size
    rows = sums_by_cluster(outcomes[:, compared][:, :, compared].reshape(len(outcomes), -1), clusters)
    strengths = bradley_terry(rows.sum(axis=0).reshape(count, count))
    drawn, weights = random_sums(rows, np.ones(len(rows)), resamples)
    wins_of_rows = rows.reshape(-1, count, count)
    games = (wins_of_rows + wins_of_rows.swapaxes(1, 2)).sum(axis=2)
    for place, system in enumerate(compared):
        lost = np.zeros((count, count))
        lost[:, place] = games[games[:, place] > 0, place].mean() / (count - 1)
        lost[place, place] = 0
        low, high = (
            np.quantile(
                bradley_terry(drawn.reshape(-1, count, count) + weights[:, None, None] * added, _TIE_OF_ENDS)[:, place],
                level,
            )
            for added, level in ((lost, 0.025), (lost.T, 0.975))
        )
        value = float(strengths[place])
        intervals[system] = Interval(value, min(float(low), value), max(float(high), value), method)
    return intervals
