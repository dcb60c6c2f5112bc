"""Functions as models: any callable from messages to text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragauge.judges.fingerprint import fingerprint
from ragauge.judges.llm.calling import CONCURRENCY, Caller
from ragauge.judges.llm.calls import CallFailed, Completion, Prompt
from ragauge.types import Failure


class FunctionTransport:
    """Carries prompts to a function, sync or async, that takes a list of messages and returns the text of the reply.

    A function that knows how many tokens a call took returns a Completion. Messages are dicts with "role" ("system",
    "user", "assistant") and "content". A sync function may block: it runs in threads, up to `concurrency` side by side.
    An exception is retried `retries` times, then it is the failure "judge_error"; a function that knows better what
    went wrong raises ragauge.judges.llm.calls.CallFailed.

    name: of the model, for the identity in a store; else the function's `model_name`. Where there is neither, the
    identity is the function's `__name__` and a fingerprint of its code, as with `judge_from`.
    """

    def __init__(
        self, function: Callable[..., Any], *, name: str | None = None, concurrency: int = CONCURRENCY, retries: int = 2
    ) -> None:
        self.name, self.settings = _known_as(function, name or getattr(function, "model_name", None))
        self._caller = Caller(function, concurrency, retries)

    async def __aenter__(self) -> FunctionTransport:
        await self._caller.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._caller.__aexit__(*exc)

    def stop(self, failure: Failure) -> None:
        """Calls that were not made yet fail with this."""
        self._caller.stop(failure)

    async def complete(self, prompt: Prompt) -> Completion:
        """What the function replies. Raises CallFailed."""
        try:
            reply = await self._caller.call(prompt.messages)
        except CallFailed:
            raise
        except Exception as error:
            raise _failed(f"{self.name}() raised {type(error).__name__}: {error}") from error
        if isinstance(reply, Completion):
            return reply
        if not isinstance(reply, str):
            raise _failed(f"{self.name}() must return the text of the reply, not {reply!r:.200}")
        return Completion(reply)


def _failed(detail: str) -> CallFailed:
    return CallFailed(Failure("judge_error", detail))


def _known_as(function: Callable[..., Any], name: str | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The name of a function's model, and what else tells it from others."""
    if name:
        return name, ()
    return getattr(function, "__name__", type(function).__name__), fingerprint({"function": function})
