"""What the tests of runs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ragauge.questions import Classify, Correct, Decompose, Entail, Question, Rate, Relevant
from ragauge.types import (
    Answer,
    Chunk,
    ChunkVerdict,
    Decomposition,
    Failure,
    Grade,
    Identity,
    Label,
    Sample,
    Statement,
    Verdict,
)

ALL = frozenset({"decompose", "entail", "relevant", "classify", "rate"})


class Stub:
    """A judge by simple rules on words, which remembers what it was asked.

    A sentence is a claim, and an opinion if it says "I". A text entails the sentences it holds and contradicts those
    it holds after "not:". A text is relevant if it shares a word with the query. A question with "!" in it fails.
    """

    def __init__(self, answers: frozenset[str] = ALL, name: str = "stub") -> None:
        self.identity, self.answers = Identity(name), answers
        self.asked: list[Question] = []

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """The answers in the order of the questions."""
        self.asked += questions
        return [Failure("stub", "no") if "!" in repr(question) else _answer(question) for question in questions]

    @property
    def kinds(self) -> set[str]:
        """The kinds it was asked."""
        return {question.kind for question in self.asked}


def _answer(question: Question) -> Answer:
    match question:
        case Decompose(text):
            return Decomposition(tuple(_statements(text)))
        case Entail(premise, hypothesis):
            labels = [_label(text, hypothesis) for text in premise]
            return Verdict(_label("\n".join(premise), hypothesis), 0.5, tuple(ChunkVerdict(label) for label in labels))
        case Relevant(query, text):
            return Verdict(Label.YES if set(query.split()) & set(text.split()) else Label.NO)
        case Classify(text, trait):
            return Verdict(Label.YES if trait in text else Label.NO)
        case Correct(_, response, references):
            return Verdict(Label.RIGHT if any(text in response for text in references) else Label.WRONG)
        case Rate(rubric):
            return Grade(rubric.high)


def _statements(text: str) -> list[Statement]:
    pieces = [piece.strip() for piece in text.split(".") if piece.strip()]
    return [Statement(piece, (at := text.find(piece), at + len(piece)), opinion="I " in piece) for piece in pieces]


def _label(text: str, hypothesis: str) -> Label:
    if f"not: {hypothesis}" in text:
        return Label.CONTRADICTED
    return Label.ENTAILED if hypothesis in text else Label.NEUTRAL


@pytest.fixture
def judge() -> Stub:
    """A judge of all kinds of question."""
    return Stub()


@pytest.fixture(scope="session")
def stub() -> Callable[..., Any]:
    """Makes a stub with the topics it answers and its name."""
    return Stub


@pytest.fixture
def rows() -> Callable[..., list[Sample]]:
    """Makes samples with one true, one contradicted and one unknown claim each, all of their own wording."""

    def make(count: int, **fields: Any) -> list[Sample]:
        return [_sample(number, fields) for number in range(1, count + 1)]

    return make


def _sample(n: int, fields: dict[str, Any]) -> Sample:
    given: dict[str, Any] = {
        "query": f"what is {n}",
        "response": f"{n} is a number. {n} is red. {n} is old.",
        "contexts": (Chunk(f"{n} is a number.", "a"), Chunk(f"not: {n} is red.", "b"), Chunk("bees.", "c")),
        "references": (f"{n} is a number. {n} is small.",),
    }
    return Sample(str(n), **{**given, **fields})


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of OpenAI, which a run wants to see before its first question, even where it then asks none."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
