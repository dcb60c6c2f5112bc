"""The respondent: a model that is asked for answers. Each is kept as it arrives, and none is asked for twice."""

from __future__ import annotations

import asyncio
import hashlib
from time import perf_counter

import msgspec

from ragauge.judges.llm import pricing
from ragauge.judges.llm.client import ModelClient
from ragauge.judges.llm.judge import unanswered
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, TokenUsage, Turn
from ragauge.judges.llm.replies import REPEATED, extract_object
from ragauge.run.asking import Budget, LazyExitStack, Stopped
from ragauge.store import Store
from ragauge.types import Failure, Identity, ModelResponse, TotalUsage

#: Tokens that an answer takes, for the money that is set aside for it.
_ANSWER = 300

_CANCELLED = Failure("cancelled", "the call was given up")
_AGAIN = 'This cannot be used: {fault}. Reply with one JSON object and nothing else: {{"answer": "..."}}'

Outcome = str | Failure


class Respondent:
    """Answers prompts. To be entered before; the line is opened when something has to be asked.

    asked, reused: how many answers were asked for by a call, and how many the store held.
    """

    def __init__(self, line: ModelClient, store: Store, budget: Budget) -> None:
        self.identity = Identity(line.transport.name, line.transport.settings)
        self.asked = self.reused = 0
        self._line, self._store, self._budget = line, store, budget
        self._under_way: dict[str, asyncio.Task[Outcome]] = {}
        self._openings = LazyExitStack()

    @property
    def spent(self) -> TotalUsage:
        """What all calls of the same budget have cost."""
        return self._budget.spent

    async def __aenter__(self) -> Respondent:
        """Nothing is opened yet."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the line."""
        await self._openings.aclose()

    async def respond(self, prompt: Prompt) -> Outcome:
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

    async def _ask(self, key: str, prompt: Prompt) -> Outcome:
        """Ask, and once more where the reply is not in its form."""
        await self._openings.open(self._line)
        outcome = await self._call(key, prompt)
        if isinstance(outcome, Failure) and outcome.reason == "invalid_answer":
            turn = Turn(outcome.raw or "(no reply)", _AGAIN.format(fault=outcome.detail))
            return await self._call(key, msgspec.structs.replace(prompt, turns=(turn,)))
        return outcome

    async def _call(self, key: str, prompt: Prompt) -> Outcome:
        """Make one call, if it may be paid for; keep its record, if it was sent, and the answer it brings."""
        reserved = self._line.price.of(TokenUsage(pricing.prompt_tokens(prompt), _ANSWER)) if self._line.price else 0.0
        await self._reserve(reserved)
        completion: Completion | Failure = _CANCELLED
        outcome: Outcome = _CANCELLED
        sent, start = True, perf_counter()
        try:
            completion = await self._line.send(prompt)
            outcome = self._line.cut(prompt, completion) or answer_in(completion)
        except CallFailed as failed:
            completion = outcome = failed.failure
            sent = failed.sent
        finally:
            if sent:
                self.asked += not prompt.turns
                fault = str(outcome) if isinstance(outcome, Failure) else ""
                took = self._line.estimate(prompt, completion)
                call = self._line.call(completion, took, 1, perf_counter() - start, fault)
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


def answer_in(completion: Completion) -> Outcome:
    """The answer in a reply: under "answer" of its JSON object or, where it holds no object at all, all of it."""
    said = extract_object(completion.text, ["answer"]).get("answer")
    if completion.finish == "stop":
        if isinstance(said, str) and said != REPEATED:
            return said.strip()
        if completion.text.strip() and '{"' not in completion.text:
            return completion.text.strip()
    return unanswered(completion, 'there is no text under "answer" in it')
