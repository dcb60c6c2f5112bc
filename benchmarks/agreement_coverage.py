"""How often the interval of an agreement with people holds the truth, where rows come in groups.

    python benchmarks/agreement_coverage.py

Labels of 0 and 1, and verdicts that are right with the probability `truth`, in groups of four rows; where rows depend,
half of the groups are right or wrong as a whole. Printed for `group_interval` of the balanced accuracy and for the
percentile bootstrap of groups: coverage of 95 % intervals in per cent, and their mean width.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ragauge.statistics.agreement import balanced_accuracy, group_interval

Array = NDArray[np.float64]

SETS, ROWS, RESAMPLES = 150, 4, 1000
CASES = ((10, 0.8, False), (10, 0.8, True), (30, 0.8, False), (30, 0.8, True), (10, 0.95, True), (30, 0.95, True))


def drawn(chance: np.random.Generator, groups: int, truth: float, *, depend: bool) -> tuple[Array, Array]:
    """Labels, and verdicts on them; the rows of a group follow one another."""
    labels = chance.integers(0, 2, groups * ROWS).astype(float)
    right = chance.random(groups * ROWS) < truth
    if depend:
        right[: groups // 2 * ROWS] = np.repeat(chance.random(groups // 2) < truth, ROWS)
    return labels, np.where(right, labels, 1 - labels)


def percentile(labels: Array, verdicts: Array, groups: NDArray[np.int64]) -> tuple[float, float]:
    """The interval by groups drawn with replacement; draws with one label alone are left out."""
    chance, number = np.random.default_rng(0), int(groups.max()) + 1
    counts = chance.multinomial(number, np.full(number, 1 / number), RESAMPLES)
    values = (balanced_accuracy(labels, verdicts, count[groups].astype(float)) for count in counts)
    low, high = np.quantile([value for value in values if value is not None], (0.025, 0.975))
    return float(low), float(high)


def ours(labels: Array, verdicts: Array, groups: NDArray[np.int64]) -> tuple[float, float]:
    """The interval of ragauge; none of these sets has one label alone."""
    ends = group_interval(labels.tolist(), verdicts.tolist(), groups.tolist(), balanced_accuracy)
    assert ends
    return ends


def main() -> None:
    """Simulate and print."""
    for number, truth, depend in CASES:
        chance, groups = np.random.default_rng(0), np.repeat(np.arange(number), ROWS)
        line = [f"{number} groups, truth {truth}{', rows depend' if depend else ''}"]
        sets = [drawn(chance, number, truth, depend=depend) for _ in range(SETS)]
        for interval in (percentile, ours):
            ends = np.array([interval(labels, verdicts, groups) for labels, verdicts in sets])
            held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
            line.append(f"{100 * held.mean():.1f} ({(ends[:, 1] - ends[:, 0]).mean():.2f})")
        print(" | ".join(line), flush=True)


if __name__ == "__main__":
    main()
