"""Asking a judge what it is measured by: many waves side by side where it works by samples, else in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import groupby
from operator import itemgetter

from ragauge.judges.base import DEFAULT_BATCH, Judge, JudgeAnswers
from ragauge.questions import Question
from ragauge.types import Answer, Failure

#: Answers questions in a judge's name, as its own `answer` does; a store may stand in between.
Answering = Callable[[Judge, Sequence[Question]], Awaitable[JudgeAnswers]]


class Asking:
    """Asks one judge."""

    def __init__(self, judge: Judge, answer: Answering) -> None:
        self.judge = judge
        self._answer = answer
        self._by_sample: int = getattr(judge, "by_sample", 0)

    async def answers(self, waves: Iterable[Sequence[Question]]) -> dict[Question, Answer | Failure]:
        """An answer to each question of many waves, each of which is of one sample; a question is asked once."""
        room = asyncio.Semaphore(self._by_sample or 1)
        answers: dict[Question, Answer | Failure] = {}

        async def ask(questions: Sequence[Question]) -> None:
            async with room:
                answers.update(zip(questions, await self._answer(self.judge, questions), strict=True))

        await asyncio.gather(*(ask(questions) for questions in self._portions(waves)))
        return answers

    def _portions(self, waves: Iterable[Sequence[Question]]) -> list[list[Question]]:
        """What the judge is given at once: of each wave what none before it asks, or batches of all."""
        place: dict[Question, int] = {}
        for at, wave in enumerate(waves):
            for question in wave:
                place.setdefault(question, at)
        if self._by_sample:
            return [[question for question, _ in wave] for _, wave in groupby(place.items(), key=itemgetter(1))]
        flat, size = list(place), getattr(self.judge, "batch", DEFAULT_BATCH)
        return [flat[start : start + size] for start in range(0, len(flat), size)]


@asynccontextmanager
async def asking(judge: Judge, answer: Answering | None) -> AsyncIterator[Asking]:
    """Asks by `answer`; without it the judge itself, which is open as long as this lasts.

    Raises UsageError where it misses something, such as a key.
    """
    async with AsyncExitStack() as stack:
        if answer is None and isinstance(judge, AbstractAsyncContextManager):
            await stack.enter_async_context(judge)
        yield Asking(judge, answer or _itself)


async def _itself(judge: Judge, questions: Sequence[Question]) -> JudgeAnswers:
    return await judge.answer(questions)
