"""Prompts, completions and transports: what an LLM judge sends and gets back, whatever carries it."""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from ragauge.types import Failure

Finish = Literal["stop", "length", "content_filter", "refusal"]

#: A count of tokens from here on is no count: no model reads or writes as many in one call.
_MOST_TOKENS = 20_000_000


class Turn(msgspec.Struct, frozen=True):
    """An earlier reply to the same prompt, and what was said to it."""

    reply: str
    fault: str


class Prompt(msgspec.Struct, frozen=True):
    """One call, before a provider's protocol gives it a form.

    system: the instructions. user: one JSON document with all that is judged. schema: JSON schema of the reply.
    turns: replies that were sent back, oldest first.
    """

    system: str
    user: str
    schema: dict[str, Any]
    turns: tuple[Turn, ...] = ()

    @property
    def messages(self) -> list[dict[str, str]]:
        """The call as chat messages: "system", "user", then "assistant" and "user" for each turn."""
        said = [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]
        for turn in self.turns:
            said += [{"role": "assistant", "content": turn.reply}, {"role": "user", "content": turn.fault}]
        return said


class TokenUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one call as the server counted them. cached: those of the prompt that were read from its cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


def counted(said: object) -> int:
    """A count of tokens as a server reports it; 0 for anything that cannot be one."""
    if isinstance(said, bool) or not isinstance(said, int | float):
        return 0
    return int(said) if 0 <= said < _MOST_TOKENS else 0


def credible(said: TokenUsage | None, estimate: TokenUsage) -> TokenUsage:
    """The tokens of a call: as the server counted them or, where that is nothing or less than half of it, the estimate.

    Some gateways report cached tokens apart from those of the prompt, others as part of them: whichever sum is nearer
    to the estimate is taken, and always the former where there are more of them than the prompt has.
    """
    if said is None:
        return estimate
    cached = max(0, said.cached)
    sums = (said.prompt + cached,) if cached > said.prompt else (said.prompt, said.prompt + cached)
    prompt = min(sums, key=lambda tokens: abs(tokens - estimate.prompt))
    prompt, completion = (
        counts if 2 * counts >= ours else ours
        for counts, ours in ((prompt, estimate.prompt), (said.completion, estimate.completion))
    )
    return TokenUsage(prompt, completion, min(cached, prompt))


class Completion(msgspec.Struct, frozen=True):
    """A reply. finish: why it ended. model: as the server names it. usage: None where the server does not say."""

    text: str
    finish: Finish = "stop"
    usage: TokenUsage | None = None
    model: str = ""


class CallFailed(Exception):
    """A call that has no reply.

    failure: why. fatal: no other call of this judge can do better. sent: False where nothing was sent, since it was
    known beforehand that no call can succeed.
    """

    def __init__(self, failure: Failure, *, fatal: bool = False, sent: bool = True) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.fatal = fatal
        self.sent = sent


#: Seconds a call takes, whatever is in it, and for each token of its reply: hosted models of middling size.
CALL_SECONDS, TOKEN_SECONDS = 0.6, 0.012


class CallTempo(msgspec.Struct, frozen=True):
    """How fast calls may follow each other, for estimates of time.

    side_by_side: calls under way at once. per_minute, tokens_per_minute: None for no limit.
    """

    side_by_side: int = 16
    per_minute: float | None = None
    tokens_per_minute: float | None = None

    def seconds(self, prompt_tokens: float, completion_tokens: float) -> float:
        """By how much a call lengthens a run; no more than a rough idea."""
        took = (CALL_SECONDS + TOKEN_SECONDS * completion_tokens) / self.side_by_side
        turn = 60 / self.per_minute if self.per_minute else 0.0
        share = 60 * (prompt_tokens + completion_tokens) / self.tokens_per_minute if self.tokens_per_minute else 0.0
        return max(took, turn, share)


class Transport(Protocol):
    """Carries prompts to a model and brings replies back.

    name: of the model, as in "openai/gpt-4o-mini". settings: what else can change a reply, such as
    ("temperature", "0").
    It is entered before the first call and left after the last; `complete` may be called many times side by side, and
    itself limits how many calls are under way.
    """

    @property
    def name(self) -> str:
        """The model."""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What else can change a reply."""

    async def __aenter__(self) -> Transport:
        """Open what it needs. Raises UsageError where something is missing, such as a key."""

    async def __aexit__(self, *exc: object) -> None:
        """Close it."""

    async def complete(self, prompt: Prompt) -> Completion:
        """The reply to a prompt. Raises CallFailed."""


@runtime_checkable
class Stoppable(Protocol):
    """A transport in which calls wait for their turn, and which can let them fail instead, until it is entered anew."""

    def stop(self, failure: Failure) -> None:
        """Calls that were not sent yet fail with this."""
