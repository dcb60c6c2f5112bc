"""OpenAI's chat completions, as bytes in and bytes out."""

from __future__ import annotations

import math
import re
import time
from typing import Any

import msgspec
from tests.llm.stub.asks import Ask, Refused, StubReply, text_of
from tests.llm.stub.instances import unfit

PATH = "/chat/completions"
_REASONING = ("o1", "o3", "o4", "gpt-5", "gpt-6")
_REFUSED = frozenset({"oneOf", "allOf", "not", "patternProperties", "if"})
_KINDS = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


class _Request(msgspec.Struct):
    model: str
    messages: list[dict[str, Any]]
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    stream: bool = False
    logprobs: bool = False
    top_logprobs: int = 0


_DECODER = msgspec.json.Decoder(_Request)


def read(body: bytes, without: frozenset[str]) -> Ask:
    """The call of a request's body. without: response formats that this server does not have. Raises Refused."""
    try:
        request = _DECODER.decode(body)
    except msgspec.DecodeError as fault:
        message = f"We could not parse the JSON body of your request. ({fault})"
        raise Refused(400, "", message) from None
    _check_parameters(request)
    schema, tool = _form(request, without)
    reply = [(message["role"], text_of(message.get("content"))) for message in request.messages]
    if request.logprobs and "logprobs" in without:
        raise Refused(400, "unsupported_parameter", "logprobs is not supported with this model.", "logprobs")
    given = request.logprobs and "silent_logprobs" not in without
    return Ask(request.model, reply, schema, tool, request.max_completion_tokens or request.max_tokens, given)


def _check_parameters(request: _Request) -> None:
    if request.stream:
        raise Refused(400, "unsupported_value", "this server does not stream", "stream")
    if not request.model.rpartition("/")[2].startswith(_REASONING):
        return
    if request.max_tokens is not None:
        message = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        raise Refused(400, "unsupported_parameter", f"Unsupported parameter: {message}", "max_tokens")
    if request.temperature not in (None, 1):
        message = "Unsupported value: 'temperature' does not support this value. Only the default (1) is supported."
        raise Refused(400, "unsupported_value", message, "temperature")


def _form(request: _Request, without: frozenset[str]) -> tuple[dict[str, Any] | None, str]:
    """The schema of the reply, and the name of the function that it shall call."""
    if request.tools and request.tool_choice != "none":
        function = request.tools[0]["function"]
        return function.get("parameters", {"type": "object"}), function["name"]
    form = request.response_format or {"type": "text"}
    kind = form["type"]
    if kind in without or ("response_format" in without and request.response_format):
        message = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
        raise Refused(400, "", message, "response_format")
    if kind == "json_object" and not any("json" in str(message).lower() for message in request.messages):
        message = "'messages' must contain the word 'json' in some form, to use 'response_format' 'json_object'."
        raise Refused(400, "", message, "messages")
    if kind != "json_schema":
        return None, ""
    schema = form["json_schema"]["schema"]
    if form["json_schema"].get("strict") and (fault := unfit(schema, _REFUSED)):
        message = f"Invalid schema for response_format '{form['json_schema'].get('name')}': {fault}."
        raise Refused(400, "invalid_json_schema", message, "response_format")
    return schema, ""


def write(ask: Ask, reply: StubReply, number: int) -> dict[str, Any]:
    """The body of a reply."""
    refused = reply.finish == "refusal"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused or ask.tool else reply.text,
        "refusal": "I'm sorry, but I can't help with that." if refused else None,
    }
    if ask.tool and not refused:
        function = {"name": ask.tool, "arguments": reply.text}
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": ask.model,
        "choices": [
            {"index": 0, "message": message, "logprobs": _logprobs(ask, reply), "finish_reason": _finish(ask, reply)}
        ],
        "usage": {
            "prompt_tokens": reply.prompt,
            "completion_tokens": reply.completion,
            "total_tokens": reply.prompt + reply.completion,
            "prompt_tokens_details": {"cached_tokens": reply.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "system_fingerprint": "fp_stub",
    }


#: What a token of a label might have been instead, with how likely it was.
_INSTEAD = {
    "entailed": {"neutral": 0.1, "contrad": 0.1},
    "neutral": {"ent": 0.3},
    "yes": {"no": 0.2},
    "no": {"yes": 0.4},
}


def _logprobs(ask: Ask, reply: StubReply) -> dict[str, Any] | None:
    """The words and marks of a reply as tokens; the labels are unsure of themselves."""
    if not ask.logprobs:
        return None
    content = []
    for text in re.findall(r"\w+|\W", reply.text):
        others = _INSTEAD.get(text, {"other": 0.01})
        shares = {text: 1 - sum(others.values()), **others}
        top = [{"token": token, "logprob": math.log(share), "bytes": None} for token, share in shares.items()]
        content.append({**top[0], "top_logprobs": top})
    return {"content": content, "refusal": None}


def _finish(ask: Ask, reply: StubReply) -> str:
    if reply.finish == "refusal" or (reply.finish == "stop" and not ask.tool):
        return "stop"
    return "tool_calls" if reply.finish == "stop" else reply.finish


def error(status: int, kind: str, message: str, param: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    sort = "invalid_request_error" if status < 500 else "server_error"
    sort = kind if kind == "insufficient_quota" else sort
    return {"error": {"message": message, "type": sort, "param": param, "code": kind or _KINDS.get(status)}}
