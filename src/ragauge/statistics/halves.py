"""Ways to divide the samples of a data set in two, and what is added up on either side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: So many rows or fewer are divided in every way, which is 8192 ways; more of them at random.
ALL_WAYS = 13

#: What is left of a sum when all of it is taken away again is no more than this share of it.
ROUNDING = 1e-12

#: Random members drawn at a time, few enough for a processor's cache.
BLOCK = 200_000


def halves(rows: Array, seed: int, resamples: int) -> tuple[Array, Array]:
    """The sums of `rows` (units x columns) over the one side and the other, for each way to divide the units.

    Each unit goes to either side with equal chance. All ways are taken for up to 13 units; otherwise `resamples` random
    ones, and the way that leaves one side empty. The order of the rows makes no difference.
    """
    import numpy as np

    total = rows.sum(axis=0)
    if len(rows) <= ALL_WAYS:
        ways = np.arange(2 ** len(rows))
        one = (ways[:, None] >> np.arange(len(rows)) & 1) @ rows
    else:
        one = np.concatenate([total[None], *_random(rows, np.random.default_rng(seed), resamples)])
    other = total - one
    other[np.abs(other) <= ROUNDING * np.abs(total)] = 0
    return one, other


def _random(rows: Array, chance: np.random.Generator, resamples: int) -> Iterator[Array]:
    """The sums over one side of random ways, in blocks. Of k equal rows a binomial number falls on it."""
    import numpy as np

    distinct, times = np.unique(rows, axis=0, return_counts=True)
    alone, several = distinct[times == 1], distinct[times > 1]
    step = max(1, BLOCK // len(distinct))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        of_several = chance.binomial(times[times > 1], 0.5, (size, len(several)))
        yield _coins(chance, size, len(alone)) @ alone + of_several @ several


def _coins(chance: np.random.Generator, height: int, width: int) -> Array:
    """Zeros and ones by chance."""
    import numpy as np

    drawn = np.frombuffer(chance.bytes(-(-height * width // 8)), dtype=np.uint8)
    return np.unpackbits(drawn, count=height * width).reshape(height, width).astype(np.float64)
