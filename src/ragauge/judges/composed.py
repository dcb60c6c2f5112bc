"""What judges made of judges have in common: members, an identity made of theirs, and the way in and out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Self

from ragauge.errors import BadParameter
from ragauge.judges.desk import Consulting, Desk, Expected, Expecting, notes_of
from ragauge.judges.judge import DEFAULT_BATCH, Judge, checked
from ragauge.questions import Question
from ragauge.types import Answer, Failure, Identity


class Composed(Consulting):
    """A judge that asks its members. Subclasses say in `consult` whom they ask what, and what they make of it.

    members: at least two judges, each once; their order counts. settings: what else can change an answer.
    """

    def __init__(self, name: str, members: Sequence[Judge], settings: Mapping[str, str]) -> None:
        if len(members) < 2:
            raise BadParameter(f"{name}({_names(members)}) needs at least two judges, as in {name}(embedded,JUDGE)")
        for at, member in enumerate(members):
            if member.identity in [other.identity for other in members[:at]]:
                raise BadParameter(f"{name}({_names(members)}): {member.identity} is there twice; name each judge once")
        self.members = tuple(members)
        self.by_sample: int = max(getattr(member, "by_sample", 0) for member in members)
        self.batch: int = min(getattr(member, "batch", DEFAULT_BATCH) for member in members)
        self.identity = Identity(f"{name}({_names(members)})", (*settings.items(), *_settings(members)))
        self._entered: list[AsyncExitStack] = []

    async def __aenter__(self) -> Self:
        """Enter the members. Raises UsageError where one of them misses something, such as a key."""
        async with AsyncExitStack() as stack:
            for member in self.members:
                if isinstance(member, AbstractAsyncContextManager):
                    await stack.enter_async_context(member)
            self._entered.append(stack.pop_all())
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the members."""
        await self._entered.pop().aclose()

    def notes(self) -> list[str]:
        """What the members have to say of how they worked."""
        return [note for member in self.members for note in notes_of(member)]


async def asked(desk: Desk, judge: Judge, questions: Sequence[Question]) -> dict[Question, Answer | Failure]:
    """What a member answers; an answer that does not fit its question is a Failure."""
    answers = await desk.ask(judge, questions) if questions else ()
    return {question: checked(question, answer) for question, answer in zip(questions, answers, strict=True)}


def expected(judge: Judge, questions: Sequence[Question]) -> list[Expected]:
    """The calls that a judge says it would make for the questions; none where it makes no calls."""
    return list(judge.expect(questions)) if questions and isinstance(judge, Expecting) else []


def _names(members: Sequence[Judge]) -> str:
    return ", ".join(str(member.identity) for member in members)


def _settings(members: Sequence[Judge]) -> Iterator[tuple[str, str]]:
    """The settings of all members, each with the member's place before it."""
    for place, member in enumerate(members, start=1):
        yield str(place), member.identity.name
        for name, value in member.identity.settings:
            yield f"{place}.{name}", value
