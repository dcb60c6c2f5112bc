"""What the tests of the LLM judge ask, and of which model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.llm.models import Model, Reply, Till, perfect

from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import Prompt
from ragauge.judges.llm.pricing import Price
from ragauge.questions import Decompose, Entail, Question
from ragauge.types import Answer, Failure

CLAIMS: list[Question] = [Entail(("Ann has 3 cats.", "Bob has a dog."), f"Ann has {n} cats.") for n in range(1, 9)]
TEXT = Decompose("Ann has three cats. Bob has a dog.", "Who has what?")
LONG = " ".join(f"Fact number {n} is that box {n} holds {n} stones." for n in range(1200))
PRICE = Price(1.0, 0.1, 2.0)


def ask(model: Model, questions: Sequence[Question], **options: Any) -> list[Answer | Failure]:
    """What a judge of that model answers."""
    return asyncio.run(LLMJudge(model, **options).answer(questions))


def consult(model: Model, questions: Sequence[Question], till: Till, **options: Any) -> list[Answer | Failure]:
    """What a judge of that model answers at a desk."""

    async def consulted() -> list[Answer | Failure]:
        async with LLMJudge(model, **options) as judge:
            return await judge.consult(questions, till)

    return asyncio.run(consulted())


def reasons(answers: Sequence[Answer | Failure]) -> list[str]:
    """The reason of each failure; "" for an answer."""
    return [answer.reason if isinstance(answer, Failure) else "" for answer in answers]


def without(*keys: str) -> Callable[[Prompt], str]:
    """A good reply but for these keys."""
    return lambda prompt: json.dumps(
        {key: output for key, output in json.loads(perfect(prompt)).items() if key not in keys}
    )


def never(word: str, reply: Reply) -> Callable[[Prompt], Reply]:
    """A model that does well unless a word is in the user's message."""
    return lambda prompt: reply if word in prompt.user else perfect(prompt)
