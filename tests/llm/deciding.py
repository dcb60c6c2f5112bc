"""What the tests of decisions endpoints share: questions, a server on this machine, and what it replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from ragauge.judges.llm.decisions import (
    DIALECTS,
    DecisionsJudge,
    Dialect,
    QuestionSheet,
    completion_of,
    decisions_request,
    read_answers,
)
from ragauge.questions import COHERENCE, TOPICAL_MATCH, Classify, Entail, Question, Rate, Relevant
from ragauge.types import Answer, Failure

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

DECISIONS, SYSTEMONE = DIALECTS["decisions"], DIALECTS["systemone"]
BOTH = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)

TWO_CHUNKS = Entail(("one", "two"), "claim", "query")
RELEVANT = Relevant("query", "one", "reference")
TOXIC = Classify("opinion", "toxic")
GRADE = Rate(TOPICAL_MATCH, (("query", "query"), ("response", "response")))
COHERENT = Rate(COHERENCE, (("source", "one"), ("response", "response")))
QUESTIONS: list[Question] = [TWO_CHUNKS, RELEVANT, TOXIC, GRADE, COHERENT]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A server on this machine that answers every POST; gives its base URL."""
    app = web.Application()
    app.router.add_post("/v1/{path}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/v1"
    finally:
        await runner.cleanup()


def reply_to(sent: dict[str, Any], share: float = 0.7) -> dict[str, Any]:
    """What a server of either protocol replies; `share` is the probability of yes and of the first option."""
    if "state" in sent:
        answers: Any = {name: systemone(question, share) for name, question in sent["questions"].items()}
    else:
        answers = [{"name": question.get("name"), **decision(question, share)} for question in sent["questions"]]
    return {"model": sent["model"], "answers": answers, "usage": {"input_tokens": 9, "output_tokens": 0}}


def decision(question: dict[str, Any], share: float) -> dict[str, Any]:
    """An answer of OpenAI's form."""
    if question["type"] == "predicate":
        return {"type": "predicate", "probability": share}
    if question["type"] == "choice":
        shares = [share, 1 - share, *[0.0] * (len(question["choices"]) - 2)]
        options = [
            {"value": option["value"], "probability": each}
            for option, each in zip(question["choices"], shares, strict=True)
        ]
        return {"type": "choice", "choice": options[shares.index(max(shares))]["value"], "probabilities": options}
    return {"type": "score", "score": share * (len(question["levels"]) - 1), "probabilities": []}


def systemone(question: dict[str, Any], share: float) -> dict[str, Any]:
    """An answer of System One's form."""
    if question["type"] == "noul":
        return {"type": "noul", "noul": share}
    if question["type"] == "choice":
        shares = dict(zip(question["criteria"], [share, 1 - share, 0.0], strict=False))
        return {"type": "choice", "choice": max(shares, key=lambda option: shares[option]), "probabilities": shares}
    return {"type": "score", "score": share * (len(question["criteria"]) - 1)}


def body(dialect: Dialect, questions: Sequence[Question]) -> dict[str, Any]:
    """The request for questions, decoded."""
    sheet = QuestionSheet()
    asks = sheet.add(questions)
    decoded: dict[str, Any] = json.loads(decisions_request(dialect, "model", sheet.sources, asks))
    return decoded


def reported(instructions: str) -> tuple[str, dict[str, Any]]:
    """The words and the texts of instructions."""
    words, _, texts = instructions.rpartition("\n")
    return words, json.loads(texts)


def answered(reply: object, questions: Sequence[Question]) -> list[Answer | Failure]:
    """What questions are answered by one reply."""
    sheet = QuestionSheet()
    asks = sheet.add(questions)
    raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    output = dict(zip(asks, read_answers(completion_of(raw).text, asks), strict=True))
    return [sheet.answer(question, output) for question in questions]


def ask(judge: DecisionsJudge, questions: Sequence[Question]) -> list[Answer | Failure]:
    """What a judge answers."""
    return asyncio.run(judge.answer(questions))
