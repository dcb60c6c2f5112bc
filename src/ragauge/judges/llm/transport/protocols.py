"""The protocols of OpenAI's chat completions and of Anthropic's messages, and which fields a server supports.

Source: OpenAI's API reference, "Create chat completion" and "Structured outputs"; fields of others are named below.

Source: Anthropic's API reference, "Messages", "Structured outputs", "Prompt caching" and "Stop reasons".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from ragauge.host import decoded, refuse_repeated_keys
from ragauge.judges.llm.messages import FINISHES, TOP_LOGPROBS, Completion, Prompt, TokenUsage, tokens_of, usage_of
from ragauge.judges.llm.pricing import is_reasoning_model
from ragauge.judges.llm.providers import LLMOptions, Provider, Structured
from ragauge.judges.llm.transport.session import Fault, ReplyError, fault_of, reason_of

T = TypeVar("T")


class ServerFeatures(msgspec.Struct, frozen=True):
    """The features of a server that requests use.

    structured: how the reply is constrained to its schema. temperature: whether one is sent. limit, seed: the names of
    the fields that limit the length of a reply and seed its sampling.
    """

    structured: Structured = "schema"
    temperature: bool = True
    limit: str = "max_tokens"
    seed: str = "seed"


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
        messages[0]["content"] = system_with_schema(prompt)
    schema = {"name": "reply", "strict": True, "schema": prompt.schema}
    formats = {"schema": {"type": "json_schema", "json_schema": schema}, "json": {"type": "json_object"}}
    fields = {
        "temperature": temperature(options, features),
        features.limit: options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
        features.seed: options.seed,
        "response_format": formats.get(features.structured),
        "logprobs": options.logprobs or None,
        "top_logprobs": TOP_LOGPROBS if options.logprobs else None,
    }
    return msgspec.json.encode({"model": model, "messages": messages, **given(**fields)})


def temperature(options: LLMOptions, features: ServerFeatures) -> float | None:
    """The temperature to send, if any."""
    return options.temperature or 0 if features.temperature else None


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def system_with_schema(prompt: Prompt) -> str:
    """The system message with the schema in it, for a server that is not sent the schema as such."""
    schema = msgspec.json.encode(prompt.schema).decode()
    return f"{prompt.system}\n\nReply with one JSON object of this JSON schema, and nothing else:\n{schema}"


_ERROR_FINISH = ("error", "insufficient_system_resource")


def read_chat(body: bytes) -> Completion | Fault:
    """Read a reply; a Fault where it holds an error. Raises ReplyError where it is not valid."""
    with reading(body, "no chat completion") as reply:
        if not reply.get("choices"):  # OpenRouter answers 200 with an error of the server behind it
            return fault_without("choices", reply.get("error"))
        choice = only(reply["choices"], _said)
        finish, message = choice.get("finish_reason") or "", choice["message"]
        if finish in _ERROR_FINISH:
            raise ReplyError("server_error", f"the reply ended with {finish!r}")
        cached = "prompt_tokens_details.cached_tokens prompt_cache_hit_tokens"  # the latter is DeepSeek's
        usage = usage_of(reply.get("usage"), "prompt_tokens", "completion_tokens", cached)
        model = str(reply.get("model") or "")
        if message.get("refusal"):
            return Completion(str(message["refusal"]), "refusal", usage, model)
        text, tokens = text_of(message.get("content")), tokens_of(choice.get("logprobs"))
        return Completion(text, FINISHES.get(finish, "stop"), usage, model, tokens)


def _said(choice: dict[str, Any]) -> tuple[str, object]:
    return text_of(choice["message"].get("content")), choice["message"].get("refusal")


_OBJECT = msgspec.json.Decoder(dict[str, Any])


@contextmanager
def reading(body: bytes, fault: str) -> Iterator[dict[str, Any]]:
    """A reply as it is read. fault: what an invalid one is, like "no message".

    Raises ReplyError where it is no JSON object, has a key twice, or is read in another form than it has.
    """
    try:
        reply = decoded(body, _OBJECT)
        refuse_repeated_keys(body)
        yield reply
    except KeyError as error:
        raise ReplyError("server_error", f"the reply is {fault}: it has no {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ReplyError("server_error", f"the reply is {fault}: {error}") from error


def fault_without(content: str, error: object) -> Fault:
    """The error that a reply with status 200 holds in place of its content. Raises ReplyError where it has neither."""
    if error:
        return fault_of(200, {"error": error})
    raise ReplyError("server_error", f"the reply has no {content}")


def only(alternatives: Sequence[T], text_of: Callable[[T], object]) -> T:
    """The first of several alternatives. Raises ReplyError where their texts differ, since one cannot be chosen."""
    first, *others = alternatives
    if any(text_of(other) != text_of(first) for other in others):
        raise ReplyError("server_error", f"the reply has {len(alternatives)} alternatives that differ")
    return first


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
    system = system_with_schema(prompt) if features.structured == "plain" else prompt.system
    request: dict[str, Any] = {"model": model, "max_tokens": options.max_tokens or MAX_TOKENS, "system": system}
    request["messages"] = prompt.messages[1:]
    request |= given(temperature=temperature(options, features))
    config = given(effort=options.reasoning_effort)
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


def read_anthropic(body: bytes) -> Completion | Fault:
    """Read a reply; a Fault where it holds an error. Raises ReplyError where it is not valid."""
    with reading(body, "no message") as reply:
        if reply.get("content") is None:
            return fault_without("content", reply.get("error"))
        finish = FINISHES.get(reply.get("stop_reason") or "", "stop")
        usage = anthropic_usage(reply.get("usage"))
        return Completion(text_of(reply["content"]), finish, usage, str(reply.get("model") or ""))


def text_of(content: Any) -> str:
    """The text of a message, without reasoning; the arguments of a tool are text. Mistral's reasoning is in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    text = ""
    for part in content:
        if part.get("type") == "tool_use":
            text += msgspec.json.encode(part["input"]).decode()
        elif part.get("type") == "text":
            text += part.get("text") or ""
    return text


def anthropic_usage(usage: object) -> TokenUsage | None:
    """Its input_tokens count what was neither read from the cache nor written to it."""
    cached = "cache_read_input_tokens"
    return usage_of(usage, f"input_tokens {cached} cache_creation_input_tokens", "output_tokens", cached)
