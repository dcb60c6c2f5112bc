"""Cohere's chat of API v2, as bytes in and bytes out."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.llm.stub.asks import Ask, Refused, StubReply
from tests.llm.stub.instances import unfit
from tests.llm.stub.messages import REFUSED

PATH = "/v2/chat"
_STOPS = {"stop": "COMPLETE", "length": "MAX_TOKENS", "refusal": "COMPLETE", "content_filter": "ERROR"}


class _Form(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    json_schema: dict[str, Any] | None = None


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    messages: list[dict[str, str]]
    stream: bool
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    response_format: _Form | None = None
    thinking: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(_Request)


def read(body: bytes, without: frozenset[str]) -> Ask:
    """The call of a request's body. without: "json_schema" where there are no schemas of replies. Raises Refused."""
    try:
        request = _DECODER.decode(body)
    except msgspec.DecodeError as fault:
        raise Refused(422, "", f"invalid request: {fault}") from None
    schema = request.response_format.json_schema if request.response_format else None
    if schema and "json_schema" in without:
        raise Refused(400, "", "invalid request: response_format.json_schema is not supported for this model")
    if schema and (misfit := unfit(schema, REFUSED)):
        raise Refused(400, "", f"invalid 'json_schema' provided: {misfit}")
    turns = [(message["role"], message["content"]) for message in request.messages]
    return Ask(request.model, turns, schema, "", request.max_tokens)


def write(ask: Ask, reply: StubReply, number: int) -> dict[str, Any]:
    """The body of a reply."""
    counts = {"input_tokens": reply.prompt, "output_tokens": reply.completion}
    return {
        "id": f"chat-{number}",
        "finish_reason": _STOPS[reply.finish],
        "message": {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Let me see."}, {"type": "text", "text": reply.text}],
        },
        "usage": {"billed_units": counts, "tokens": counts, "cached_tokens": 0},
    }


def error(status: int, kind: str, message: str, param: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    return {"id": "stub", "message": message}
