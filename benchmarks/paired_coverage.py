"""How often the intervals of differences cover the truth, and the tests raise a false alarm, by simulation.

Run `python benchmarks/paired_coverage.py` (ten to twenty minutes on one core); `--quick` makes a sixth of the draws.
Each line draws many data sets of paired differences whose mean is known. Everything is seeded, so every run prints the
same.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
from interval_coverage import (
    Array,
    Draw,
    Ends,
    cluster_sizes,
    ends,
    f1,
    hits,
    macro_f1,
    overlap,
    percentiles,
    pooled,
    refusal_recall,
    refusals,
    student,
)
from numpy.random import Generator

from ragauge.statistics.intervals import CountFunction, mean_interval
from ragauge.statistics.paired import paired_aggregate, paired_mean

SIZES = (5, 8, 20, 50, 200)
RESAMPLES = 2000
WIDE = (-1.0, 1.0)


@dataclass(frozen=True)
class Differences:
    """A distribution of differences between two scores of 0 to 1, and its mean."""

    name: str
    draw: Draw
    mean: float


@dataclass(frozen=True)
class Systems:
    """Counts of two systems on the same samples that are equally good, and the metric made of their sums."""

    name: str
    first: Draw
    second: Draw
    value: CountFunction


@dataclass
class Coverage:
    """How many intervals contain the truth, how wide they are, and how often 0 is rejected."""

    truth: float
    inside: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    rejected: list[bool] = field(default_factory=list)

    def add(self, ends: Ends, p: float = 0.0) -> None:
        """Take in one interval, and the test's p-value if there is one; 0 is rejected as `Difference.verdict` does."""
        low, high = ends
        self.inside.append(low - 1e-12 <= self.truth <= high + 1e-12)
        self.widths.append(min(high, 1.0) - max(low, -1.0))
        self.rejected.append(p < 0.05 and not low - 1e-12 <= 0 <= high + 1e-12)

    def __str__(self) -> str:
        rejected = f"{100 * fmean(self.rejected):.1f}"
        return f"{100 * fmean(self.inside):.1f} ({fmean(self.widths):.3f}) {rejected}" if self.inside else rejected


def normal(mean: float, spread: float) -> Differences:
    """What most pairs of continuous scores come to."""
    return Differences(
        f"normal, mean {mean:g}, sd {spread:g}", lambda c, n: c.normal(mean, spread, n).clip(-1, 1), mean
    )


def changed(up: float, down: float) -> Differences:
    """Yes/no scores: some samples become right, some wrong, the others stay."""
    shares = (down, 1 - up - down, up)
    name = f"yes/no, {up:.0%} up, {down:.0%} down"
    return Differences(name, lambda c, n: np.asarray(c.choice((-1.0, 0.0, 1.0), n, p=shares)), up - down)


def claims(a: float, b: float, shared: float) -> Differences:
    """Shares of 1 to 6 claims in both systems, where a share of the samples is as hard for both."""

    def draw(chance: Generator, n: int) -> Array:
        first, second = (_shares(chance, n, a, b) for _ in "ab")
        return np.where(chance.random(n) < shared, 0.0, second - first)

    return Differences(f"shares of 1-6 claims, {shared:.0%} unchanged", draw, 0.0)


def _shares(chance: Generator, n: int, a: float, b: float) -> Array:
    total = chance.integers(1, 7, n)
    return chance.binomial(total, chance.beta(a, b, n)) / total


def skewed(a: float, b: float) -> Differences:
    """Many small losses, few large gains."""
    return Differences(f"Beta({a:g}, {b:g}) less its mean", lambda c, n: c.beta(a, b, n) - a / (a + b), 0.0)


def rare(gain: float, loss: float, share: float) -> Differences:
    """A little better everywhere but for a rare and large loss, the hardest case for a small sample."""
    mean = gain * (1 - share) - loss * share
    name = f"+{gain:g}, and -{loss:g} in {share:.0%}"
    return Differences(name, lambda c, n: np.where(c.random(n) < share, -loss, gain), mean)


def equal(difference: float) -> Differences:
    """Every sample differs by the same."""
    return Differences(f"all equal, {difference:g}", lambda _, n: np.full(n, difference), difference)


MEANS = (
    *(normal(0, 0.2), normal(0, 0.01), normal(0.05, 0.2)),
    *(changed(0.2, 0.2), changed(0.05, 0.05), changed(0.02, 0), changed(0.2, 0.05)),
    *(claims(8, 2, 0), claims(8, 2, 0.7), claims(0.9, 0.1, 0.5)),
    *(skewed(1, 4), skewed(0.2, 3), rare(0.02, 0.8, 0.05), rare(0.02, 0.98, 0.02)),
    *map(equal, (0.0, 0.02, 0.5)),
)

DATA = (
    Systems("pooled share, 1-6 claims each", hits(8, 2), hits(8, 2), pooled),
    Systems("pooled share, 1-6 and 1-20 claims", hits(8, 2), hits(8, 2, most=20), pooled),
    Systems("pooled share, 1-6 and 1-20 claims, all or nothing", hits(0.9, 0.1), hits(0.9, 0.1, most=20), pooled),
    Systems("pooled F1", overlap(4, 4), overlap(4, 4), f1),
    Systems("refusal recall, 30% unanswerable", *[refusal_recall(0.3, 0.2)] * 2, pooled),
    Systems("macro F1 of refusals, 30% unanswerable", *[refusals(0.3, 0.2, 0.1)] * 2, macro_f1),
)


def cover_means(case: Differences, n: int, draws: int) -> list[Coverage]:
    """Ours, Student's t, the percentile bootstrap, and Gaffke's interval on the scale of differences."""
    found = [Coverage(case.mean) for _ in range(4)]
    chance = np.random.default_rng(n)
    for _ in range(draws):
        values = case.draw(chance, n)
        paired = paired_mean(values.tolist(), resamples=RESAMPLES)
        assert paired.p is not None
        rows = np.column_stack([values, np.ones(n)])
        found[0].add(ends(paired.interval), paired.p)
        found[1].add(student(values))
        found[2].add(percentiles(rows, lambda sums: sums[0] / sums[1], chance, RESAMPLES))
        found[3].add(ends(mean_interval(values.tolist(), scale=WIDE)))
    return found


def cover_data(case: Systems, n: int, draws: int) -> list[Coverage]:
    """Ours, the percentile bootstrap, and the rejections of a test that swaps the counts of samples."""
    found = [Coverage(0.0) for _ in range(3)]
    chance = np.random.default_rng(n)
    for _ in range(draws):
        first, second = (draw(chance, n).astype(float) for draw in (case.first, case.second))
        paired = paired_aggregate(first.tolist(), second.tolist(), case.value, resamples=RESAMPLES)
        if paired.p is None:
            continue
        both = np.hstack([first, second])
        found[0].add(ends(paired.interval), paired.p)
        found[1].add(percentiles(both, apart(case.value, first.shape[1]), chance, RESAMPLES))
        found[2].rejected.append(swapped(first, second, case.value, chance) < 0.05)
    return found


def apart(value: CountFunction, width: int) -> CountFunction:
    """The difference of two values, the counts of which stand one behind the other."""

    def difference(sums: Sequence[float]) -> float | None:
        one, other = value(sums[:width]), value(sums[width:])
        return None if one is None or other is None else other - one

    return difference


def swapped(first: Array, second: Array, value: CountFunction, chance: Generator) -> float:
    """The p-value of the permutation test: the share of random swaps after which the values lie as far apart."""
    difference = apart(value, first.shape[1])
    stay = chance.integers(0, 2, (RESAMPLES, len(first)))
    stay[0] = 1
    sums = np.hstack([stay @ first + (1 - stay) @ second, stay @ second + (1 - stay) @ first])
    found = np.array([np.inf if one is None else abs(one) for one in map(difference, sums.tolist())])
    return float(np.mean(found >= found[0] - 1e-12))


def cover_clusters(mean: float, own: float, clusters: int, even: bool, draws: int) -> list[Coverage]:
    """Ours with the clusters given and ignored; a cluster's samples share a difference besides their own."""
    found = [Coverage(mean) for _ in range(2)]
    chance = np.random.default_rng(clusters)
    for _ in range(draws):
        sizes = cluster_sizes(chance, clusters, even)
        shared = np.repeat(chance.normal(mean, 0.1, clusters), sizes)
        values = (shared + chance.normal(0, own, sizes.sum())).clip(-1, 1).tolist()
        names = np.repeat(np.arange(clusters), sizes).astype(str).tolist()
        for one, given in zip(found, (names, None), strict=True):
            paired = paired_mean(values, clusters=given, resamples=RESAMPLES)
            assert paired.p is not None
            one.add(ends(paired.interval), paired.p)
    return found


def table(title: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[object]]]) -> None:
    """Print one Markdown table."""
    print(f"\n| {title} | {' | '.join(heads)} |\n|---{'|---' * len(heads)}|")
    for name, cells in rows:
        print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)


def main(draws: int) -> None:
    """Print, for each size, coverage in per cent, mean width in brackets, and rejections of 0 in per cent."""
    for n in SIZES:
        rows = ((f"{case.name}, n = {n}", cover_means(case, n, draws)) for case in MEANS)
        table("mean difference", ["ours", "t", "bootstrap", "Gaffke"], rows)
    for n in SIZES[1:]:
        rows = ((f"{case.name}, n = {n}", cover_data(case, n, draws)) for case in DATA)
        table("over the data set, no difference", ["ours", "bootstrap", "swapping"], rows)
    clustered = (
        (
            f"{clusters} clusters, {'equal' if even else 'uneven'} sizes, mean {mean:g}",
            cover_clusters(mean, 0.1, clusters, even, draws),
        )
        for clusters in (8, 30, 100)
        for even in (True, False)
        for mean in (0.0, 0.05)
    )
    table("mean difference in", ["clusters given", "clusters ignored"], clustered)


if __name__ == "__main__":
    started = time.perf_counter()
    main(draws=100 if "--quick" in sys.argv else 600)
    print(f"\n{time.perf_counter() - started:.0f} s")
