"""Bedrock's Converse, as bytes in and bytes out. The model is in the path."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from tests.llm.stub.asks import Ask, Refused, StubReply, text_of
from tests.llm.stub.instances import unfit
from tests.llm.stub.messages import REFUSED, loose

PATH = "/converse"
_STOPS = {"stop": "end_turn", "length": "max_tokens", "refusal": "end_turn", "content_filter": "content_filtered"}


class _Turn(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: list[dict[str, Any]]


class _Request(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    messages: list[_Turn]
    system: list[dict[str, Any]] = []
    inference_config: dict[str, Any] = {}
    output_config: dict[str, Any] = {}
    tool_config: dict[str, Any] = {}


_DECODER = msgspec.json.Decoder(_Request)


def read(body: bytes, without: frozenset[str]) -> Ask:
    """The call of a request's body. without: "json_schema" where there is no structured output. Raises Refused."""
    try:
        request = _DECODER.decode(body)
    except msgspec.DecodeError as fault:
        raise Refused(400, "ValidationException", f"The request is not valid: {fault}") from None
    schema, tool = None, ""
    if form := request.output_config.get("textFormat"):
        if "json_schema" in without:
            raise Refused(400, "ValidationException", "outputConfig.textFormat: this model does not support it")
        schema = json.loads(form["structure"]["jsonSchema"]["schema"])
        if misfit := unfit(schema, REFUSED):
            raise Refused(400, "ValidationException", misfit)
    if request.tool_config:
        (spec,) = (one["toolSpec"] for one in request.tool_config["tools"])
        schema, tool = spec["inputSchema"]["json"], spec["name"]
    turns = [("system", text_of(request.system)), *((one.role, text_of(one.content)) for one in request.messages)]
    return Ask("", turns, schema, tool, request.inference_config.get("maxTokens"))


def write(ask: Ask, reply: StubReply, number: int) -> dict[str, Any]:
    """The body of a reply."""
    block: dict[str, Any] = {"text": reply.text}
    if ask.tool:
        block = {"toolUse": {"toolUseId": f"tooluse_{number}", "name": ask.tool, "input": loose(reply.text)}}
    stop = _STOPS[reply.finish]
    return {
        "output": {"message": {"role": "assistant", "content": [block]}},
        "stopReason": "tool_use" if ask.tool and stop == "end_turn" else stop,
        "usage": {
            "inputTokens": reply.prompt - reply.cached,
            "outputTokens": reply.completion,
            "totalTokens": reply.prompt + reply.completion,
            "cacheReadInputTokens": reply.cached,
        },
        "metrics": {"latencyMs": 1},
    }


def error(status: int, kind: str, message: str, param: str | None = None) -> dict[str, Any]:
    """The body of an error; its type goes into a header, which no client of ours reads."""
    return {"message": message}
