"""Rank correlation: do two systems put the samples in the same order?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def average_ranks(values: Array) -> Array:
    """The ranks of `values` from 1; equal values share the mean of their ranks."""
    import numpy as np

    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def spearman(one: Sequence[float] | Array, other: Sequence[float] | Array) -> float | None:
    """Spearman's rank correlation of pairs of values, in -1..1; ties share their ranks.

    None where either side has fewer than two different values, so that there is no order to compare.
    """
    import numpy as np

    ranks = [average_ranks(np.asarray(values, dtype=float)) for values in (one, other)]
    if any(not len(values) or values.min() == values.max() for values in ranks):
        return None
    a, b = (values - values.mean() for values in ranks)
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))
