"""Calls: what an LLM judge sends and gets back, whatever carries it."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from ragauge.nouns.answers import Failure

Finish = Literal["stop", "length", "content_filter", "refusal"]


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


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one call as the server counted them. cached: those of the prompt that were read from its cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


class Completion(msgspec.Struct, frozen=True):
    """A reply. finish: why it ended. model: as the server names it. usage: None where the server does not say."""

    text: str
    finish: Finish = "stop"
    usage: Usage | None = None
    model: str = ""


class CallFailed(Exception):
    """A call that has no reply. `failure` says why; `fatal`: no other call of this judge can do better."""

    def __init__(self, failure: Failure, *, fatal: bool = False) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.fatal = fatal


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
