"""Anthropic's messages, as bytes in and bytes out."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.llm.stub.asks import Ask, Refused, StubReply, text_of
from tests.llm.stub.instances import unfit

PATH = "/messages"
REFUSED = frozenset({"oneOf", "not", "minimum", "maximum", "minLength", "maxLength", "if"})
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_STOPS = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "content_filter": "refusal"}


class _Request(msgspec.Struct):
    model: str
    max_tokens: int
    messages: list[dict[str, Any]]
    system: Any = ""
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None
    output_format: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(_Request)


def read(body: bytes, without: frozenset[str]) -> Ask:
    """The call of a request's body. without: "json_schema" where there is no structured output. Raises Refused."""
    try:
        request = _DECODER.decode(body)
    except msgspec.DecodeError as fault:
        raise Refused(400, "", f"The request body is not valid: {fault}") from None
    _check_turns(request.messages)
    schema, tool = _form(request, without)
    reply = [(message["role"], text_of(message["content"])) for message in request.messages]
    return Ask(request.model, [("system", text_of(request.system)), *reply], schema, tool, request.max_tokens)


def _check_turns(messages: list[dict[str, Any]]) -> None:
    if not messages:
        raise Refused(400, "", "messages: at least one message is required")
    for number, message in enumerate(messages):
        if message["role"] not in ("user", "assistant"):
            raise Refused(400, "", f"messages.{number}.role: Input should be 'user' or 'assistant'")
        if not text_of(message["content"]).strip():
            raise Refused(400, "", f"messages.{number}: text content blocks must contain non-whitespace text")


def _form(request: _Request, without: frozenset[str]) -> tuple[dict[str, Any] | None, str]:
    if request.tools:
        return request.tools[0]["input_schema"], request.tools[0]["name"]
    form = request.output_format or (request.output_config or {}).get("format")
    if form is None:
        return None, ""
    if "json_schema" in without:
        raise Refused(400, "", f"{request.model} does not support output format")
    if fault := unfit(form["schema"], REFUSED, "output_format.schema"):
        raise Refused(400, "", fault)
    return form["schema"], ""


def write(ask: Ask, reply: StubReply, number: int) -> dict[str, Any]:
    """The body of a reply."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}]
    if ask.tool:
        content = [{"type": "tool_use", "id": f"toolu_{number}", "name": ask.tool, "input": loose(reply.text)}]
    stop = _STOPS[reply.finish]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [] if stop == "refusal" or not reply.text else content,
        "stop_reason": "tool_use" if ask.tool and stop == "end_turn" else stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.prompt - reply.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": reply.cached,
            "output_tokens": reply.completion,
        },
    }


def loose(text: str) -> Any:
    """The input of a tool: an object always, as the server parses it; empty where the text is no JSON."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}


def error(status: int, kind: str, message: str, param: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    fault = {"type": _KINDS.get(status, "api_error"), "message": message}
    return {"type": "error", "error": fault, "request_id": "req_stub"}
