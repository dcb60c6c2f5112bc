"""Questions that users asked, from traces or rows, drawn to cover what is asked, the doubtful ones first."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from ragauge.datasets.corpus import Draw
from ragauge.datasets.drawing import PassageMap
from ragauge.datasets.masking import masked
from ragauge.errors import BadData
from ragauge.needs.checks import graded_text
from ragauge.readers import SampleReader
from ragauge.scores import Score
from ragauge.types import Sample, Turn

#: The most distinct questions that are held in memory; from more of them, so many are drawn at random.
MOST_QUESTIONS = 50_000


class RealQuestions:
    """Distinct questions of users with the conversations before them. total: the number of them in the data.

    The first ones always cover what is asked: questions are clustered by their words, and every cluster gives one
    before any gives two. If the rows have scores with evidence, or the judge's `confidence`, a cluster first gives the
    questions that the judge doubted most.

    count: the number of questions that will be drawn, which decides the number of clusters. mask: whether to mask
    personal data. Raises BadData without a question, MissingExtra where `mask` takes presidio-analyzer.
    """

    def __init__(self, reader: SampleReader, count: int, seed: int, mask: bool) -> None:
        draw = Draw[tuple[Sample, float]](
            lambda item: _conversation(item[0]), distinct=True, most=MOST_QUESTIONS, seed=seed
        )
        draw.add((_question(sample), _doubt(sample)) for sample in reader if (sample.query or "").strip())
        self.total = draw.total
        self._mask = mask
        if not draw.total:
            raise BadData(f"{reader.name}: no row has a question; name the column, such as --map query=COLUMN")
        if mask:
            masked("")  # raises MissingExtra before anything is asked
        questions, doubts = zip(*draw.items(), strict=True)
        self._questions: tuple[Sample, ...] = questions
        conversations = PassageMap([*map(_conversation, questions)])
        self._order = conversations.covering_order(count, Random(seed), doubts)

    def __iter__(self) -> Iterator[Sample]:
        """The questions in the order of the draw, masked if so requested."""
        for position in self._order:
            yield _masked(self._questions[position]) if self._mask else self._questions[position]


def _conversation(sample: Sample) -> str:
    return graded_text(sample, "conversation")


def _question(sample: Sample) -> Sample:
    """The question and its conversation, without the system's prompt, response and contexts."""
    turns = tuple(Turn(turn.role, turn.text) for turn in sample.turns or () if turn.role != "system")
    return Sample("", sample.query, turns=turns or None, metadata={"asked_in": sample.id})


def _masked(question: Sample) -> Sample:
    turns = question.turns and tuple(Turn(turn.role, masked(turn.text)) for turn in question.turns)
    return msgspec.structs.replace(question, query=masked(question.query or ""), turns=turns)


def _doubt(sample: Sample) -> float:
    """The judge's mean doubt about its verdicts on the response, from 0 to 1; 0.5 if unknown."""
    confidence: Any = sample.metadata.get("confidence")
    if isinstance(confidence, int | float) and 0 <= confidence <= 1:
        return 1.0 - confidence
    try:
        scores = msgspec.convert(sample.metadata.get("scores"), dict[str, Score])
    except msgspec.ValidationError:
        return 0.5
    doubts = [piece.doubt for score in scores.values() for piece in score.evidence]
    return sum(doubts) / len(doubts) if doubts else 0.5
