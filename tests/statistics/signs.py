"""What tests of paired differences share: differences, and the test by signs in the plain way, by trying all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from statistics import fmean

from hypothesis import strategies as st

from ragauge.scores import Share
from ragauge.statistics.paired import Paired

SHARES = st.sampled_from([-1.0, -2 / 3, -0.5, -1 / 3, 0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0])
SCORES = st.one_of(SHARES, st.floats(-1, 1).map(lambda number: round(number, 6)))  # far from errors of rounding
FEW = st.lists(SCORES, min_size=1, max_size=9)
MANY = st.lists(SCORES, min_size=14, max_size=40)


def ends(found: Paired) -> tuple[float, float]:
    """The low and the high end, which must be there."""
    assert found.interval.low is not None
    assert found.interval.high is not None
    return found.interval.low, found.interval.high


def p_by_signs(differences: Sequence[float], true: float = 0.0) -> float:
    """The share of all ways to change signs that leave |Σ (d - true)| as large, by trying them all."""
    apart = [difference - true for difference in differences]
    sums = [abs(sum(sign * one for sign, one in zip(signs, apart, strict=True))) for signs in all_signs(len(apart))]
    return fmean(one >= abs(sum(apart)) - 1e-9 for one in sums)


def all_signs(count: int) -> list[tuple[int, ...]]:
    """Every way to give the differences a sign."""
    return list(product((1, -1), repeat=count))


def pooled(sums: Sequence[float]) -> float | None:
    """Hits over total."""
    return Share(*sums).value
