"""The rows on which two systems differ, by cause, with the evidence of the worst."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ragauge.peers.causes import CAUSES
from ragauge.peers.outcome import Difference, Row
from ragauge.report.explaining import TOLD, decisive, piece_words
from ragauge.report.wording import shortened
from ragauge.run.results import Run
from ragauge.scores import Better, ScoreRecord


class Pair(NamedTuple):
    """A row of theirs beside a sample of ours.

    position: of the sample in the run. theirs: their number on our scale; cells: their row as it stands.
    """

    position: int
    id: str
    query: str
    theirs: float | None
    ours: ScoreRecord
    cells: Mapping[str, Any]


class Telling(NamedTuple):
    """How rows are told.

    run, key, better: where the evidence of a sample is, and which way it counts. theirs: the name of their column.
    quoted: columns of theirs that say what a number was made of. show: how many rows are told for each cause.
    """

    run: Run
    key: str
    better: Better
    theirs: str
    quoted: Sequence[str]
    show: int

    def differences(self, pairs: Iterable[tuple[str | None, Pair]]) -> tuple[Difference, ...]:
        """The pairs that have a cause to differ, by cause, the worst first."""
        by_cause: dict[str, list[Pair]] = {cause: [] for cause in CAUSES}
        for cause, pair in pairs:
            if cause:
                by_cause[cause].append(pair)
        return tuple(
            Difference(cause, len(found), tuple(map(self._row, sorted(found, key=_gap, reverse=True)[: self.show])))
            for cause, found in by_cause.items()
            if found
        )

    def _row(self, pair: Pair) -> Row:
        why = pair.ours.undefined or pair.ours.failed or ""
        if pair.theirs is None:
            why = f"theirs is {pair.cells[self.theirs]!r:.80}" if self.theirs in pair.cells else "theirs is left out"
        evidence = (*self._decisive(pair), *self._quoted(pair))
        return Row(pair.id, shortened(pair.query, 120), pair.theirs, pair.ours.value, why, evidence)

    def _decisive(self, pair: Pair) -> list[str]:
        """What makes our number lower than theirs, or higher."""
        if pair.theirs is None or pair.ours.value is None:
            return []
        score = self.run.scores[pair.position][self.key]
        pieces = decisive(score, raising=pair.ours.value > pair.theirs, better=self.better)
        more = [f"and {len(pieces) - TOLD} more"] if len(pieces) > TOLD else []
        return [*map(piece_words, pieces[:TOLD]), *more]

    def _quoted(self, pair: Pair) -> list[str]:
        cells = ((name, pair.cells.get(name)) for name in self.quoted)
        return [f"theirs, {name}: {shortened(str(cell), 300)}" for name, cell in cells if cell]


def _gap(pair: Pair) -> float:
    return abs((pair.theirs or 0.0) - (pair.ours.value or 0.0))
