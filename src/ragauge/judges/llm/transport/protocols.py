"""The protocols of OpenAI's chat completions and of Anthropic's messages, and which fields a server supports.

Source: OpenAI's API reference, "Create chat completion" and "Structured outputs"; fields of others are named below.

Source: Anthropic's API reference, "Messages", "Structured outputs", "Prompt caching" and "Stop reasons".
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ragauge.host import decoded
from ragauge.judges.llm.messages import Completion, Finish, Prompt, TokenUsage, counted
from ragauge.judges.llm.providers import LLMOptions, Provider, Structured
from ragauge.judges.llm.transport.session import Fault, ReplyError, fault_of, reason_of

#: OpenAI's reasoning models, which take no temperature, and max_completion_tokens instead of max_tokens.
_REASONING = re.compile(r"(.*/)?(o\d|gpt-[5-9](?!.*chat))")

#: The assumed tokens of a reasoning model's reasoning in a call.
REASONING_TOKENS = 500


class ServerFeatures(msgspec.Struct, frozen=True):
    """The features of a server that requests use.

    structured: how the reply is constrained to its schema. temperature: whether one is sent. limit, seed: the names of
    the fields that limit the length of a reply and seed its sampling.
    """

    structured: Structured = "schema"
    temperature: bool = True
    limit: str = "max_tokens"
    seed: str = "seed"


def is_reasoning_model(model: str) -> bool:
    """Whether a model is known by its name to reason before it answers."""
    return bool(_REASONING.match(model))


def reasoning_tokens(model: str, effort: str | None) -> int:
    """The assumed reasoning tokens of a call, which are billed as part of the completion.

    REASONING_TOKENS for a model that is known to reason or is given an effort, 0 for others. This is a guess: real
    calls take from none to many thousand.
    """
    if effort in ("none", "minimal"):
        return 0
    return REASONING_TOKENS if effort is not None or is_reasoning_model(model) else 0


def initial_features(provider: Provider, model: str, options: LLMOptions) -> ServerFeatures:
    """The features to try first."""
    reasoning = provider.protocol == "chat" and is_reasoning_model(model)
    limit = "max_completion_tokens" if reasoning else "max_tokens"
    return ServerFeatures(options.structured or provider.structured, not reasoning, limit, provider.seed or "seed")


_NEXT: dict[Structured, Structured] = {"schema": "json", "json": "plain"}
_STRUCTURE = re.compile(
    r"response.?(format|mime)|json.?schema|json.?mode|json.?object|structured.?output|output_?(config|format)|"
    r"tool_?(choice|config)|input_schema|\bschema\b|grammar"
)


def downgraded(features: ServerFeatures, fault: Fault) -> ServerFeatures | None:
    """The features to try after a refusal; None where it names none of them. They only ever decrease.

    Refusals are recognised by the field they name: "Unsupported parameter: 'max_tokens' ..." (OpenAI), "`temperature`
    is deprecated for this model." (Anthropic), "This response_format type is unavailable now" (DeepSeek).
    """
    if fault.status not in (400, 422, 500) or reason_of(fault) not in ("bad_request", "server_error"):
        return None
    text = f"{fault.parameter} {fault.message}".lower()
    if features.temperature and "temperature" in text:
        return msgspec.structs.replace(features, temperature=False)
    if features.limit == "max_tokens" and "max_completion_tokens" in text:
        return msgspec.structs.replace(features, limit="max_completion_tokens")
    if features.structured in _NEXT and _STRUCTURE.search(text):
        return msgspec.structs.replace(features, structured=_NEXT[features.structured])
    return None


CHAT_PATH = "/chat/completions"


def chat_body(prompt: Prompt, model: str, options: LLMOptions, features: ServerFeatures) -> bytes:
    """The body of a request, as JSON.

    Constrained to its schema by `response_format`: "schema" sends the schema as strict, "json" asks for a JSON object
    and "plain" for nothing; with these two the schema is appended to the system message.
    """
    messages = prompt.messages
    if features.structured != "schema":
        messages[0] = {"role": "system", "content": system_with_schema(prompt)}
    request: dict[str, Any] = {"model": model, "messages": messages, **_options(options, features)}
    if features.structured == "schema":
        schema = {"name": "reply", "strict": True, "schema": prompt.schema}
        request["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif features.structured == "json":
        request["response_format"] = {"type": "json_object"}
    return msgspec.json.encode(request)


def system_with_schema(prompt: Prompt) -> str:
    """The system message with the schema in it, for a server that is not sent the schema as such."""
    schema = msgspec.json.encode(prompt.schema).decode()
    return f"{prompt.system}\n\nReply with one JSON object of this JSON schema, and nothing else:\n{schema}"


def _options(options: LLMOptions, features: ServerFeatures) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if features.temperature:
        fields["temperature"] = options.temperature or 0
    if options.max_tokens is not None:
        fields[features.limit] = options.max_tokens
    if options.reasoning_effort is not None:
        fields["reasoning_effort"] = options.reasoning_effort
    if options.seed is not None:
        fields[features.seed] = options.seed
    return fields


class _ContentPart(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_ContentPart] | None = None  # Mistral's reasoning models answer in parts
    refusal: str | None = None


class _ChatChoice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _ChatReply(msgspec.Struct):
    choices: list[_ChatChoice] | None = None
    usage: Any = None
    model: str | None = None
    error: Any = None  # OpenRouter answers 200 with an error of the server behind it


_CHAT_REPLY = msgspec.json.Decoder(_ChatReply)
_CHAT_FINISH: dict[str, Finish] = {"length": "length", "model_length": "length", "content_filter": "content_filter"}
_ERROR_FINISH = ("error", "insufficient_system_resource")


def read_chat(body: bytes) -> Completion | Fault:
    """Read a reply; a Fault where it holds an error. Raises ReplyError where it is not valid."""
    try:
        reply = decoded(body, _CHAT_REPLY)
    except ValueError as error:
        raise ReplyError("server_error", f"the reply is no chat completion: {error}") from error
    if not reply.choices:
        if reply.error:
            return fault_of(200, {"error": reply.error})
        raise ReplyError("server_error", "the reply has no choices")
    choice = reply.choices[0]
    if choice.finish_reason in _ERROR_FINISH:
        raise ReplyError("server_error", f"the reply ended with {choice.finish_reason!r}")
    usage, model = _chat_usage(reply.usage), reply.model or ""
    if choice.message.refusal:
        return Completion(choice.message.refusal, "refusal", usage, model)
    return Completion(
        _chat_text(choice.message.content), _CHAT_FINISH.get(choice.finish_reason or "", "stop"), usage, model
    )


def _chat_text(content: str | list[_ContentPart] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text or "" for part in content if part.type == "text")
    return content or ""


def _chat_usage(usage: Any) -> TokenUsage | None:
    """The reported tokens, cached ones also under DeepSeek's name; counts in another form are ignored."""
    if not isinstance(usage, dict) or usage.get("prompt_tokens") is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = counted(details.get("cached_tokens")) if isinstance(details, dict) else 0
    cached = cached or counted(usage.get("prompt_cache_hit_tokens"))
    return TokenUsage(counted(usage["prompt_tokens"]), counted(usage.get("completion_tokens")), cached)


ANTHROPIC_PATH = "/messages"

#: The protocol demands a limit; all models in use allow this one.
MAX_TOKENS = 8192

#: Keywords of schemas that its structured output rejects.
_UNSUPPORTED_KEYWORDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"}
)


def anthropic_body(prompt: Prompt, model: str, options: LLMOptions, features: ServerFeatures) -> bytes:
    """The body of a request, as JSON.

    Constrained to its schema by `output_config.format` ("schema"), by the forced use of a tool ("json", for models
    without the former), or by words alone ("plain"). Nothing is marked for the prompt cache: the system message is
    below its minimum of at least 1,024 tokens, and a sample's texts are sent once.
    """
    text = system_with_schema(prompt) if features.structured == "plain" else prompt.system
    request: dict[str, Any] = {
        "model": model,
        "max_tokens": options.max_tokens or MAX_TOKENS,
        "system": text,
        "messages": prompt.messages[1:],
    }
    if features.temperature:
        request["temperature"] = options.temperature or 0
    config: dict[str, Any] = {} if options.reasoning_effort is None else {"effort": options.reasoning_effort}
    if features.structured == "schema":
        config["format"] = {"type": "json_schema", "schema": supported_schema(prompt.schema)}
    elif features.structured == "json":
        request["tools"] = [{"name": "reply", "description": "Gives the reply.", "input_schema": prompt.schema}]
        request["tool_choice"] = {"type": "tool", "name": "reply"}
    if config:
        request["output_config"] = config
    return msgspec.json.encode(request)


def supported_schema(schema: Any, *, names: bool = False) -> Any:
    """A schema without unsupported keywords. names: whether its keys are names of properties, not keywords."""
    if isinstance(schema, list):
        return [supported_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = schema.items() if names else [item for item in schema.items() if item[0] not in _UNSUPPORTED_KEYWORDS]
    return {key: supported_schema(value, names=not names and key in ("properties", "$defs")) for key, value in kept}


class _ContentBlock(msgspec.Struct):
    type: str
    text: str | None = None
    input: msgspec.Raw = msgspec.Raw()


class _AnthropicReply(msgspec.Struct):
    content: list[_ContentBlock] | None = None
    stop_reason: str | None = None
    usage: Any = None
    model: str | None = None
    error: Any = None


_ANTHROPIC_REPLY = msgspec.json.Decoder(_AnthropicReply)
_ANTHROPIC_FINISH: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def read_anthropic(body: bytes) -> Completion | Fault:
    """Read a reply; a Fault where it holds an error. Raises ReplyError where it is not valid."""
    try:
        reply = decoded(body, _ANTHROPIC_REPLY)
        text = "".join(map(_anthropic_text, reply.content or ()))
    except ValueError as error:
        raise ReplyError("server_error", f"the reply is no message: {error}") from error
    if reply.content is None:
        if reply.error:
            return fault_of(200, {"error": reply.error})
        raise ReplyError("server_error", "the reply has no content")
    return Completion(
        text, _ANTHROPIC_FINISH.get(reply.stop_reason or "", "stop"), _anthropic_usage(reply.usage), reply.model or ""
    )


def _anthropic_text(block: _ContentBlock) -> str:
    if block.type == "tool_use":
        return bytes(block.input).decode()
    return block.text or "" if block.type == "text" else ""


def _anthropic_usage(usage: Any) -> TokenUsage | None:
    """Its input_tokens count what was neither read from the cache nor written to it."""
    if not isinstance(usage, dict) or usage.get("input_tokens") is None:
        return None
    cached = counted(usage.get("cache_read_input_tokens"))
    prompt = counted(usage["input_tokens"]) + cached + counted(usage.get("cache_creation_input_tokens"))
    return TokenUsage(prompt, counted(usage.get("output_tokens")), cached)
