"""What a call asks and what the stub says, whatever protocol carries them."""

from __future__ import annotations

from typing import Any

import msgspec


class Ask(msgspec.Struct):
    """A call. turns: role and text of each message. tool: the function to be called; "" where the reply is text."""

    model: str
    turns: list[tuple[str, str]]
    schema: dict[str, Any] | None = None
    tool: str = ""
    limit: int | None = None
    logprobs: bool = False

    @property
    def texts(self) -> list[str]:
        """All message contents."""
        return [text for _, text in self.turns]

    @property
    def system(self) -> str:
        """The first system message, or ""."""
        return next((text for role, text in self.turns if role in ("system", "developer")), "")

    @property
    def user(self) -> list[str]:
        """The texts of the user, in order."""
        return [text for role, text in self.turns if role == "user"]


class StubReply(msgspec.Struct):
    """The stub's reply. finish: "stop", "length", "content_filter" or "refusal"."""

    text: str
    finish: str
    prompt: int
    completion: int
    cached: int = 0


class Refused(Exception):
    """A call that is answered by an error. kind: the protocol's type or code of it."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param


def text_of(content: object) -> str:
    """The text of a message's content, a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part.get("text", "") for part in parts if isinstance(part, dict))
