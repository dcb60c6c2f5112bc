"""How needs are tested: a flow is worked by hand, with the answers of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ragauge.needs.base import QuestionFlow
from ragauge.questions import Classify, Correct, Decompose, Entail, Judgment, Question, Rate, Relevant
from ragauge.types import Answer, ChunkVerdict, Decomposition, Grade, Identity, Label, Statement, Verdict

Working = Callable[..., tuple[Any, list[Sequence[Question]]]]


def plain_answer(question: Question) -> Answer:
    """Each word is a claim; words in capitals are opinions as well; a text entails the words that are in it."""
    match question:
        case Decompose(text):
            return Decomposition(tuple(Statement(word, opinion=word.isupper()) for word in text.split()))
        case Entail(premise, hypothesis):
            labels = [Label.ENTAILED if hypothesis in text.split() else Label.NEUTRAL for text in premise]
            return Verdict(
                max(labels, key=lambda label: label is Label.ENTAILED), chunks=tuple(map(ChunkVerdict, labels))
            )
        case Relevant(query, text):
            return Verdict(Label.YES if query in text else Label.NO)
        case Classify():
            return Verdict(Label.YES)
        case Correct(_, response, references):
            return Verdict(Label.RIGHT if response in references else Label.WRONG)
        case Rate(rubric):
            return Grade(rubric.high)


def worked_through(
    flow: QuestionFlow[Any], answering: Callable[[Question], Answer] = plain_answer
) -> tuple[Any, list[Any]]:
    """What a flow finds, and what it asked at each step."""
    asked: list[Sequence[Question]] = []
    judgments: list[Judgment] | None = None
    while True:
        try:
            asked.append(flow.send(judgments))  # type: ignore[arg-type]  # the first send is None
        except StopIteration as stop:
            return stop.value, asked
        judgments = [Judgment(q, answering(q), Identity("test"), f"key {i}") for i, q in enumerate(asked[-1])]


@pytest.fixture(scope="session")
def worked() -> Working:
    """Works through a flow."""
    return worked_through
