"""The samples that changed most, with the pieces that made the difference."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

from ragauge.comparison.outcome import Change, Difference, Piece
from ragauge.comparison.pairing import Side
from ragauge.report.explaining import TOLD, decisive, piece_words
from ragauge.run.results import Run
from ragauge.scores import Better, Score


def changes(
    runs: tuple[Run, Run],
    sides: tuple[Side, Side],
    pairs: Sequence[tuple[int, int]],
    differences: Mapping[str, Difference],
    count: int,
) -> Iterator[Change]:
    """For each metric of samples that differs at all, the `count` samples on which it does most."""
    for key, difference in differences.items():
        for first, second, places in _furthest(key, sides, pairs, count):
            scores = [("a", runs[0].scores[places[0]][key]), ("b", runs[1].scores[places[1]][key])]
            b_is_worse = (second < first) == (difference.better == "higher")
            worse, other = reversed(scores) if b_is_worse else scores
            row = sides[0].rows[places[0]]
            pieces = tuple(_pieces(worse, other, difference.better))[:TOLD]
            yield Change(key, row.id, row.asks, first, second, pieces)


def _furthest(
    key: str, sides: tuple[Side, Side], pairs: Sequence[tuple[int, int]], count: int
) -> list[tuple[float, float, tuple[int, int]]]:
    """The values and positions of the pairs whose values lie furthest apart, the furthest first."""
    values = [(sides[0].cells[key][one], sides[1].cells[key][other]) for one, other in pairs]
    apart = [
        (first, second, places)
        for (first, second), places in zip(values, pairs, strict=True)
        if isinstance(first, float) and isinstance(second, float) and first != second
    ]
    return heapq.nsmallest(count, apart, key=lambda change: (-abs(change[1] - change[0]), change[2]))


def _pieces(worse: tuple[str, Score], other: tuple[str, Score], better: Better) -> Iterator[Piece]:
    """What tells against the worse of two scores alone; where nothing does, what tells for the other alone."""
    for (name, score), against, raising in (
        (worse, other[1], better == "lower"),
        (other, worse[1], better == "higher"),
    ):
        said = [piece_words(piece) for piece in decisive(against, raising, better)]
        alone = [piece_words(piece) for piece in decisive(score, raising, better)]
        found = [Piece(name, words) for words in alone if words not in said]
        if found:
            yield from found
            return
