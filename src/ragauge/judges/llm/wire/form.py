"""Form: which fields of a protocol a server has been found to understand, learned from what it refuses."""

from __future__ import annotations

import re

import msgspec

from ragauge.judges.llm.options import Options
from ragauge.judges.llm.providers import Provider, Structured
from ragauge.judges.llm.wire.faults import Fault, reason_of

#: OpenAI's reasoning models, which take no temperature, and max_completion_tokens instead of max_tokens.
_REASONING = re.compile(r"(.*/)?(o\d|gpt-[5-9](?!.*chat))")

#: Tokens that a model which thinks is taken to think for a call.
THOUGHT = 500


class Form(msgspec.Struct, frozen=True):
    """What a request may hold.

    structured: how the reply is held to its schema. temperature: whether one is sent. limit, seed: the names of the
    fields that limit the length of a reply and seed its sampling.
    """

    structured: Structured = "schema"
    temperature: bool = True
    limit: str = "max_tokens"
    seed: str = "seed"


def reasons(model: str) -> bool:
    """Whether a model is known by its name to think before it answers."""
    return bool(_REASONING.match(model))


def thought(model: str, effort: str | None) -> int:
    """About the tokens that a model thinks before the reply to a call, which are paid for as part of it.

    THOUGHT for a model that is known to think or is told how hard to, 0 for others. Nobody knows beforehand: it is a
    guess, and real calls take from none to many thousand.
    """
    if effort in ("none", "minimal"):
        return 0
    return THOUGHT if effort is not None or reasons(model) else 0


def first_form(provider: Provider, model: str, options: Options) -> Form:
    """What to try first."""
    thinking = provider.protocol == "chat" and reasons(model)
    limit = "max_completion_tokens" if thinking else "max_tokens"
    return Form(options.structured or provider.structured, not thinking, limit, provider.seed or "seed")


_NEXT: dict[Structured, Structured] = {"schema": "json", "json": "plain"}
_STRUCTURE = re.compile(
    r"response.?format|json.?schema|json.?mode|json.?object|structured.?output|output_(config|format)|"
    r"tool_choice|input_schema|\bschema\b|grammar"
)


def lesson(form: Form, fault: Fault) -> Form | None:
    """The form to try after a refusal; None where it teaches nothing. Each lesson leaves less to be refused.

    Refusals are told by the field they name: "Unsupported parameter: 'max_tokens' ..." (OpenAI), "`temperature` is
    deprecated for this model." (Anthropic), "This response_format type is unavailable now" (DeepSeek).
    """
    if fault.status not in (400, 422, 500) or reason_of(fault) not in ("bad_request", "server_error"):
        return None
    said = f"{fault.parameter} {fault.message}".lower()
    if form.temperature and "temperature" in said:
        return msgspec.structs.replace(form, temperature=False)
    if form.limit == "max_tokens" and "max_completion_tokens" in said:
        return msgspec.structs.replace(form, limit="max_completion_tokens")
    if form.structured in _NEXT and _STRUCTURE.search(said):
        return msgspec.structs.replace(form, structured=_NEXT[form.structured])
    return None
