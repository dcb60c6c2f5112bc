"""Labels as the page shows and gives them."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any

import msgspec

from ragauge.analysis.label_session import asked, choices, reply
from ragauge.analysis.labels import Labelling, LabelPiece, SampleDraw
from ragauge.errors import UsageError
from ragauge.questions import Rate, kind
from ragauge.report.document import score_document
from ragauge.run.results import Run


class Given(msgspec.Struct, forbid_unknown_fields=True):
    """A label that the page gives.

    judgment: of the piece, at `position` of the run and behind `metric`. said: as `reply` reads it. draw: how the
    sample came to be asked about; None where the judge's verdict was in sight.
    """

    position: int
    metric: str
    judgment: str
    said: str
    draw: SampleDraw | None = None


class Labels:
    """The labelling of each run that was asked for; what is read of a run is read once. by: who labels."""

    def __init__(self, by: str) -> None:
        self._by = by
        self._lock = threading.Lock()
        self._opened: dict[str, Labelling] = {}

    def standings(self, run: Run, metric: str | None = None) -> dict[str, Any]:
        """The metrics that can be labelled, and what the labels come to for those that have some, or for one."""
        labelling = self._labelling(run)
        wanted = [labelling.metric(metric)] if metric else labelling.labelled()
        found = labelling.standings(wanted) if wanted else {}
        return {"metrics": labelling.metrics, "standings": msgspec.to_builtins(found), "by": self._by}

    def next(self, run: Run, metric: str | None, passed: Collection[int]) -> dict[str, Any]:
        """The next sample to label with its open pieces; {"draw": None} where nothing is left."""
        labelling = self._labelling(run)
        chosen = labelling.metric(metric)
        drawn = labelling.next(chosen, passed)
        pieces = labelling.open(drawn, chosen) if drawn else []
        id = run.store.sample(run.id, drawn.position).sample.id if drawn else None
        shown = {"metric": chosen, "draw": msgspec.to_builtins(drawn), "id": id}
        return {**shown, "pieces": [_piece(piece) for piece in pieces]}

    def sample(self, run: Run, position: int, metric: str) -> dict[str, Any]:
        """The pieces of a sample behind one metric with their labels, and its scores as people correct them."""
        labelling = self._labelling(run)
        pieces = labelling.pieces(position, metric) if metric in labelling.metrics else []
        scores = {key: score_document(score) for key, score in labelling.scores(position).items()}
        return {"pieces": [_piece(piece) for piece in pieces], "scores": scores}

    def keep(self, run: Run, given: Given) -> dict[str, Any]:
        """Keep a label, and show the sample as it then is. Raises UsageError where it fits no piece."""
        labelling = self._labelling(run)
        pieces = labelling.pieces(given.position, labelling.metric(given.metric))
        piece = next((one for one in pieces if one.evidence.judgment == given.judgment), None)
        if piece is None:
            raise UsageError(f"sample {given.position} has no judgment {given.judgment!r} behind {given.metric}")
        labelling.keep(piece.question, reply(piece.question, given.said), self._by, given.draw)
        return self.sample(run, given.position, given.metric)

    def _labelling(self, run: Run) -> Labelling:
        with self._lock:
            if run.id not in self._opened:
                self._opened[run.id] = Labelling(run)
            return self._opened[run.id]


def _piece(piece: LabelPiece) -> dict[str, Any]:
    """A piece as plain data, with what is asked and what can be said."""
    question = piece.question
    rubric = question.rubric if isinstance(question, Rate) else None
    label = piece.label
    return {
        "judgment": piece.evidence.judgment,
        "evidence": msgspec.to_builtins(piece.evidence),
        "question": msgspec.to_builtins(question),
        "kind": kind(question),
        "asked": asked(question),
        "choices": msgspec.to_builtins(choices(question)),
        "scale": [rubric.low, rubric.high] if rubric else None,
        "judge": msgspec.to_builtins(piece.judge),
        "label": {"answer": msgspec.to_builtins(label.answer), "by": dict(label.judge.settings)["by"]}
        if label
        else None,
    }
