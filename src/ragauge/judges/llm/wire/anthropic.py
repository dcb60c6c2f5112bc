"""Anthropic's protocol of messages.

Source: Anthropic's API reference, "Messages", "Structured outputs", "Prompt caching" and "Stop reasons".
"""

from __future__ import annotations

from typing import Any

import msgspec

from ragauge.judges.llm.calls import Completion, Finish, Prompt, Usage, counted
from ragauge.judges.llm.options import Options
from ragauge.judges.llm.wire.chat import told
from ragauge.judges.llm.wire.faults import Fault, Trouble, fault_of
from ragauge.judges.llm.wire.form import Form
from ragauge.text.decoding import decoded

PATH = "/messages"

#: The protocol demands a limit; all models in use allow this one.
MAX_TOKENS = 8192

#: Keywords of schemas that its structured output refuses.
_REFUSED = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"})


def body(prompt: Prompt, model: str, options: Options, form: Form) -> bytes:
    """The body of a request, as JSON.

    Held to its schema by `output_config.format` ("schema"), by the forced use of a tool ("json", for models without
    the former), or by words alone ("plain"). Nothing is marked for the prompt cache: the system message is below its
    least of 1,024 tokens or more, and a sample's texts are sent once.
    """
    text = told(prompt) if form.structured == "plain" else prompt.system
    asked: dict[str, Any] = {
        "model": model,
        "max_tokens": options.max_tokens or MAX_TOKENS,
        "system": text,
        "messages": prompt.messages[1:],
    }
    if form.temperature:
        asked["temperature"] = options.temperature or 0
    config: dict[str, Any] = {} if options.reasoning_effort is None else {"effort": options.reasoning_effort}
    if form.structured == "schema":
        config["format"] = {"type": "json_schema", "schema": _bare(prompt.schema)}
    elif form.structured == "json":
        asked["tools"] = [{"name": "reply", "description": "Gives the reply.", "input_schema": prompt.schema}]
        asked["tool_choice"] = {"type": "tool", "name": "reply"}
    if config:
        asked["output_config"] = config
    return msgspec.json.encode(asked)


def _bare(schema: Any, *, names: bool = False) -> Any:
    """A schema without the keywords that are refused. names: whether its keys are names of properties, not keywords."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = schema.items() if names else [item for item in schema.items() if item[0] not in _REFUSED]
    return {key: _bare(value, names=not names and key in ("properties", "$defs")) for key, value in kept}


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    input: msgspec.Raw = msgspec.Raw()


class _Reply(msgspec.Struct):
    content: list[_Block] | None = None
    stop_reason: str | None = None
    usage: Any = None
    model: str | None = None
    error: Any = None


_REPLY = msgspec.json.Decoder(_Reply)
_ENDS: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def read(body: bytes) -> Completion | Fault:
    """Read a reply. A Fault where the reply holds an error; raises Trouble where it is none that makes sense."""
    try:
        reply = decoded(body, _REPLY)
        text = "".join(map(_text, reply.content or ()))
    except ValueError as error:
        raise Trouble("server_error", f"the reply is no message: {error}") from error
    if reply.content is None:
        if reply.error:
            return fault_of(200, {"error": reply.error})
        raise Trouble("server_error", "the reply has no content")
    return Completion(text, _ENDS.get(reply.stop_reason or "", "stop"), _usage(reply.usage), reply.model or "")


def _text(block: _Block) -> str:
    if block.type == "tool_use":
        return bytes(block.input).decode()
    return block.text or "" if block.type == "text" else ""


def _usage(said: Any) -> Usage | None:
    """Its input_tokens count what was neither read from the cache nor written to it."""
    if not isinstance(said, dict) or said.get("input_tokens") is None:
        return None
    cached = counted(said.get("cache_read_input_tokens"))
    prompt = counted(said["input_tokens"]) + cached + counted(said.get("cache_creation_input_tokens"))
    return Usage(prompt, counted(said.get("output_tokens")), cached)
