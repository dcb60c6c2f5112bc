"""The desk: what whoever asks offers to a judge that makes calls of its own, or asks other judges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

from ragauge.errors import UsageError
from ragauge.judges.judge import Judge
from ragauge.questions import Question
from ragauge.types import Answer, Call, Failure

Answers = Sequence[Answer | Failure]

#: Why a question has no answer when the money is spent. Nobody else is asked either: the run stops there.
NO_MONEY = Failure("max_cost", "no more may be spent; raise max_cost and run again, what is answered is kept")


class Desk(Protocol):
    """At a run's desk answers of other judges are kept and reused, calls are recorded, and the money is counted."""

    async def ask(self, judge: Judge, questions: Sequence[Question]) -> Answers:
        """What another judge answers, each question asked at most once and kept under that judge's identity."""

    async def reserve(self, dollars: float) -> bool:
        """Set money aside for a call; False where it would go beyond what may be spent, and the call is not to be made.

        Waits as long as money set aside for calls under way may yet come free. Every reservation is ended by `record`,
        or by `release` where the call was not made after all.
        """

    def release(self, reserved: float) -> None:
        """A call was not made."""

    def record(self, call: Call, questions: Sequence[Question], reserved: float) -> None:
        """A call has ended, with a usable reply to `questions` (none where it failed)."""


class Consulting(ABC):
    """A judge that makes use of a desk; whoever consults it has entered it. `answer` is for those who have no desk."""

    @abstractmethod
    async def __aenter__(self) -> Self:
        """Open what it needs. Raises UsageError where something is missing, such as a key."""

    @abstractmethod
    async def __aexit__(self, *exc: object) -> None:
        """Close it."""

    @abstractmethod
    async def consult(self, questions: Sequence[Question], desk: Desk) -> Answers:
        """As `answer`, inside of a run."""

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """An answer to each question, or a Failure that says why there is none. Does not raise."""
        try:
            async with self:
                return list(await self.consult(questions, NoDesk()))
        except UsageError as error:
            return [Failure("judge_error", str(error))] * len(questions)


@runtime_checkable
class Expecting(Protocol):
    """A judge that can say beforehand what its calls will be."""

    def expect(self, questions: Sequence[Question]) -> Sequence[Expected]:
        """The calls that `questions`, the wave of one sample, would take."""


def notes_of(judge: Judge) -> Sequence[str]:
    """What a judge has to say of how it worked, for those who read the run: its `notes()`, where it has that."""
    notes = getattr(judge, "notes", None)
    return notes() if notes else ()


class Expected:
    """A call that would be made.

    questions: what it asks. cost: its price, None where that is not known. seconds: by how much it lengthens a run.
    """

    __slots__ = ("completion_tokens", "cost", "prompt_tokens", "questions", "seconds")

    def __init__(
        self,
        questions: Sequence[Question],
        prompt_tokens: float,
        completion_tokens: float,
        cost: float | None,
        seconds: float = 0.0,
    ) -> None:
        self.questions = questions
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.cost = cost
        self.seconds = seconds


async def consulted(judge: Judge, questions: Sequence[Question], desk: Desk) -> Answers:
    """The judge's answers; it is given the desk where it can use one."""
    consult = getattr(judge, "consult", None)
    return await (consult(questions, desk) if consult else judge.answer(questions))


class NoDesk:
    """For judges asked outside of a run: nothing is kept, counted or limited."""

    async def ask(self, judge: Judge, questions: Sequence[Question]) -> Answers:
        """Ask the judge itself."""
        return await consulted(judge, questions, self)

    async def reserve(self, dollars: float) -> bool:
        """Anything may be spent."""
        return True

    def release(self, reserved: float) -> None:
        """Nothing was set aside."""

    def record(self, call: Call, questions: Sequence[Question], reserved: float) -> None:
        """Nothing is kept."""
