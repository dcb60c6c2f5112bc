"""A model client: a transport with what calls over it cost, and whether it still answers."""

from __future__ import annotations

import asyncio
import re
from itertools import count
from secrets import token_hex

from ragauge.errors import UsageError
from ragauge.judges.llm import pricing
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, Stoppable, TokenUsage, Transport, credible
from ragauge.judges.llm.packing import Pack
from ragauge.judges.llm.pricing import Price, token_factor
from ragauge.judges.llm.prompts import PromptStyle
from ragauge.judges.llm.providers import PROVIDERS
from ragauge.judges.llm.transport.protocols import without_reasoning
from ragauge.types import Call, Failure

#: More characters than a token has on the average of a prompt, in any language.
MOST_CHARS = 8

#: A character that stands several times in a row; a line of dashes may be a single token.
_RUN = re.compile(r"(.)\1+", re.DOTALL)

#: Replies without form after which no further call is made, where there was never one with.
FORMLESS = 24

#: Calls that may have been paid for although they brought nothing.
_MAYBE_PAID = frozenset({"timeout", "cancelled"})


class ModelClient:
    """Makes calls. price: None where it is not known. ended: why no further call can succeed, once that is so. entered:
    how many times it was entered and not left yet. estimated: of how many calls the tokens are estimated, since the
    server counted none, or too few.

    It may be entered several times, and is open until it has been left as often; it serves one event loop at a time.
    """

    def __init__(self, transport: Transport, price: Price | None) -> None:
        self.transport = transport
        self._factor = token_factor(transport.name)
        self._thought = without_reasoning(transport.name, dict(transport.settings).get("reasoning_effort"))
        self.price = price
        self.ended: Failure | None = None
        self.entered = 0
        self.estimated = 0
        self._formless: int | None = 0
        self._cuts = getattr(PROVIDERS.get(transport.name.partition("/")[0]), "cuts", False)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._numbers = count(1)
        self._opening = ""

    async def __aenter__(self) -> ModelClient:
        """Open the transport, unless it is open.

        Raises UsageError where something is missing, such as a key, or where it is open in another thread's event loop.
        """
        loop = asyncio.get_running_loop()
        if self.entered and loop is not self._loop:
            name = self.transport.name
            raise UsageError(f"{name} is at work in another thread; make a judge for each thread, as with rg.llm(...)")
        self._loop = loop
        self.entered += 1
        if self.entered == 1:
            self.ended = None
            self.estimated = self._formless = 0
            self._opening = token_hex(6)
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
        """The reply to a prompt. Raises CallFailed, whatever goes wrong."""
        try:
            return await self.transport.complete(prompt)
        except CallFailed as failed:
            if failed.fatal:
                self.ended = failed.failure
            raise
        except Exception as error:
            said = f"{self.transport.name}: the call raised {type(error).__name__}: {error}"
            raise CallFailed(Failure("judge_error", said)) from error

    def heard(self, completion: Completion, *, in_form: bool) -> None:
        """Take note of whether a reply has the form that was asked for; a model that never replies in form is given up.

        Refusals and replies that were cut off say nothing of that.
        """
        if in_form:
            self._formless = None
        elif self._formless is not None and completion.finish == "stop":
            self._formless += 1
            if self._formless >= FORMLESS and self.ended is None:
                self.ended = Failure(
                    "no_form",
                    f"none of {self._formless} replies holds a JSON object with the answers that were asked for; the "
                    f"last begins {completion.text[:60]!r}; choose a model that can write JSON",
                )
                if isinstance(self.transport, Stoppable):
                    self.transport.stop(self.ended)

    def cut(self, prompt: Prompt, completion: Completion) -> Failure | None:
        """Why a reply does not count: by its own count of tokens the server cannot have read the whole prompt.

        Only of servers that are known to cut prompts and to count what is left of them. The counts of others say
        nothing against a reply: gateways count in many ways.
        """
        if not self._cuts:
            return None
        counted = completion.usage.prompt if completion.usage else 0
        texts = (prompt.system, prompt.user)
        characters = sum(map(len, texts))
        if not 0 < counted * MOST_CHARS < characters or counted * MOST_CHARS >= sum(map(_without_runs, texts)):
            return None
        return Failure(
            "too_long",
            f"{self.transport.name}: the server counted {counted} tokens of a prompt of {characters} characters, so "
            "its window is too small and it cut the prompt; raise it (Ollama: OLLAMA_CONTEXT_LENGTH), or tell it with "
            "context=",
        )

    def expected(self, pack: Pack, prompt: Prompt, style: PromptStyle) -> TokenUsage:
        """The tokens that a call is expected to take, with those of what a model thinks; see `wire.form.thought`."""
        told, said = pricing.prompt_tokens(prompt), pricing.completion_tokens(pack, style)
        return TokenUsage(round(self._factor * told), round(self._factor * said) + self._thought)

    def reserve(self, pack: Pack, prompt: Prompt, style: PromptStyle) -> float:
        """The dollars to set aside for a call: what it is expected to cost, and by how much that may be off."""
        if self.price is None:
            return 0.0
        return (1 + pricing.RELATIVE_ERROR) * self.price.of(self.expected(pack, prompt, style))

    def estimate(self, prompt: Prompt, outcome: Completion | Failure) -> TokenUsage:
        """About the tokens that a call took, for where the server does not count them; none where it has no reply."""
        if isinstance(outcome, Failure):
            return TokenUsage()
        wrote = round(self._factor * pricing.estimate(outcome.text)) + (0 if outcome.usage else self._thought)
        return TokenUsage(round(self._factor * pricing.prompt_tokens(prompt)), wrote)

    def call(self, outcome: Completion | Failure, estimate: TokenUsage, asked: int, seconds: float, fault: str) -> Call:
        """The record of a call that asked so many questions. estimate: of its tokens, so that it always has a price."""
        name = f"{self._opening}-{next(self._numbers)}"
        if isinstance(outcome, Failure):
            unknown = self.price is None or outcome.reason in _MAYBE_PAID
            return Call(name, asked, seconds=seconds, fault=fault, cost=None if unknown else 0.0)
        usage = outcome.usage
        if self.price is not None:
            usage = credible(outcome.usage, estimate)
            said = outcome.usage or TokenUsage()
            self.estimated += said.prompt + said.cached < usage.prompt or said.completion < usage.completion
        if usage is None:
            return Call(name, asked, outcome.model, seconds=seconds, fault=fault)
        cost = self.price.of(usage) if self.price else None
        return Call(name, asked, outcome.model, usage.prompt, usage.cached, usage.completion, cost, seconds, fault)


def _without_runs(text: str) -> int:
    """The characters of a text, those that are repeated counted once."""
    return len(_RUN.sub(r"\1", text))
