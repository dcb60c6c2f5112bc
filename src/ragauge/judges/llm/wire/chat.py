"""The protocol of OpenAI's chat completions, which most servers speak.

Source: OpenAI's API reference, "Create chat completion" and "Structured outputs"; fields of others are named below.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ragauge.judges.llm.calls import Completion, Finish, Prompt, Usage, counted
from ragauge.judges.llm.options import Options
from ragauge.judges.llm.wire.faults import Fault, Trouble, fault_of
from ragauge.judges.llm.wire.form import Form
from ragauge.text.decoding import decoded

PATH = "/chat/completions"


def body(prompt: Prompt, model: str, options: Options, form: Form) -> bytes:
    """The body of a request, as JSON.

    Held to its schema by `response_format`: "schema" sends the schema as strict, "json" asks for a JSON object and
    "plain" for nothing; with these two the schema stands at the end of the system message.
    """
    messages = prompt.messages
    if form.structured != "schema":
        messages[0] = {"role": "system", "content": told(prompt)}
    asked: dict[str, Any] = {"model": model, "messages": messages, **_wanted(options, form)}
    if form.structured == "schema":
        schema = {"name": "reply", "strict": True, "schema": prompt.schema}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form.structured == "json":
        asked["response_format"] = {"type": "json_object"}
    return msgspec.json.encode(asked)


def told(prompt: Prompt) -> str:
    """The system message with the schema in it, for a server that is not sent the schema as such."""
    schema = msgspec.json.encode(prompt.schema).decode()
    return f"{prompt.system}\n\nReply with one JSON object of this JSON schema, and nothing else:\n{schema}"


def _wanted(options: Options, form: Form) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if form.temperature:
        wanted["temperature"] = options.temperature or 0
    if options.max_tokens is not None:
        wanted[form.limit] = options.max_tokens
    if options.reasoning_effort is not None:
        wanted["reasoning_effort"] = options.reasoning_effort
    if options.seed is not None:
        wanted[form.seed] = options.seed
    return wanted


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None  # Mistral's reasoning models answer in parts
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    model: str | None = None
    error: Any = None  # OpenRouter answers 200 with an error of the server behind it


_REPLY = msgspec.json.Decoder(_Reply)
_ENDS: dict[str, Finish] = {"length": "length", "model_length": "length", "content_filter": "content_filter"}
_BROKEN = ("error", "insufficient_system_resource")


def read(body: bytes) -> Completion | Fault:
    """Read a reply. A Fault where the reply holds an error; raises Trouble where it is none that makes sense."""
    try:
        reply = decoded(body, _REPLY)
    except ValueError as error:
        raise Trouble("server_error", f"the reply is no chat completion: {error}") from error
    if not reply.choices:
        if reply.error:
            return fault_of(200, {"error": reply.error})
        raise Trouble("server_error", "the reply has no choices")
    choice = reply.choices[0]
    if choice.finish_reason in _BROKEN:
        raise Trouble("server_error", f"the reply ended with {choice.finish_reason!r}")
    usage, model = _usage(reply.usage), reply.model or ""
    if choice.message.refusal:
        return Completion(choice.message.refusal, "refusal", usage, model)
    return Completion(_text(choice.message.content), _ENDS.get(choice.finish_reason or "", "stop"), usage, model)


def _text(content: str | list[_Part] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text or "" for part in content if part.type == "text")
    return content or ""


def _usage(said: Any) -> Usage | None:
    """What the server counted, and under "prompt_cache_hit_tokens" DeepSeek; a count of another form is passed over."""
    if not isinstance(said, dict) or said.get("prompt_tokens") is None:
        return None
    details = said.get("prompt_tokens_details")
    cached = counted(details.get("cached_tokens")) if isinstance(details, dict) else 0
    cached = cached or counted(said.get("prompt_cache_hit_tokens"))
    return Usage(counted(said["prompt_tokens"]), counted(said.get("completion_tokens")), cached)
