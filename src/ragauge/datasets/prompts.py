"""The prompts for responses, and the model that answers them."""

from __future__ import annotations

import asyncio
import hashlib
from functools import cache
from importlib.resources import files
from time import perf_counter
from typing import Any, Literal

import msgspec

from ragauge.judges.llm import pricing
from ragauge.judges.llm.client import ModelClient
from ragauge.judges.llm.judge import unanswered
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, TokenUsage, Turn
from ragauge.judges.llm.prompts import escaped
from ragauge.judges.llm.replies import REPEATED, extract_object
from ragauge.run.asking import Budget, LazyExitStack, Stopped
from ragauge.store import Store
from ragauge.text.trust_eval import REFUSAL
from ragauge.types import Failure, Identity, ModelResponse, Sample, TotalUsage

#: The form of a response: sentences, or items separated by commas.
AnswerForm = Literal["prose", "list"]

#: The answer to give where the documents hold none. Trust-Eval recognises a refusal by how it begins.
REFUSAL_SENTENCE = f"{REFUSAL} in the documents."

_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


class AnswerBrief(msgspec.Struct, frozen=True):
    """Instructions on how to answer.

    Attributes:
        refusal: the sentence to answer with where the documents hold no answer; "" where the model must answer.
        shots: few-shot examples, which precede each question.
    """

    form: AnswerForm = "prose"
    refusal: str = REFUSAL_SENTENCE
    shots: tuple[Sample, ...] = ()


def answer_prompt(sample: Sample, brief: AnswerBrief) -> Prompt:
    """The prompt for a response; the user's message is one JSON document, with all texts as its strings."""
    document: dict[str, Any] = {}
    if brief.shots:
        document["examples"] = [{**_question(shot), "answer": shot.response} for shot in brief.shots]
    return Prompt(_system(brief), escaped(msgspec.json.encode({**document, **_question(sample)}).decode()), _SCHEMA)


def _system(brief: AnswerBrief) -> str:
    refusing = f"{_section('refuse')}\n\n{brief.refusal}" if brief.refusal else _section("always")
    examples = [_section("examples")] if brief.shots else []
    return "\n\n".join([_section("preamble"), _section(brief.form), refusing, *examples, _section("reply")])


def _question(sample: Sample) -> dict[str, Any]:
    documents = {
        str(number): {**({"title": chunk.title} if chunk.title else {}), "text": chunk.text}
        for number, chunk in enumerate(sample.contexts or (), start=1)
    }
    return {"question": sample.query, "documents": documents}


@cache
def _section(name: str) -> str:
    return (files(__package__) / f"prompts/{name}.md").read_text(encoding="utf-8").strip()


#: Tokens of a response, for estimating the cost of a call.
_RESPONSE_TOKENS = 300

_CANCELLED = Failure("cancelled", "the call was cancelled")
_AGAIN = 'This cannot be used: {fault}. Reply with one JSON object and nothing else: {{"answer": "..."}}'

ResponseOutcome = str | Failure


class Responder:
    """Has a model answer prompts. An asynchronous context manager; the client is opened at the first call.

    Attributes:
        asked: the number of responses that took a call.
        reused: the number of responses that the store had.
    """

    def __init__(self, client: ModelClient, store: Store, budget: Budget) -> None:
        self.identity = Identity(client.transport.name, client.transport.settings)
        self.asked = self.reused = 0
        self._client, self._store, self._budget = client, store, budget
        self._pending: dict[str, asyncio.Task[ResponseOutcome]] = {}
        self._exits = LazyExitStack()

    @property
    def spent(self) -> TotalUsage:
        """The usage of all calls of the same budget."""
        return self._budget.spent

    async def __aenter__(self) -> Responder:
        """Does not open the client yet."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the client."""
        await self._exits.aclose()

    async def respond(self, prompt: Prompt) -> ResponseOutcome:
        """The response to a prompt, or a Failure.

        Raises:
            Stopped: the budget is exhausted, or the model cannot answer any more.
            UsageError: something is missing, such as a key.
        """
        key = hashlib.sha256(msgspec.json.encode([self.identity, prompt])).hexdigest()[:32]
        if task := self._pending.get(key):
            return await task
        known = self._store.find_responses([key])
        if known:
            self.reused += 1
            return known[key].text
        task = self._pending[key] = asyncio.ensure_future(self._ask(key, prompt))
        task.add_done_callback(lambda _: self._pending.pop(key))
        return await task

    async def _ask(self, key: str, prompt: Prompt) -> ResponseOutcome:
        """Call the model, and again if its reply is not in the required form."""
        await self._exits.open(self._client)
        outcome = await self._call(key, prompt)
        if isinstance(outcome, Failure) and outcome.reason == "invalid_answer":
            turn = Turn(outcome.raw or "(no reply)", _AGAIN.format(fault=outcome.detail))
            return await self._call(key, msgspec.structs.replace(prompt, turns=(turn,)))
        return outcome

    async def _call(self, key: str, prompt: Prompt) -> ResponseOutcome:
        """Make one call within the budget; store its record, if it was sent, and its response."""
        price = self._client.price
        reserved = price.of(TokenUsage(pricing.prompt_tokens(prompt), _RESPONSE_TOKENS)) if price else 0.0
        await self._reserve(reserved)
        completion: Completion | Failure = _CANCELLED
        outcome: ResponseOutcome = _CANCELLED
        sent, start = True, perf_counter()
        try:
            completion = await self._client.send(prompt)
            outcome = self._client.truncation_failure(prompt, completion) or answer_in(completion)
        except CallFailed as failed:
            completion = outcome = failed.failure
            sent = failed.sent
        finally:
            if sent:
                self.asked += not prompt.turns
                fault = str(outcome) if isinstance(outcome, Failure) else ""
                took = self._client.estimate(completion, self._client.prompt_tokens(prompt))
                call = self._client.call_record(completion, took, 1, perf_counter() - start, fault)
                self._budget.record(call, reserved)
                answered = [] if isinstance(outcome, Failure) else [ModelResponse(key, outcome, self.identity, call.id)]
                self._store.keep_responses(answered, [call])
            else:
                self._budget.release(reserved)
        return outcome

    async def _reserve(self, dollars: float) -> None:
        """Reserve the cost of a call. Raises Stopped where no call can be made."""
        if self._client.ended is None:
            if not await self._budget.reserve(dollars):
                raise Stopped(self._budget.reason)
            if self._client.ended is None:
                return
            self._budget.release(dollars)
        raise Stopped(f"{self.identity} cannot answer any more: {self._client.ended}")


def answer_in(completion: Completion) -> ResponseOutcome:
    """The response in a reply: "answer" in its JSON object or, if it has no object, the whole reply."""
    answer = extract_object(completion.text, ["answer"]).get("answer")
    if completion.finish == "stop":
        if isinstance(answer, str) and answer != REPEATED:
            return answer.strip()
        if completion.text.strip() and '{"' not in completion.text:
            return completion.text.strip()
    return unanswered(completion, 'there is no text under "answer" in it')
