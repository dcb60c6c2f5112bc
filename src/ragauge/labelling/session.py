"""A session: one person who goes from piece to piece, forward and back, and answers what they can."""

from __future__ import annotations

from collections.abc import Iterator

from ragauge.labelling.drawing import Draw
from ragauge.labelling.labelling import Labelling, Piece
from ragauge.labelling.replies import reply
from ragauge.types import Answer


class Session:
    """The way of one person through the pieces of a metric.

    given: how many labels were given. piece: what is asked now, None at the end. said: what was answered to it here.
    """

    def __init__(self, labelling: Labelling, metric: str, by: str) -> None:
        self.given = 0
        self._labelling, self._metric, self._by = labelling, metric, by
        self._passed: list[int] = []
        self._history: list[tuple[Draw, Piece]] = []
        self._at = -1
        self._seen: set[int] = set()
        self._said: dict[int, Answer] = {}
        self.forward()

    @property
    def piece(self) -> Piece | None:
        """What is asked now."""
        return self._history[self._at][1] if self._at < len(self._history) else None

    @property
    def said(self) -> Answer | None:
        """What this person said of it before they came back to it."""
        return self._said.get(self._at)

    @property
    def draw(self) -> Draw:
        """The sample that is asked about now."""
        return self._history[self._at][0]

    @property
    def is_first(self) -> bool:
        """Whether the sample was not shown before this piece."""
        return self._at == 0 or self._history[self._at - 1][0] != self.draw

    def answer(self, typed: str) -> None:
        """Keep what was typed as this person's label, and go on. Raises UsageError where it is no answer."""
        assert self.piece is not None
        question = self.piece.question
        answer = reply(question, typed)
        self._labelling.keep(question, answer, self._by, None if self._at in self._seen else self.draw)
        self.given += 1
        self._said[self._at] = answer
        self.forward()

    def forward(self) -> None:
        """Go on, without an answer."""
        self._at += 1
        if self._at == len(self._history):
            self._history.extend(self._more())

    def back(self) -> None:
        """Go back to the piece before; at the first there is none."""
        self._at = max(0, self._at - 1)

    def reveal(self) -> Answer | None:
        """What the judge says of this piece; an answer after that does not count for agreement and correction."""
        assert self.piece is not None
        self._seen.add(self._at)
        return self.piece.judge

    def _more(self) -> Iterator[tuple[Draw, Piece]]:
        """The open pieces of the next sample that has some."""
        while (drawn := self._labelling.next(self._metric, self._passed)) is not None:
            self._passed.append(drawn.position)
            pieces = self._labelling.open(drawn, self._metric)
            if pieces:
                return iter([(drawn, piece) for piece in pieces])
        return iter(())
