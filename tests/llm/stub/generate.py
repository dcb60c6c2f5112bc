"""Vertex AI's generateContent, as bytes in and bytes out. The model is in the path."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.llm.stub.asks import Ask, Refused, StubReply, text_of

PATH = ":generateContent"
_STOPS = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "STOP", "content_filter": "SAFETY"}
_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}


class _Turn(msgspec.Struct, forbid_unknown_fields=True):
    parts: list[dict[str, Any]]
    role: str = "user"


class _Config(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    temperature: float | None = None
    max_output_tokens: int | None = None
    seed: int | None = None
    response_mime_type: str = "text/plain"
    response_json_schema: dict[str, Any] | None = None
    thinking_config: dict[str, Any] | None = None


class _Request(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    contents: list[_Turn]
    system_instruction: _Turn
    generation_config: _Config


_DECODER = msgspec.json.Decoder(_Request)


def read(body: bytes, without: frozenset[str]) -> Ask:
    """The call of a request's body. without: "json_schema" where there are no schemas of replies. Raises Refused."""
    try:
        request = _DECODER.decode(body)
    except msgspec.DecodeError as fault:
        raise Refused(400, "", f"Invalid JSON payload received: {fault}") from None
    config = request.generation_config
    if any(turn.role not in ("user", "model") for turn in request.contents):
        raise Refused(400, "", "Please use a valid role: user, model.")
    if config.response_json_schema and ("json_schema" in without or config.response_mime_type != "application/json"):
        raise Refused(400, "", "responseJsonSchema is not supported here")
    turns = [("system", text_of(request.system_instruction.parts))]
    turns += [("assistant" if one.role == "model" else one.role, text_of(one.parts)) for one in request.contents]
    return Ask("", turns, config.response_json_schema, "", config.max_output_tokens)


def write(ask: Ask, reply: StubReply, number: int) -> dict[str, Any]:
    """The body of a reply."""
    parts = [{"text": "Let me see.", "thought": True}, {"text": reply.text}]
    return {
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": _STOPS[reply.finish]}
        ],
        "usageMetadata": {
            "promptTokenCount": reply.prompt,
            "candidatesTokenCount": reply.completion,
            "totalTokenCount": reply.prompt + reply.completion,
            "cachedContentTokenCount": reply.cached,
        },
        "modelVersion": ask.model,
        "responseId": f"response-{number}",
    }


def error(status: int, kind: str, message: str, param: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    return {"error": {"code": status, "message": message, "status": _STATUS.get(status, "INTERNAL")}}
