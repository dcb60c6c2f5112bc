"""The samples that changed most, with the pieces that made the difference."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

from ragauge.comparison.outcome import Change, Difference, Piece
from ragauge.comparison.pairing import Side
from ragauge.nouns.scores import Better
from ragauge.report.explaining import TOLD, decisive, piece_words
from ragauge.run.run import Run


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
            against = [_against(run, at, key, difference.better) for run, at in zip(runs, places, strict=True)]
            pieces = [Piece("a", said) for said in against[0] if said not in against[1]][:TOLD]
            pieces += [Piece("b", said) for said in against[1] if said not in against[0]][:TOLD]
            row = sides[0].rows[places[0]]
            yield Change(key, row.id, row.asks, first, second, tuple(pieces))


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


def _against(run: Run, position: int, key: str, better: Better) -> list[str]:
    """The pieces of a sample that tell against its response."""
    pieces = decisive(run.scores[position][key], raising=better == "lower", better=better)
    return [piece_words(piece) for piece in pieces]
