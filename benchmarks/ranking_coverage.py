"""How often the intervals of strengths cover the truth, by simulation, beside the percentile bootstrap.

Run `python benchmarks/ranking_coverage.py [DATA SETS]` (100 take four minutes on one core). Each line draws data sets
of systems with known strengths, compared in pairs on every sample. Everything is seeded, so every run prints the same.
"""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np

from ragauge.arrays import Array
from ragauge.statistics.intervals import sums_by_cluster
from ragauge.statistics.ranking import bradley_terry, ranked

RESAMPLES = 1000
#: The samples, and how many are in a cluster; later ones repeat those of the first with the probability REPEATED.
SIZES = ((3, 1), (6, 1), (12, 1), (40, 1), (12, 2), (40, 4))
REPEATED = 0.6
STRENGTHS = {
    "2 even": (0.0, 0.0),
    "2, 75 % preferred": (0.55, -0.55),
    "2, 90 % preferred": (1.1, -1.1),
    "2, 97 % preferred": (1.74, -1.74),
    "3 even": (0.0, 0.0, 0.0),
    "3 apart": (1.0, 0.0, -1.0),
    "3 far apart": (2.0, 0.0, -2.0),
    "5 apart": (1.5, 0.7, 0.0, -0.7, -1.5),
}


def drawn_outcomes(strengths: Array, samples: int, per_cluster: int, random: np.random.Generator) -> Array:
    """For each sample 1 where the row is preferred to the column; (samples, k, k)."""
    outcomes = np.zeros((samples, len(strengths), len(strengths)))
    for a, b in combinations(range(len(strengths)), 2):
        outcomes[:, a, b] = random.random(samples) < 1 / (1 + np.exp(strengths[b] - strengths[a]))
        outcomes[:, b, a] = 1 - outcomes[:, a, b]
    first = np.arange(samples) // per_cluster * per_cluster
    repeats = random.random(samples) < REPEATED
    return np.where(repeats[:, None, None], outcomes[first], outcomes)


def percentiles(outcomes: Array, clusters: list[str], random: np.random.Generator) -> tuple[Array, Array]:
    """The ends by the percentile bootstrap over clusters."""
    count = outcomes.shape[1]
    rows = sums_by_cluster(outcomes.reshape(len(outcomes), -1), clusters)
    times = random.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), RESAMPLES)
    low, high = np.quantile(bradley_terry((times @ rows).reshape(-1, count, count)), [0.025, 0.975], axis=0)
    return low, high


def main(data_sets: int) -> None:
    """Print the table."""
    print(
        "strengths | samples | coverage in %: least of the systems, ours and bootstrap | median width | excludes 0, %"
    )
    for name, truth in STRENGTHS.items():
        for samples, per_cluster in SIZES:
            random, strengths = np.random.default_rng(1), np.array(truth)
            clusters = [str(sample // per_cluster) for sample in range(samples)]
            ours, bootstrap, widths, excluding = [], [], [], []
            for _ in range(data_sets):
                outcomes = drawn_outcomes(strengths, samples, per_cluster, random)
                intervals = ranked(outcomes, clusters, RESAMPLES)
                low, high = np.array([[interval.low, interval.high] for interval in intervals], float).T
                ours.append((low <= strengths) & (strengths <= high))
                widths.append(high - low)
                excluding.append((low > 0) | (high < 0))
                low, high = percentiles(outcomes, clusters, random)
                bootstrap.append((low <= strengths) & (strengths <= high))
            covered = [100 * np.mean(inside, axis=0).min() for inside in (ours, bootstrap)]
            clustered = f" in {samples // per_cluster}" if per_cluster > 1 else ""
            print(
                f"{name} | {samples}{clustered} | {covered[0]:.0f} {covered[1]:.0f} | {np.median(widths):.2f} "
                f"(least {np.min(widths):.2f}) | {100 * np.mean(excluding):.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
