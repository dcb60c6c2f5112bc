"""Prompts and completions, transports that carry them, and the client of a model, which counts what its calls cost."""

from __future__ import annotations

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import count
from secrets import token_hex
from typing import Any, Literal, Self

import msgspec

from ragauge.errors import UsageError
from ragauge.judges.base import OVER_BUDGET, RunContext
from ragauge.judges.llm import pricing
from ragauge.judges.llm.providers import PROVIDERS, protect_keys
from ragauge.kinds.call import enum, object_schema
from ragauge.redaction import redacted
from ragauge.types import Call, Failure

Finish = Literal["stop", "length", "content_filter", "refusal"]

_LENGTH = "length model_length max_tokens model_context_window_exceeded MAX_TOKENS"
_FILTERED = (
    "content_filter guardrail_intervened content_filtered "
    "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR"  # Vertex AI's
)

#: Why a reply ended, by the words of all servers; any other word says that it is complete.
FINISHES: dict[str, Finish] = {
    **dict.fromkeys(_LENGTH.split(), "length"),
    **dict.fromkeys(_FILTERED.split(), "content_filter"),
    "refusal": "refusal",
}

#: Counts of tokens from here on are invalid: no model reads or writes as many in one call.
_MAX_TOKENS = 20_000_000


#: How many tokens a server is asked for at each place; more than there are labels, and as many as all servers allow.
TOP_LOGPROBS = 5


class ReplyToken(msgspec.Struct, frozen=True):
    """A token of a reply. alternatives: log-probabilities of the likeliest tokens in its place, and its own."""

    text: str
    alternatives: Mapping[str, float]


class Turn(msgspec.Struct, frozen=True):
    """An earlier reply to the same prompt, and the message about its faults."""

    reply: str
    fault: str


class Prompt(msgspec.Struct, frozen=True):
    """One call, independent of the provider's protocol.

    system: the instructions. user: one JSON document of all texts to judge. schema: the JSON schema of the reply.
    turns: replies that were sent back, oldest first.
    """

    system: str
    user: str
    schema: dict[str, Any]
    turns: tuple[Turn, ...] = ()

    @property
    def messages(self) -> list[dict[str, str]]:
        """The call as chat messages: "system", "user", then "assistant" and "user" for each turn."""
        messages = [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]
        for turn in self.turns:
            messages += [{"role": "assistant", "content": turn.reply}, {"role": "user", "content": turn.fault}]
        return messages


class TokenUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one call. cached: tokens of the prompt that were read from the server's cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


def usage_of(report: object, prompt: str, completion: str, cached: str = "") -> TokenUsage | None:
    """The tokens that a server reports, in a mapping or an object; None if it names no tokens of the prompt.

    prompt, completion, cached: names separated by spaces; "a.b" is b within a. The counts of the first two are added
    up; of the last, the largest counts.
    """
    if _member(report, prompt.split()[0]) is None:
        return None
    counts: list[list[int]] = []
    for names in (prompt, completion, cached):
        values = (_member(report, name) for name in names.split())
        counts.append(
            [int(value) if isinstance(value, int | float) and 0 <= value < _MAX_TOKENS else 0 for value in values]
        )
    return TokenUsage(sum(counts[0]), sum(counts[1]), max(counts[2], default=0))


def tokens_of(logprobs: object) -> tuple[ReplyToken, ...]:
    """The tokens of a reply with their log-probabilities, as chat completions have them, in mappings or objects."""
    tokens = []
    for token in _member(logprobs, "content") or ():
        choices = (token, *(_member(token, "top_logprobs") or ()))
        rated = [choice for choice in choices if _member(choice, "logprob") is not None]
        alternatives = {str(_member(choice, "token")): float(_member(choice, "logprob")) for choice in rated}
        tokens.append(ReplyToken(str(_member(token, "token")), alternatives))
    return tuple(tokens)


def _member(report: Any, name: str) -> Any:
    for part in name.split("."):
        report = report.get(part) if isinstance(report, dict) else getattr(report, part, None)
    return report


def credible(reported: TokenUsage | None, estimate: TokenUsage) -> TokenUsage:
    """The tokens of a call: the server's counts, or the estimate where a count is missing or less than half of it.

    Some gateways report cached tokens apart from the prompt's, others as part of them: the sum that is nearer to the
    estimate counts, and always the former where the prompt has fewer tokens than are cached.
    """
    if reported is None:
        return estimate
    cached = max(0, reported.cached)
    prompt = reported.prompt
    sums = (prompt + cached,) if cached > prompt else (prompt, prompt + cached)
    prompt = min(sums, key=lambda tokens: abs(tokens - estimate.prompt))
    pairs = ((prompt, estimate.prompt), (reported.completion, estimate.completion))
    prompt, completion = (count if 2 * count >= estimated else estimated for count, estimated in pairs)
    return TokenUsage(prompt, completion, min(cached, prompt))


class Completion(msgspec.Struct, frozen=True):
    """A reply. finish: why it ended. model: as the server names it. usage: None where the server does not report it.

    tokens: with their log-probabilities, where these were asked for. abandoned: how often the prompt was sent before,
    and given up because no reply came in time.
    """

    text: str
    finish: Finish = "stop"
    usage: TokenUsage | None = None
    model: str = ""
    tokens: tuple[ReplyToken, ...] = ()
    abandoned: int = 0


class CallFailed(Exception):
    """A call that has no reply.

    failure: why. fatal: no other call of this judge can succeed. sent: False where nothing was sent, since no call
    could succeed any more. NOT_SENT: the argument of a CancelledError of a call that was not sent yet.
    """

    NOT_SENT = "not sent"

    def __init__(self, failure: Failure, *, fatal: bool = False, sent: bool = True) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.fatal = fatal
        self.sent = sent


#: Seconds of a call, and of each token of its reply: hosted models of medium size.
CALL_SECONDS, TOKEN_SECONDS = 0.6, 0.012


class CallTempo(msgspec.Struct, frozen=True):
    """How fast calls may follow each other, for estimates of time.

    concurrency: concurrent calls. per_minute, tokens_per_minute: None for no limit.
    """

    concurrency: int = 16
    per_minute: float | None = None
    tokens_per_minute: float | None = None

    def seconds(self, prompt_tokens: float, completion_tokens: float) -> float:
        """By how much a call lengthens a run; a rough estimate."""
        busy = (CALL_SECONDS + TOKEN_SECONDS * completion_tokens) / self.concurrency
        interval = 60 / self.per_minute if self.per_minute else 0.0
        share = 60 * (prompt_tokens + completion_tokens) / self.tokens_per_minute if self.tokens_per_minute else 0.0
        return max(busy, interval, share)


#: The note of a transport whose replies have log-probabilities.
BY_TOKENS = "probabilities of verdicts are those of the tokens of their labels"

#: Asks for a label of a few tokens.
_PROBE = Prompt("Reply in JSON.", '{"label": "yes"}', object_schema({"label": enum(("yes", "no"))}))


class Transport(ABC):
    """Sends prompts to a model and returns its replies. It is entered before the first call and left after the last.

    Attributes:
        name: of the model, as in "openai/gpt-4o-mini".
        settings: what else can change a reply, such as ("temperature", "0").
        max_concurrency: the most calls that it makes side by side.
        priced_as: its name in the price table, where that is another.
    """

    name: str
    settings: tuple[tuple[str, str], ...]
    max_concurrency: int
    priced_as: str = ""

    async def __aenter__(self) -> Self:
        """Open what it needs. Raises UsageError where something is missing, such as a key."""
        return self

    @abstractmethod
    async def __aexit__(self, *exc: object) -> None:
        """Close it."""

    @abstractmethod
    async def send(self, prompt: Prompt) -> Completion:
        """The reply to a prompt; the transport limits how many calls are in flight. Raises CallFailed."""

    def stop(self, failure: Failure) -> None:
        """Let calls that are not sent yet fail with this failure, until the transport is reopened."""
        return

    def notes(self) -> Sequence[str]:
        """Sentences on how its calls went."""
        return ()

    async def require_logprobs(self, server: str) -> None:
        """Raise UsageError where a call of a few tokens shows that replies have no log-probabilities of several tokens.

        Other failures of this call are left to the calls that follow. server: its name in messages.
        """
        tokens: Sequence[ReplyToken] = ()
        try:
            tokens = (await self.send(_PROBE)).tokens
            has_alternatives = any(len(token.alternatives) > 1 for token in tokens)
        except CallFailed as failed:
            has_alternatives = not re.search("log_?prob", str(failed).replace(self.name, ""), re.IGNORECASE)
        if not has_alternatives:
            others = " of other tokens than it wrote; ask it for top_logprobs=5" if tokens else ""
            votes = f"take shares of votes: repeat({self.name},3)"
            raise UsageError(f"{server} gives no log-probabilities{others}; leave out logprobs, or {votes}")

    def share_tempo(self, processes: int) -> None:
        """Keep to the share of one process in the limits."""
        return


#: More characters than tokens have on average in a prompt, in any language.
_MAX_CHARS_PER_TOKEN = 8

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

    def __init__(self, transport: Transport, price: pricing.Price | None) -> None:
        self.transport = transport
        self.price = price
        self.ended: Failure | None = None
        self.entered = self.estimated = self.replies = self.incomplete = 0
        self.priced = False
        row = pricing.priced_model(transport.name)
        self._token_factor = row.tokens if row else 1.0
        self._reasoning = pricing.reasoning_tokens(transport.name, dict(transport.settings).get("reasoning_effort"))
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
        text = prompt.system + prompt.user
        readable = len(_RUN.sub(r"\1", text))  # a repeated character, such as a line of dashes, may be a single token
        if not 0 < n_tokens * _MAX_CHARS_PER_TOKEN < readable:
            return None
        return Failure(
            "too_long",
            f"{self.transport.name}: the server counted {n_tokens} tokens of a prompt of {len(text)} characters, so "
            "its window is too small and it cut the prompt; raise it (Ollama: OLLAMA_CONTEXT_LENGTH), or set its size "
            "by context=",
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
