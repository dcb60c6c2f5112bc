"""The survey: what in a run can be labelled, without its texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragauge.scores import Evidence, SampleRecord

#: How unsure a verdict is taken to be that comes without a probability, and a grade: as one of 0.25 or 0.75.
UNTOLD = 0.5

Keys = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """What can be labelled of one sample.

    keys: for each need the judgments behind its evidence, each once. doubts: for each need how unsure they are, 0 to 1.
    needs: which needs each metric counts. group: of the sample.
    """

    keys: dict[str, Keys]
    doubts: dict[str, float]
    needs: dict[str, Keys]
    group: str | None

    def all_keys(self) -> Iterator[str]:
        """Every judgment that stands behind a score."""
        for keys in self.keys.values():
            yield from keys

    def keys_of(self, metric: str) -> Keys:
        """The judgments that a metric counts."""
        return tuple(dict.fromkeys(key for need in self.needs.get(metric, ()) for key in self.keys[need]))

    def yield_of(self, metric: str) -> float:
        """How much of the score one label is expected to settle: the mean doubt, over the number of judgments."""
        keys = self.keys_of(metric)
        doubt = sum(self.doubts[need] * len(self.keys[need]) for need in self.needs.get(metric, ()))
        return doubt / len(keys) ** 2 if keys else 0.0


class Survey:
    """The rows of a run, read in one pass."""

    def __init__(self, records: Iterable[SampleRecord]) -> None:
        self.rows: Sequence[Row] = [_row(record) for record in records]

    @property
    def metrics(self) -> list[str]:
        """The metrics that rest on judgments, in the order of the run."""
        named = dict.fromkeys(metric for row in self.rows for metric, needs in row.needs.items() if needs)
        return list(named)

    def keys(self) -> Iterator[str]:
        """Every judgment that stands behind a score."""
        for row in self.rows:
            yield from row.all_keys()


def _row(record: SampleRecord) -> Row:
    judged = {need: [piece for piece in pieces if piece.judgment] for need, pieces in record.evidence.items()}
    keys = {need: tuple(dict.fromkeys(piece.judgment for piece in pieces)) for need, pieces in judged.items()}
    doubts = {need: sum(map(_doubt, pieces)) / len(pieces) for need, pieces in judged.items() if pieces}
    needs = {
        metric: tuple(need for need in score.evidence if keys.get(need)) for metric, score in record.scores.items()
    }
    return Row(keys, doubts, needs, record.sample.group)


def _doubt(piece: Evidence) -> float:
    """How unsure a verdict is: 1 at a probability of one half, as where the votes of a panel are divided."""
    return UNTOLD if piece.probability is None else 1 - abs(2 * piece.probability - 1)
