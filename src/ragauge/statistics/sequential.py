"""Tests and intervals of the mean of a bounded score that stay valid however often they are looked at.

Both bet, after Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (JRSS B 86, 2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ragauge.arrays import Array, np
from ragauge.statistics.intervals import Interval, check_parameters, on_unit_scale

#: The stakes, as shares of the largest that cannot lose more than all.
FRACTIONS = (0.5, 0.25, 0.125, 0.0625)
#: Scores between two fresh starts of the bets.
SPACING = 256
#: The means that a confidence sequence considers, on the unit scale.
GRID = 201
#: The lowest price of a bet, and the largest capital that is counted.
SMALLEST, LARGEST = 1e-9, 1e200


class Bets:
    """Bets that the mean of scores lies on one side of each of some bounds, against its being there or beyond.

    As long as each score's mean, given those before it, is not on that side of a bound, the capital of the bets against
    it is expected never to grow from its beginning of 1. The chance that it ever reaches 1/alpha is then at most alpha
    (Ville's inequality), over all looks together.

    Part of the capital starts to bet at the first score, parts that shrink as 1/(j (j + 1)) at later ones, so that good
    scores of long ago do not hide bad ones of today.

    Args:
        bounds: on the unit scale.
        side: on which the bets say that the mean lies.
        restarted: whether parts of the capital start later; False where the mean is taken not to change.
    """

    def __init__(
        self, bounds: Sequence[float] | Array, side: Literal["below", "above"], *, restarted: bool = True
    ) -> None:
        self.n = 0
        self._bounds = np.asarray(bounds, dtype=float)
        self._sign, self._restarted = (1 if side == "below" else -1), restarted
        most_lost = 1 - self._bounds if side == "below" else self._bounds
        self._stakes = np.outer(FRACTIONS, 1 / np.maximum(most_lost, SMALLEST))
        self._capital = np.zeros_like(self._stakes)

    def add(self, score: float) -> None:
        """Settle the bets on the next score, on the unit scale."""
        if self.n % SPACING == 0 and (self._restarted or not self.n):
            start = self.n // SPACING + 1
            share = 1 / (start * (start + 1)) if self._restarted else 1.0
            self._capital += share / len(FRACTIONS)
        self.n += 1
        self._capital *= np.maximum(1 + self._stakes * (self._sign * (self._bounds - score)), 0)
        np.minimum(self._capital, LARGEST, out=self._capital)

    @property
    def capital(self) -> Array:
        """The capital of the bets against each bound: the evidence, an e-value, that the mean lies on the side."""
        capital: Array = self._capital.sum(axis=0)
        return capital

    def state(self) -> list[float]:
        """What `restore` needs to go on from here: numbers."""
        return [self.n, *self._capital.ravel().tolist()]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a state of bets on as many bounds."""
        self.n = int(state[0])
        self._capital = np.asarray(state[1:], dtype=float).reshape(self._capital.shape)


class ConfidenceSequence:
    """An interval of the mean of bounded scores that covers it at all times at once, at a confidence.

    The mean is that of all scores, which is taken not to change. The ends are on a grid of 0.5 % of the scale.
    Raises BadParameter for a confidence below 0.5 or of 1 and more, or an invalid scale.
    """

    def __init__(self, scale: tuple[float, float] = (0.0, 1.0), confidence: float = 0.95) -> None:
        check_parameters(0, None, confidence, scale)
        self._scale, self._needed = scale, 2 / (1 - confidence)
        self._grid = np.linspace(0, 1, GRID)
        self._sides = Bets(self._grid, "above", restarted=False), Bets(self._grid, "below", restarted=False)
        self._total = 0.0

    def add(self, scores: Iterable[float]) -> None:
        """Add scores. Raises BadParameter for one that is not on the scale."""
        for score in on_unit_scale(list(scores), self._scale).tolist():
            self._total += score
            for bets in self._sides:
                bets.add(score)

    def interval(self) -> Interval:
        """The mean so far with its interval; all is None without scores."""
        above, below = self._sides
        if not above.n:
            return Interval(None, None, None, "betting")
        mean = self._total / above.n
        too_low = self._grid[above.capital >= self._needed]
        too_high = self._grid[below.capital >= self._needed]
        low, high = too_low.max(initial=0.0), too_high.min(initial=1.0)
        start, width = self._scale[0], self._scale[1] - self._scale[0]
        ends = [start + width * float(end) for end in (mean, min(low, mean), max(high, mean))]
        return Interval(ends[0], ends[1], ends[2], "betting")

    def state(self) -> list[list[float]]:
        """What `restore` needs to go on from here."""
        return [[self._total], *(bets.state() for bets in self._sides)]

    def restore(self, state: Sequence[Sequence[float]]) -> None:
        """Go on from a state."""
        (self._total,), *sides = state
        for bets, kept in zip(self._sides, sides, strict=True):
            bets.restore(kept)
