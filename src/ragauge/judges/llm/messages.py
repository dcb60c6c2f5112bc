"""The prompts and completions that an LLM judge sends and receives, and the interface of transports."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import msgspec

from ragauge.errors import UsageError
from ragauge.kinds.call import enum, object_schema
from ragauge.types import Failure

Finish = Literal["stop", "length", "content_filter", "refusal"]

_LENGTH = ("length", "model_length", "max_tokens", "model_context_window_exceeded", "MAX_TOKENS")
_FILTERED = ("content_filter", "guardrail_intervened", "content_filtered")
_FILTERED_BY_VERTEX = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR")

#: Why a reply ended, by the words of all servers; any other word says that it is complete.
FINISHES: dict[str, Finish] = {
    **dict.fromkeys(_LENGTH, "length"),
    **dict.fromkeys((*_FILTERED, *_FILTERED_BY_VERTEX), "content_filter"),
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


def counted(value: object) -> int:
    """A count of tokens as a server reports it; 0 for anything that cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < _MAX_TOKENS else 0


def usage_of(report: object, prompt: str, completion: str, cached: str = "") -> TokenUsage | None:
    """The tokens that a server reports, in a mapping or an object; None if it names no tokens of the prompt.

    prompt, completion, cached: names separated by spaces; "a.b" is b within a. The counts of the first two are added
    up; of the last, the largest counts.
    """
    if _member(report, prompt.split()[0]) is None:
        return None
    counts = [[counted(_member(report, name)) for name in names.split()] for names in (prompt, completion, cached)]
    return TokenUsage(sum(counts[0]), sum(counts[1]), max(counts[2], default=0))


def tokens_of(logprobs: object) -> tuple[ReplyToken, ...]:
    """The tokens of a reply with their log-probabilities, as chat completions have them, in mappings or objects."""
    tokens = []
    for token in _member(logprobs, "content") or ():
        choices = (token, *(_member(token, "top_logprobs") or ()))
        alternatives = {_member(choice, "token"): _member(choice, "logprob") for choice in choices}
        tokens.append(ReplyToken(_member(token, "token"), alternatives))
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
    """

    name: str
    settings: tuple[tuple[str, str], ...]
    max_concurrency: int

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
