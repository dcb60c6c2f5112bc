"""How often the intervals of ragauge cover the truth, by simulation.

Run `python benchmarks/interval_coverage.py` (under two minutes on one core); `--quick` makes a sixth of the draws.
Each line draws many data sets from a distribution whose mean is known and counts how many 95 % intervals contain it.
The widths are shares of the scale. Everything is seeded, so every run prints the same tables.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ragauge.scores import F1Counts, PrecisionRecall, Share
from ragauge.statistics.intervals import CountFunction, Interval, aggregate_interval, mean_interval

Array = NDArray[np.floating[Any]]
Ends = tuple[float, float]
Draw = Callable[[Generator, int], Array]

SIZES = (5, 30, 300)
#: The 97.5 % quantiles of Student's t with n - 1 degrees of freedom.
STUDENT = {5: 2.776, 8: 2.365, 20: 2.093, 30: 2.045, 50: 2.010, 200: 1.972, 300: 1.968}
RESAMPLES = 400
TRUTH_FROM = 1_000_000


@dataclass(frozen=True)
class Scores:
    """A distribution of scores on a scale, and its mean."""

    name: str
    draw: Draw
    mean: float
    scale: Ends = (0.0, 1.0)


@dataclass(frozen=True)
class Counts:
    """A distribution of a sample's counts, and the metric made of their sums."""

    name: str
    draw: Draw
    value: CountFunction


@dataclass
class Coverage:
    """How many intervals contained the truth, and how wide they were."""

    truth: float
    inside: list[bool]
    widths: list[float]

    def add(self, ends: Ends, scale: Ends = (0.0, 1.0)) -> None:
        """Take in one interval; what lies beyond the scale is not counted as width."""
        low, high = ends
        self.inside.append(low - 1e-12 <= self.truth <= high + 1e-12)
        self.widths.append((min(high, scale[1]) - max(low, scale[0])) / (scale[1] - scale[0]))

    def __str__(self) -> str:
        return f"{100 * fmean(self.inside):.1f} ({fmean(self.widths):.3f})"


def yes_no(p: float) -> Scores:
    """A verdict a sample, as in answer correctness by exact match."""
    return Scores(f"yes/no, {p:g} yes", lambda chance, n: (chance.random(n) < p).astype(float), p)


def beta(a: float, b: float) -> Scores:
    """Continuous scores, such as a similarity."""
    return Scores(f"Beta({a:g}, {b:g})", lambda chance, n: chance.beta(a, b, n), a / (a + b))


def claims(a: float, b: float) -> Scores:
    """Shares of 1 to 6 claims, where samples differ in quality."""

    def draw(chance: Generator, n: int) -> Array:
        total = chance.integers(1, 7, n)
        return chance.binomial(total, chance.beta(a, b, n)) / total

    return Scores(f"shares of 1-6 claims, quality Beta({a:g}, {b:g})", draw, a / (a + b))


def zeros(share: float, a: float, b: float) -> Scores:
    """Overlap scores such as ROUGE: skewed, with many zeros."""

    def draw(chance: Generator, n: int) -> Array:
        return chance.beta(a, b, n) * (chance.random(n) >= share)

    return Scores(f"{share:.0%} zeros, else Beta({a:g}, {b:g})", draw, (1 - share) * a / (a + b))


def rare(share: float) -> Scores:
    """Equal scores but for a rare failure, the hardest case for a small sample."""
    return Scores(f"0.8, and 0 in {share:.0%}", lambda chance, n: 0.8 * (chance.random(n) >= share), 0.8 * (1 - share))


def equal(score: float) -> Scores:
    """Every sample scores the same."""
    return Scores(f"all equal, {score:g}", lambda _, n: np.full(n, score), score)


def grades(*shares: float) -> Scores:
    """Whole numbers from 1 to 5, with these shares."""
    mean = sum(grade * share for grade, share in enumerate(shares, start=1))
    return Scores(
        f"grades 1-5, {' '.join(f'{share:.0%}' for share in shares)}",
        lambda chance, n: np.asarray(chance.choice(5, n, p=shares) + 1, dtype=float),
        mean,
        (1.0, 5.0),
    )


MEANS = (
    *map(yes_no, (0.02, 0.1, 0.5, 0.9, 0.98)),
    *(beta(0.5, 0.5), beta(8, 2), claims(8, 2), claims(0.9, 0.1), claims(19, 1)),
    *(zeros(0.3, 2, 8), zeros(0.6, 2, 5), zeros(0.9, 2, 8), rare(0.05), rare(0.01)),
    *map(equal, (0.5, 1.0)),
    *(grades(0.02, 0.05, 0.13, 0.4, 0.4), grades(0, 0, 0.1, 0.8, 0.1)),
)


def pooled(sums: Sequence[float]) -> float | None:
    """The pooled mean of shares."""
    return Share(*sums).value


def f1(sums: Sequence[float]) -> float | None:
    """The pooled F1 of statements."""
    return F1Counts(*sums).value


def claim_f1(sums: Sequence[float]) -> float | None:
    """The pooled harmonic mean of claim precision and recall."""
    return PrecisionRecall(*sums).value


def macro_f1(sums: Sequence[float]) -> float | None:
    """The mean of two F1: of refusing the unanswerable and of answering the answerable."""
    refused_rightly, refused, unanswerable, answered_rightly, answered, answerable = sums
    refusing = claim_f1((refused_rightly, refused, refused_rightly, unanswerable))
    answering = claim_f1((answered_rightly, answered, answered_rightly, answerable))
    return ((refusing or 0.0) + (answering or 0.0)) / 2


def hits(a: float, b: float, most: int = 6) -> Draw:
    """Supported claims out of 1 to `most`."""

    def draw(chance: Generator, n: int) -> Array:
        total = chance.integers(1, most + 1, n)
        return np.column_stack([chance.binomial(total, chance.beta(a, b, n)), total])

    return draw


def overlap(a: float, b: float) -> Draw:
    """True positives, false positives and false negatives of 1 to 4 statements each way."""

    def draw(chance: Generator, n: int) -> Array:
        quality, reply, expected = chance.beta(a, b, n), chance.integers(1, 5, n), chance.integers(1, 5, n)
        tp = chance.binomial(reply, quality)
        return np.column_stack([tp, reply - tp, chance.binomial(expected, 1 - quality)])

    return draw


def both_ways(a: float, b: float) -> Draw:
    """Precise out of 1 to 6 claims, recalled out of 1 to 3."""

    def draw(chance: Generator, n: int) -> Array:
        quality, reply, expected = chance.beta(a, b, n), chance.integers(1, 7, n), chance.integers(1, 4, n)
        return np.column_stack([chance.binomial(reply, quality), reply, chance.binomial(expected, quality), expected])

    return draw


def refusals(unanswerable: float, missed: float, needless: float) -> Draw:
    """The six counts of `macro_f1`, each 0 or 1."""

    def draw(chance: Generator, n: int) -> Array:
        without = chance.random(n) < unanswerable
        refused = chance.random(n) < np.where(without, 1 - missed, needless)
        cells = [refused & without, refused, without, ~refused & ~without, ~refused, ~without]
        return np.column_stack(cells).astype(float)

    return draw


def refusal_recall(unanswerable: float, missed: float) -> Draw:
    """Refused out of unanswerable; most samples are neither."""
    return lambda chance, n: refusals(unanswerable, missed, 0.05)(chance, n)[:, [0, 2]]


AGGREGATES = (
    Counts("pooled share, quality Beta(8, 2)", hits(8, 2), pooled),
    Counts("pooled share, quality Beta(0.9, 0.1)", hits(0.9, 0.1), pooled),
    Counts("pooled share of 1-20 claims, Beta(19, 1)", hits(19, 1, most=20), pooled),
    Counts("pooled F1, quality Beta(4, 4)", overlap(4, 4), f1),
    Counts("pooled F1, quality Beta(18, 2)", overlap(18, 2), f1),
    Counts("pooled claim F1, quality Beta(0.9, 0.1)", both_ways(0.9, 0.1), claim_f1),
    Counts("refusal recall 0.9, 10% unanswerable", refusal_recall(0.1, 0.1), pooled),
    Counts("macro F1 of refusals, 30% unanswerable", refusals(0.3, 0.2, 0.1), macro_f1),
    Counts("macro F1 of refusals, 5% unanswerable", refusals(0.05, 0.1, 0.02), macro_f1),
)


def ends(interval: Interval) -> Ends:
    """The ends of an interval of something defined."""
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def student(values: Array) -> Ends:
    """Student's t interval, for comparison."""
    half = STUDENT[len(values)] * values.std(ddof=1) / np.sqrt(len(values))
    return values.mean() - half, values.mean() + half


def percentiles(counts: Array, value: CountFunction, chance: Generator, resamples: int = RESAMPLES) -> Ends:
    """The percentile bootstrap interval, for comparison."""
    weights = chance.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), resamples)
    values = [value(sums) for sums in (weights @ counts).tolist()]
    low, high = np.quantile([one for one in values if one is not None], [0.025, 0.975])
    return float(low), float(high)


def cover_means(case: Scores, n: int, draws: int) -> list[Coverage]:
    """Coverage of ours and of Student's t."""
    ours, theirs = (Coverage(case.mean, [], []) for _ in range(2))
    chance = np.random.default_rng(n)
    for _ in range(draws):
        values = case.draw(chance, n)
        ours.add(ends(mean_interval(values.tolist(), scale=case.scale)), case.scale)
        theirs.add(student(values), case.scale)
    return [ours, theirs]


def cover_aggregates(case: Counts, n: int, draws: int) -> list[Coverage]:
    """Coverage of ours and of the percentile bootstrap, over the draws on which the metric is defined."""
    truth = case.value(case.draw(np.random.default_rng(0), TRUTH_FROM).sum(axis=0).tolist())
    assert truth is not None
    ours, theirs = (Coverage(truth, [], []) for _ in range(2))
    chance = np.random.default_rng(n)
    for _ in range(draws):
        counts = case.draw(chance, n)
        interval = aggregate_interval(counts.tolist(), case.value, resamples=RESAMPLES)
        if interval.value is not None:
            ours.add(ends(interval))
            theirs.add(percentiles(counts, case.value, chance))
    return [ours, theirs]


def cluster_sizes(chance: Generator, clusters: int, even: bool) -> NDArray[np.int64]:
    """Ten samples in each cluster, or a few in most and many in some (log-normal)."""
    return np.full(clusters, 10) if even else np.ceil(chance.lognormal(1.8, 1, clusters)).astype(np.int64)


def cover_clusters(a: float, b: float, even: bool, clusters: int, draws: int) -> list[Coverage]:
    """Coverage with the clusters given, and with them ignored, of yes/no scores whose share of yes is the cluster's."""
    ours, ignored = (Coverage(a / (a + b), [], []) for _ in range(2))
    chance = np.random.default_rng(clusters)
    for _ in range(draws):
        sizes = cluster_sizes(chance, clusters, even)
        yes = chance.random(sizes.sum()) < np.repeat(chance.beta(a, b, clusters), sizes)
        names = np.repeat(np.arange(clusters), sizes).astype(str).tolist()
        ours.add(ends(mean_interval(yes.astype(float).tolist(), clusters=names)))
        ignored.add(ends(mean_interval(yes.astype(float).tolist())))
    return [ours, ignored]


def table(title: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[Coverage]]]) -> None:
    """Print one Markdown table: coverage in per cent, with the mean width in brackets; ours are the odd columns."""
    ours: list[float] = []
    print(f"\n| {title} | {' | '.join(heads)} |\n|---{'|---' * len(heads)}|")
    for name, cells in rows:
        print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)
        ours += [100 * fmean(cell.inside) for cell in cells[::2]]
    print(f"\nOurs cover {min(ours):.1f} % at least and {fmean(ours):.1f} % on average.")


def heads(*methods: str) -> list[str]:
    """The columns of a table over the sizes of the data set."""
    return [f"{method}, n = {n}" for n in SIZES for method in methods]


def main(draws: int) -> None:
    """Print the three tables, from `draws` data sets for each cell."""
    means = ((case.name, [c for n in SIZES for c in cover_means(case, n, draws)]) for case in MEANS)
    table("mean of", heads("ours", "t"), means)
    totals = ((case.name, [c for n in SIZES for c in cover_aggregates(case, n, draws)]) for case in AGGREGATES)
    table("over the data set", heads("ours", "bootstrap"), totals)
    clustered = (
        (
            f"{clusters} clusters, {'equal' if even else 'uneven'} sizes, yes by cluster Beta({a:g}, {b:g})",
            cover_clusters(a, b, even, clusters, draws),
        )
        for clusters in (5, 30, 100)
        for even in (True, False)
        for a, b in ((2, 2), (8, 2), (0.9, 0.1), (0.09, 0.01))
    )
    table("mean over samples in", ["clusters given", "clusters ignored"], clustered)


if __name__ == "__main__":
    started = time.perf_counter()
    main(draws=100 if "--quick" in sys.argv else 600)
    print(f"\n{time.perf_counter() - started:.0f} s")
