"""How often the interval of a score corrected by people's labels holds the true mean, and how wide it is.

    python benchmarks/corrected_coverage.py

A sample has one to six claims, of which people support a share; a judge agrees with people on some samples, and is too
lenient or wrong at random on the others. Next to it the interval of the human mean over the same labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ragauge.statistics.agreement import corrected_mean, corrected_share
from ragauge.statistics.intervals import Interval, mean_interval

Array = NDArray[np.float64]

SETS = 600
SIZES = ((10, 100), (30, 300), (100, 1000), (100, 200), (300, 3000))
TRUE_MEAN = 4 / 5.5


def people(chance: np.random.Generator, size: int) -> tuple[Array, Array]:
    """The scores of `size` samples by people, and how many claims each has."""
    claims = chance.integers(1, 7, size)
    return chance.binomial(claims, chance.beta(4, 1.5, size)) / claims, claims.astype(float)


def guessing(right: float) -> Callable[[np.random.Generator, Array, Array], Array]:
    """A judge that says what people say on a share of the samples, and guesses on the rest."""
    return lambda chance, true, claims: np.where(
        chance.random(len(true)) < right, true, chance.binomial(claims.astype(int), 0.5) / claims
    )


def lenient(chance: np.random.Generator, true: Array, claims: Array) -> Array:
    """A judge that adds a claim of every second sample."""
    return np.minimum(1.0, true + (chance.random(len(true)) < 0.5) / claims)


JUDGES = {"right on 90 %": guessing(0.9), "right on 50 %": guessing(0.5), "too lenient": lenient}


def rows() -> Iterator[str]:
    """The lines of the table."""
    yield "| judge | drawn of all | judge's bias | corrected: coverage (width) | people alone: coverage (width) |"
    yield "|---|---|---|---|---|"
    for name, judge in JUDGES.items():
        for drawn, size in SIZES:
            yield f"| {name} | {drawn} of {size} | {cell(judge, drawn, size)} |"


def cell(judge: Callable[[np.random.Generator, Array, Array], Array], drawn: int, size: int) -> str:
    """What comes of one judge and size over all simulated sets."""
    chance = np.random.default_rng(0)
    found = []
    for _ in range(SETS):
        true, claims = people(chance, size)
        reply = judge(chance, true, claims)
        asked = list(true[:drawn])
        both = (corrected_mean(asked, list(reply[:drawn]), list(reply[drawn:])), mean_interval(asked))
        found.append([reply.mean() - TRUE_MEAN, *(figure for one in both for figure in figures(one))])
    bias, covered, wide, plainly, plain = np.mean(found, axis=0)
    return f"{bias:+.3f} | {100 * covered:.1f} ({wide:.3f}) | {100 * plainly:.1f} ({plain:.3f})"


def figures(interval: Interval) -> tuple[float, float]:
    """Whether the true mean lies in an interval, as 1 or 0, and how wide it is."""
    assert interval.low is not None
    assert interval.high is not None
    return float(interval.low <= TRUE_MEAN <= interval.high), interval.high - interval.low


#: How often a judge affirms what people affirm, and denies what they deny.
RATES = ((0.95, 0.9), (0.9, 0.8), (0.75, 0.75), (0.98, 0.6))
LABELLED = 30, 100, 400


def error_rows() -> Iterator[str]:
    """The lines of the table of errors by labels of other texts."""
    yield "| affirms rightly, denies rightly | labels | judge's bias | stated in | coverage (width) |"
    yield "|---|---|---|---|---|"
    for rates in RATES:
        for labels in LABELLED:
            yield f"| {rates[0]:.0%}, {rates[1]:.0%} | {labels} | {error_cell(rates, labels)} |"


def error_cell(rates: tuple[float, float], labels: int) -> str:
    """What comes of one judge and number of labels over all simulated runs of 300 samples."""
    chance = np.random.default_rng(0)
    stated, biases = [], []
    for _ in range(SETS):
        true, claims = people(chance, 300)
        held = np.rint(true * claims).astype(int)
        reply = (chance.binomial(held, rates[0]) + chance.binomial(claims.astype(int) - held, 1 - rates[1])) / claims
        biases.append(reply.mean() - TRUE_MEAN)
        affirmed = chance.binomial(labels, TRUE_MEAN)
        right = [chance.random(affirmed) < rates[0], chance.random(labels - affirmed) < rates[1]]
        found = corrected_share(mean_interval(list(reply)), *(mean_interval(list(one.astype(float))) for one in right))
        stated += [figures(found)] if found.value is not None else []
    covered, wide = np.mean(stated, axis=0)
    return f"{np.mean(biases):+.3f} | {len(stated) / SETS:.0%} | {100 * covered:.1f} ({wide:.3f})"


if __name__ == "__main__":
    print("\n".join([*rows(), "", *error_rows()]))
