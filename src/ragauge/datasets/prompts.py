"""The prompts of answers, and the model that is asked for them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from time import perf_counter
from typing import Any, Literal

import msgspec

from ragauge.judges.llm import pricing
from ragauge.judges.llm.client import ModelClient
from ragauge.judges.llm.judge import unanswered
from ragauge.judges.llm.layout import escaped
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, TokenUsage, Turn
from ragauge.judges.llm.replies import REPEATED, extract_object
from ragauge.run.asking import Budget, LazyExitStack, Stopped
from ragauge.store import Store
from ragauge.text.trust_eval import REFUSAL
from ragauge.types import Chunk, Failure, Identity, ModelResponse, Sample, TotalUsage

#: How an answer is written: sentences, or items with commas between them.
AnswerForm = Literal["prose", "list"]

#: What a system is told to say where the documents hold no answer. Trust-Eval knows a refusal by how it begins.
REFUSAL_SENTENCE = f"{REFUSAL} in the documents."

_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


class AnswerBrief(msgspec.Struct, frozen=True):
    """What a system is told of how to answer. refusal: the sentence that declines; "" where nothing is to be declined.

    shots: answered samples that are shown before each question.
    """

    form: AnswerForm = "prose"
    refusal: str = REFUSAL_SENTENCE
    shots: tuple[Sample, ...] = ()


def answer_prompt(sample: Sample, brief: AnswerBrief) -> Prompt:
    """The call that asks for an answer; all texts stand in JSON strings of one document, the user's message."""
    document: dict[str, Any] = {}
    if brief.shots:
        document["examples"] = [{**_asked(shot), "answer": shot.response} for shot in brief.shots]
    return Prompt(_system(brief), escaped(msgspec.json.encode({**document, **_asked(sample)}).decode()), _SCHEMA)


def _system(brief: AnswerBrief) -> str:
    declined = f"{_section('refuse')}\n\n{brief.refusal}" if brief.refusal else _section("always")
    shown = [_section("examples")] if brief.shots else []
    return "\n\n".join([_section("preamble"), _section(brief.form), declined, *shown, _section("reply")])


def _asked(sample: Sample) -> dict[str, Any]:
    return {"question": sample.query, "documents": _documents(sample.contexts or ())}


def _documents(chunks: Sequence[Chunk]) -> dict[str, dict[str, str]]:
    return {
        str(number): {**({"title": chunk.title} if chunk.title else {}), "text": chunk.text}
        for number, chunk in enumerate(chunks, start=1)
    }


@cache
def _section(name: str) -> str:
    return (files(__package__) / f"prompts/{name}.md").read_text(encoding="utf-8").strip()


#: Tokens that an answer takes, for the money that is set aside for it.
_ANSWER = 300

_CANCELLED = Failure("cancelled", "the call was given up")
_AGAIN = 'This cannot be used: {fault}. Reply with one JSON object and nothing else: {{"answer": "..."}}'

ResponseOutcome = str | Failure


class Responder:
    """Answers prompts. To be entered before; the line is opened when something has to be asked.

    asked, reused: how many answers were asked for by a call, and how many the store held.
    """

    def __init__(self, line: ModelClient, store: Store, budget: Budget) -> None:
        self.identity = Identity(line.transport.name, line.transport.settings)
        self.asked = self.reused = 0
        self._line, self._store, self._budget = line, store, budget
        self._under_way: dict[str, asyncio.Task[ResponseOutcome]] = {}
        self._openings = LazyExitStack()

    @property
    def spent(self) -> TotalUsage:
        """What all calls of the same budget have cost."""
        return self._budget.spent

    async def __aenter__(self) -> Responder:
        """Nothing is opened yet."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the line."""
        await self._openings.aclose()

    async def respond(self, prompt: Prompt) -> ResponseOutcome:
        """The answer to a prompt, or why there is none.

        Raises Stopped where no more may be spent or the model cannot answer any more, UsageError where something is
        missing, such as a key.
        """
        key = hashlib.sha256(msgspec.json.encode([self.identity, prompt])).hexdigest()[:32]
        if task := self._under_way.get(key):
            return await task
        known = self._store.find_responses([key])
        if known:
            self.reused += 1
            return known[key].text
        task = self._under_way[key] = asyncio.ensure_future(self._ask(key, prompt))
        task.add_done_callback(lambda _: self._under_way.pop(key))
        return await task

    async def _ask(self, key: str, prompt: Prompt) -> ResponseOutcome:
        """Ask, and once more where the reply is not in its form."""
        await self._openings.open(self._line)
        outcome = await self._call(key, prompt)
        if isinstance(outcome, Failure) and outcome.reason == "invalid_answer":
            turn = Turn(outcome.raw or "(no reply)", _AGAIN.format(fault=outcome.detail))
            return await self._call(key, msgspec.structs.replace(prompt, turns=(turn,)))
        return outcome

    async def _call(self, key: str, prompt: Prompt) -> ResponseOutcome:
        """Make one call, if it may be paid for; keep its record, if it was sent, and the answer it brings."""
        reserved = self._line.price.of(TokenUsage(pricing.prompt_tokens(prompt), _ANSWER)) if self._line.price else 0.0
        await self._reserve(reserved)
        completion: Completion | Failure = _CANCELLED
        outcome: ResponseOutcome = _CANCELLED
        sent, start = True, perf_counter()
        try:
            completion = await self._line.send(prompt)
            outcome = self._line.truncation_failure(prompt, completion) or answer_in(completion)
        except CallFailed as failed:
            completion = outcome = failed.failure
            sent = failed.sent
        finally:
            if sent:
                self.asked += not prompt.turns
                fault = str(outcome) if isinstance(outcome, Failure) else ""
                took = self._line.estimate(completion, self._line.prompt_tokens(prompt))
                call = self._line.call_record(completion, took, 1, perf_counter() - start, fault)
                self._budget.record(call, reserved)
                answered = [] if isinstance(outcome, Failure) else [ModelResponse(key, outcome, self.identity, call.id)]
                self._store.keep_responses(answered, [call])
            else:
                self._budget.release(reserved)
        return outcome

    async def _reserve(self, dollars: float) -> None:
        """Set money aside for a call. Raises Stopped where none may be made."""
        if self._line.ended is None:
            if not await self._budget.reserve(dollars):
                raise Stopped(self._budget.reason)
            if self._line.ended is None:
                return
            self._budget.release(dollars)
        raise Stopped(f"{self.identity} cannot answer any more: {self._line.ended}")


def answer_in(completion: Completion) -> ResponseOutcome:
    """The answer in a reply: under "answer" of its JSON object or, where it holds no object at all, all of it."""
    said = extract_object(completion.text, ["answer"]).get("answer")
    if completion.finish == "stop":
        if isinstance(said, str) and said != REPEATED:
            return said.strip()
        if completion.text.strip() and '{"' not in completion.text:
            return completion.text.strip()
    return unanswered(completion, 'there is no text under "answer" in it')
