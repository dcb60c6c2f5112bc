"""Replies of a model to prompts: each is asked for once, within a budget, and kept as it arrives."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from ragauge.datasets.samples import SampleSet
from ragauge.judges.base import ExpectedCall
from ragauge.judges.llm.judge import model_client
from ragauge.judges.llm.messages import CallFailed, CallTempo, Completion, ModelClient, Prompt, Turn
from ragauge.judges.llm.prompts import escaped
from ragauge.run.asking import LazyExitStack
from ragauge.run.budget import Budget, Stopped, unpriced
from ragauge.store import Store
from ragauge.types import Failure, Identity, ModelResponse

Outcome = str | Failure

#: The text that a reply gives, or why it gives none.
Parse = Callable[[Completion], Outcome]

#: Tokens of a reply, for estimating the cost of a call.
REPLY_TOKENS = 300

_CANCELLED = Failure("cancelled", "the call was cancelled")
_AGAIN = "This cannot be used: {}. Reply with one JSON object and nothing else: {}"


@cache
def prompt_section(name: str) -> str:
    """A part of what a model is told, from the folder of prompts."""
    return (files(__package__) / f"prompts/{name}.md").read_text(encoding="utf-8").strip()


def prompt_about(document: Mapping[str, Any], system: str, fields: Sequence[str]) -> Prompt:
    """The prompt whose user's message is one JSON document, for a reply that is an object of texts."""
    texts = {name: {"type": "string"} for name in fields}
    schema = {"type": "object", "properties": texts, "required": [*fields], "additionalProperties": False}
    return Prompt(system, escaped(msgspec.json.encode(document).decode()), schema)


class Form(NamedTuple):
    """The form of a reply. example: the JSON object that is wanted, for a model that replied with another."""

    parse: Parse
    example: str


class ModelCalls(LazyExitStack):
    """Calls to one model, made while it is entered, and counted in a sample set.

    model: a client, or a model as for `rg.llm`. Raises BadParameter where the budget has a limit and no price is known.
    """

    def __init__(self, model: Any, store: Store, budget: Budget, counted: SampleSet) -> None:
        super().__init__()
        self.client = model if isinstance(model, ModelClient) else model_client(model)
        if budget.limit is not None and self.client.price is None:
            raise unpriced(self.client.transport.name)
        self.identity = Identity(self.client.transport.name, self.client.transport.settings)
        self._store, self._budget, self._counted = store, budget, counted
        self._pending: dict[str, asyncio.Task[Outcome]] = {}

    def is_stored(self, prompt: Prompt) -> bool:
        """Whether the store has the reply to a prompt."""
        return bool(self._store.find_responses([self._key(prompt)]))

    def expected(self, prompt: Prompt) -> ExpectedCall:
        """The call that would ask for a reply."""
        usage = self.client.expected(prompt, REPLY_TOKENS)
        seconds = CallTempo().seconds(usage.prompt, usage.completion)
        cost = self.client.price.of(usage) if self.client.price else None
        return ExpectedCall((), usage.prompt, usage.completion, cost, seconds)

    def _key(self, prompt: Prompt) -> str:
        return hashlib.sha256(msgspec.json.encode([self.identity, prompt])).hexdigest()[:32]

    async def reply(self, prompt: Prompt, form: Form) -> Outcome:
        """The reply to a prompt, or a Failure. Raises Stopped, and UsageError where a key or the like is missing."""
        key = self._key(prompt)
        if task := self._pending.get(key):
            return await task
        if stored := self._store.find_responses([key]):
            self._counted.reused += 1
            return stored[key].text
        task = self._pending[key] = asyncio.ensure_future(self._ask(key, prompt, form))
        task.add_done_callback(lambda _: self._pending.pop(key))
        return await task

    async def _ask(self, key: str, prompt: Prompt, form: Form) -> Outcome:
        """Call the model, and again if its reply is not in the required form."""
        await self.open(self.client)
        outcome = await self._call(key, prompt, form.parse)
        if isinstance(outcome, Failure) and outcome.reason == "invalid_answer":
            turn = Turn(outcome.raw or "(no reply)", _AGAIN.format(outcome.detail, form.example))
            return await self._call(key, msgspec.structs.replace(prompt, turns=(turn,)), form.parse)
        return outcome

    async def _call(self, key: str, prompt: Prompt, parse: Parse) -> Outcome:
        """Make one call within the budget; store its record, if it was sent, and its reply."""
        client = self.client
        expected = client.expected(prompt, REPLY_TOKENS)
        cost = client.price.of(expected) if client.price else 0.0
        await self._reserve(cost)
        completion: Completion | Failure = _CANCELLED
        outcome: Outcome = _CANCELLED
        sent, start = True, perf_counter()
        try:
            completion = await client.send(prompt)
            outcome = client.truncation_failure(prompt, completion) or parse(completion)
        except CallFailed as failed:
            completion = outcome = failed.failure
            sent = failed.sent
        except asyncio.CancelledError as cancelled:
            sent = CallFailed.NOT_SENT not in cancelled.args
            raise
        finally:
            if sent:
                self._counted.asked += not prompt.turns
                fault = str(outcome) if isinstance(outcome, Failure) else ""
                call = client.call_record(completion, expected, 1, perf_counter() - start, fault)
                self._budget.record(call, cost)
                answered = [] if isinstance(outcome, Failure) else [ModelResponse(key, outcome, self.identity, call.id)]
                self._store.keep_responses(answered, [call])
            else:
                self._budget.release(cost)
        return outcome

    async def _reserve(self, dollars: float) -> None:
        if self.client.ended is None:
            if not await self._budget.reserve(dollars):
                raise Stopped(self._budget.reason)
            if self.client.ended is None:
                return
            self._budget.release(dollars)
        raise Stopped(f"{self.identity} cannot answer any more: {self.client.ended}")
