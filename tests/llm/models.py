"""Models for tests of LLM judges, and a desk that looks on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tests.llm.stub import oracle
from tests.llm.stub.asks import Ask

from ragauge.judges.base import NullContext
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, TokenUsage, Transport
from ragauge.questions import Question
from ragauge.types import Call, Failure

Reply = str | Completion | Exception


def perfect(prompt: Prompt) -> str:
    """A good reply to a prompt."""
    output = [(message["role"], message["content"]) for message in prompt.messages]
    return perfect_reply(output, prompt.schema)


def perfect_reply(output: list[tuple[str, str]], schema: dict[str, Any] | None = None) -> str:
    """A good reply to messages, each a role and a text."""
    return oracle.reply(Ask("model", output, schema), "claims")


def failing(reason: str, *, fatal: bool = False) -> CallFailed:
    """A call that has no reply."""
    return CallFailed(Failure(reason, f"{reason}, says the server"), fatal=fatal)


class Model(Transport):
    """A transport whose replies are those of `replies`, given the prompt. prompts: all that it was sent."""

    name = "model"
    settings: tuple[tuple[str, str], ...] = ()

    def __init__(self, replies: Callable[[Prompt], Reply] = perfect) -> None:
        self._replies = replies
        self.prompts: list[Prompt] = []
        self.opened = self.closed = 0

    async def __aenter__(self) -> Model:
        self.opened += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.closed += 1

    async def send(self, prompt: Prompt) -> Completion:
        """What `replies` says."""
        self.prompts.append(prompt)
        await asyncio.sleep(0)
        reply = self._replies(prompt)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        counted = max(1000, (len(prompt.system) + len(prompt.user)) // 4)
        return Completion(reply, usage=TokenUsage(counted, 100), model="model-1")


class Till(NullContext):
    """A desk that lets `calls` be made, and keeps the records. open: reservations that were not ended."""

    def __init__(self, calls: int = 1_000_000) -> None:
        self._left = calls
        self.open: list[float] = []
        self.reserved: list[float] = []
        self.calls: list[Call] = []
        self.answered: list[Sequence[Question]] = []

    async def reserve(self, dollars: float) -> bool:
        """True as often as calls may be made."""
        self._left -= 1
        if self._left >= 0:
            self.open.append(dollars)
            self.reserved.append(dollars)
        return self._left >= 0

    def release(self, reserved: float) -> None:
        """End it."""
        self.open.remove(reserved)

    def record(self, call: Call, questions: Sequence[Question], reserved: float) -> None:
        """Keep it."""
        self.open.remove(reserved)
        self.calls.append(call)
        self.answered.append(list(questions))


def in_turn(*replies: Any) -> Callable[[Prompt], Reply]:
    """Each reply once, then the last for ever; a function is given the prompt."""
    left = list(replies)

    def reply(prompt: Prompt) -> Reply:
        output = left.pop(0) if len(left) > 1 else left[0]
        found: Reply = output(prompt) if callable(output) else output
        return found

    return reply
