"""Judges for tests with prescribed answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragauge.judges.base import ExpectedCall
from ragauge.questions import KINDS, Question
from ragauge.types import Answer, Failure, Identity

Says = Answer | Failure | Callable[[Question], Answer | Failure]


class Saying:
    """Gives one answer to everything, or what a function makes of each question, and remembers what it was asked."""

    def __init__(self, name: str, says: Says, *answers: str, **settings: str) -> None:
        self.identity = Identity(name, tuple(settings.items()))
        self.answers = frozenset(answers or KINDS)
        self.asked: list[Question] = []
        self._says = says

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """The prescribed answers."""
        self.asked += questions
        return [self._says(question) if callable(self._says) else self._says for question in questions]


class Open(Saying):
    """Keeps count of how often it is entered, and answers only then."""

    entered = 0

    async def __aenter__(self) -> Open:
        self.entered += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.entered -= 1

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """The prescribed answers, while it is open."""
        assert self.entered
        return await super().answer(questions)


class Priced(Saying):
    """One call for all that it is asked at once, of a cent a question."""

    by_sample = 8
    cent: Any = 0.01

    def expect(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        """That call."""
        return [ExpectedCall(questions, 100, 10, self.cent and self.cent * len(questions))]
