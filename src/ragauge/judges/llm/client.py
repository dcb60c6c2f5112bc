"""A model client: a transport, the cost of calls over it, and whether it still answers."""

from __future__ import annotations

import asyncio
import os
import re
from itertools import count
from secrets import token_hex

import msgspec

from ragauge.errors import UsageError
from ragauge.judges.base import OVER_BUDGET, RunContext
from ragauge.judges.llm import pricing
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, TokenUsage, Transport, credible
from ragauge.judges.llm.pricing import Price, token_factor
from ragauge.judges.llm.providers import PROVIDERS, protect_keys
from ragauge.judges.llm.transport.protocols import reasoning_tokens
from ragauge.redaction import redacted
from ragauge.types import Call, Failure

#: More characters than tokens have on average in a prompt, in any language.
MAX_CHARS_PER_TOKEN = 8

#: A repeated character; a line of dashes may be a single token.
_RUN = re.compile(r"(.)\1+", re.DOTALL)

#: The malformed replies after which no further call is made, if no reply was ever well-formed.
MAX_MALFORMED = 24

#: Failures of calls that may have been billed although they have no reply.
_MAYBE_BILLED_REASONS = frozenset({"timeout", "cancelled"})

CANCELLED = Failure("cancelled")


class ModelClient:
    """Makes calls. It may be entered several times, and is open until it has been left as often, in one event loop.

    ended: why no further call can succeed, once that is so. entered: how many times it was entered and not yet left.
    priced: whether a call had a price. estimated: how many calls have estimated tokens, since the server counted too
    few or none. replies, incomplete: how many replies came, and how many lacked answers that were asked for again.
    """

    def __init__(self, transport: Transport, price: Price | None) -> None:
        self.transport = transport
        self.price = price
        self.ended: Failure | None = None
        self.entered = self.estimated = self.replies = self.incomplete = 0
        self.priced = False
        self._token_factor = token_factor(transport.name)
        self._reasoning = reasoning_tokens(transport.name, dict(transport.settings).get("reasoning_effort"))
        self._malformed: int | None = 0
        self._truncates = getattr(PROVIDERS.get(transport.name.partition("/")[0]), "truncates", False)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._numbers = count(1)
        self._session_id = ""

    async def __aenter__(self) -> ModelClient:
        """Open the transport, unless it is open.

        Raises UsageError where something is missing, such as a key, or where it is open in another thread's event loop.
        """
        loop = asyncio.get_running_loop()
        if self.entered and loop is not self._loop:
            name = self.transport.name
            raise UsageError(f"{name} is in use in another thread; make a judge for each thread, as with rg.llm(...)")
        self._loop = loop
        self.entered += 1
        if self.entered == 1:
            self.ended = None
            self.estimated = self.replies = self.incomplete = self._malformed = 0
            self.priced = False
            self._session_id = token_hex(6)
            protect_keys(os.environ)
            try:
                await self.transport.__aenter__()
            except BaseException:
                self.entered -= 1
                raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.entered -= 1
        if not self.entered:
            await self.transport.__aexit__(*exc)

    async def send(self, prompt: Prompt) -> Completion:
        """The reply to a prompt, without the keys of this process. Raises CallFailed, whatever goes wrong."""
        try:
            reply = await self.transport.send(prompt)
            return msgspec.structs.replace(reply, text=redacted(reply.text), model=redacted(reply.model))
        except CallFailed as failed:
            if failed.fatal:
                self.ended = failed.failure
            raise
        except Exception as error:
            detail = f"{self.transport.name}: the call raised {type(error).__name__}: {error}"
            raise CallFailed(Failure("judge_error", detail)) from error

    def expected(self, prompt: Prompt, completion_tokens: float) -> TokenUsage:
        """The tokens that a call is expected to take, with those of the model's reasoning.

        completion_tokens: those of a good reply, as `pricing` estimates them.
        """
        written = round(self._token_factor * completion_tokens) + self._reasoning
        return TokenUsage(round(self._token_factor * pricing.prompt_tokens(prompt)), written)

    async def reserve(self, context: RunContext, expected: TokenUsage) -> float | Failure:
        """The dollars reserved for a call, with a margin for error in its tokens; or why it must not be made."""
        if self.ended is not None:
            return self.ended
        dollars = (1 + pricing.RELATIVE_ERROR) * self.price.of(expected) if self.price else 0.0
        if not await context.reserve(dollars):
            return self.ended or OVER_BUDGET
        if self.ended is not None:  # meanwhile
            context.release(dollars)
            return self.ended
        return dollars

    def count_malformed(self, completion: Completion, *, well_formed: bool) -> None:
        """Count malformed replies until the first well-formed one; a model that only sends malformed ones is given up.

        Refusals and replies that were cut off are not counted.
        """
        if well_formed:
            self._malformed = None
        elif self._malformed is not None and completion.finish == "stop":
            self._malformed += 1
            if self._malformed >= MAX_MALFORMED and self.ended is None:
                self.ended = Failure(
                    "no_form",
                    f"none of {self._malformed} replies holds a JSON object with the answers that were asked for; the "
                    f"last begins {completion.text[:60]!r}; choose a model that can write JSON",
                )
                self.transport.stop(self.ended)

    def truncation_failure(self, prompt: Prompt, completion: Completion) -> Failure | None:
        """Why a reply does not count, if the server's own count of tokens shows that it did not read the whole prompt.

        Only for servers that are known to truncate prompts and to count the rest. The counts of others prove
        nothing: gateways count in many ways.
        """
        if not self._truncates:
            return None
        n_tokens = completion.usage.prompt if completion.usage else 0
        texts = (prompt.system, prompt.user)
        n_chars = sum(map(len, texts))
        max_chars = n_tokens * MAX_CHARS_PER_TOKEN
        if not 0 < max_chars < n_chars or max_chars >= sum(len(_RUN.sub(r"\1", text)) for text in texts):
            return None
        return Failure(
            "too_long",
            f"{self.transport.name}: the server counted {n_tokens} tokens of a prompt of {n_chars} characters, so its "
            "window is too small and it cut the prompt; raise it (Ollama: OLLAMA_CONTEXT_LENGTH), or set its size with "
            "context=",
        )

    def call_record(
        self, outcome: Completion | Failure, expected: TokenUsage, n_questions: int, seconds: float, fault: str
    ) -> Call:
        """The record of a call, with a cost wherever the price is known.

        expected: its tokens, for what the server does not count, and for what was abandoned, since that is billed too.
        """
        name = f"{self._session_id}-{next(self._numbers)}"
        if isinstance(outcome, Failure):
            unknown = self.price is None or outcome.reason in _MAYBE_BILLED_REASONS
            return Call(name, n_questions, seconds=seconds, fault=fault, cost=None if unknown else 0.0)
        usage = outcome.usage
        if self.price is not None:
            reported = usage or TokenUsage()
            written = round(self._token_factor * pricing.estimate(outcome.text)) + (0 if usage else self._reasoning)
            usage = credible(usage, TokenUsage(expected.prompt, written))
            self.estimated += reported.prompt + reported.cached < usage.prompt or reported.completion < usage.completion
        if usage is None:
            return Call(name, n_questions, outcome.model, seconds=seconds, fault=fault)
        abandoned = outcome.abandoned
        cost = self.price.of(usage) + abandoned * self.price.of(expected) if self.price else None
        self.priced |= bool(cost)
        prompt, written = usage.prompt + abandoned * expected.prompt, usage.completion + abandoned * expected.completion
        return Call(
            name, n_questions, outcome.model, prompt, usage.cached, written, cost, seconds, fault, abandoned=abandoned
        )
