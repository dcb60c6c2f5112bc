"""Calls: what a judge that asks a model over a wire did for its answers."""

from __future__ import annotations

import msgspec


class Call(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One call to a model.

    id: unique; the judgments that came of it name it, in the order in which they were asked. asked: how many questions
    were in it. model: as the server named it. prompt_tokens (cached_tokens among them), completion_tokens: as the
    server counted them or, where the price is known and the server counted none or too few, estimated. cost: in
    dollars, None where the price is not known. seconds: from sending to the reply. fault: what was wrong with the
    reply, where something was.
    """

    id: str
    asked: int = 1
    model: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    fault: str = ""


class Spent(msgspec.Struct):
    """What calls have cost together. unpriced: calls whose price is not known; their cost is not in `cost`."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def add(self, call: Call) -> None:
        """Count one call more."""
        self.calls += 1
        self.prompt_tokens += call.prompt_tokens
        self.cached_tokens += call.cached_tokens
        self.completion_tokens += call.completion_tokens
        self.cost += call.cost or 0.0
        self.unpriced += call.cost is None
