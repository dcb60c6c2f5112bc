"""What other tools export, as rows that have columns: conversations, and logs of Inspect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

#: Who speaks in a conversation -> the field that holds what was said: OpenAI, LangChain, Gemini, ShareGPT, ragas.
ROLES = {
    **dict.fromkeys(("user", "human"), "query"),
    **dict.fromkeys(("assistant", "ai", "model", "gpt", "function_call"), "response"),
    **dict.fromkeys(("tool", "function", "retriever", "retrieval", "context", "function_call_output"), "contexts"),
    **dict.fromkeys(("system", "developer", "reasoning"), ""),
}

#: Where a message holds what was said.
_CONTENT = ("content", "contents", "parts", "value", "output", "summary")

#: Parts of a message that call a tool, and parts that hold what it gave: Anthropic, OpenTelemetry, OpenAI, Gemini.
_CALL_TYPES = ("tool_call", "tool_use", "function_call", "functionCall")
_RESULT_TYPES = ("tool_call_response", "tool_result", "function_response", "functionResponse")


class Message(NamedTuple):
    """A message of a conversation.

    fills: the field that its role fills, "" for none. content: a text or its parts, or what a tool gave. calls: the
    calls of tools that it makes, with their names and arguments.
    """

    fills: str
    content: Any
    calls: tuple[dict[str, Any], ...] = ()


def messages(value: Any) -> list[Message]:
    """The messages of a conversation, or of one message; none for any other value."""
    value = [value] if isinstance(value, Mapping) or hasattr(value, "content") else value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):  # a batch of LangChain's models
        value = value[0]
    if not isinstance(value, list | tuple) or any(isinstance(item, str) for item in value):
        return []
    read = [_message(item) for item in value]
    return [message for message in read if message] if all(read) else []


def _message(item: Any) -> Message | None:
    fields: Any = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    inner = next((fields[key] for key in ("message", "kwargs", "data") if isinstance(fields.get(key), Mapping)), fields)
    role = next((name for key in ("role", "type", "from") if isinstance(name := inner.get(key), str)), "").casefold()
    content = next((inner[key] for key in _CONTENT if key in inner), None)
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list | tuple) else []
    calls = _calls(inner.get("tool_calls")) or _calls(parts) or _calls([inner])
    if role not in ROLES or not (calls or any(key in inner for key in _CONTENT)):
        return None
    results = [result for part in parts if (result := _result(part)) is not None]
    if results and len(results) == len(parts):  # which some send in the name of the user
        return Message("contexts", results, calls)
    return Message(ROLES[role], content, calls)


def _calls(items: Any) -> tuple[dict[str, Any], ...]:
    """The calls of tools among the items of a list."""
    calls = []
    for item in items if isinstance(items, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        call = next((item[key] for key in ("tool_call", *_CALL_TYPES) if isinstance(item.get(key), Mapping)), item)
        function = call["function"] if isinstance(call.get("function"), Mapping) else call
        is_call = call is not item or function is not call or item.get("type") in _CALL_TYPES or "args" in item
        if is_call and isinstance(function.get("name"), str):
            arguments = next((function[key] for key in ("arguments", "input", "args") if key in function), None)
            id = call.get("id") or call.get("call_id")
            calls.append({"id": id, "name": function["name"], "arguments": arguments})
    return tuple(calls)


def _result(part: Mapping[str, Any]) -> str | None:
    """What a tool gave, as text, if a part of a message holds that."""
    inner = next((part[key] for key in _RESULT_TYPES if isinstance(part.get(key), Mapping)), part)
    if inner is part and part.get("type") not in _RESULT_TYPES:
        return None
    output = next((inner[key] for key in ("response", "content", "result", "output") if key in inner), "")
    text = output if isinstance(output, str) else text_of(output)
    return text or json.dumps(output, ensure_ascii=False, default=str)


def content_of(conversation: Sequence[Message], field: str) -> Any:
    """The last question of a conversation, the last answer to it, or for "contexts" what tools gave; None without."""
    if field == "contexts":
        return [message.content for message in conversation if message.fills == "contexts"] or None
    asked = last_question(conversation)
    part = conversation[max(asked, 0) : asked + 1] if field == "query" else conversation[asked + 1 :]
    texts = [
        text for message in part if message.fills == field and ((text := text_of(message.content)) or not message.calls)
    ]
    return next((text for text in reversed(texts) if text.strip()), texts[-1] if texts else None)


def last_question(conversation: Sequence[Message]) -> int:
    """The place of the last question in a conversation; -1 without one."""
    return max((place for place, message in enumerate(conversation) if message.fills == "query"), default=-1)


def earlier_answers(conversation: Sequence[Message]) -> int:
    """How many questions before the last one were answered."""
    earlier = conversation[: max(last_question(conversation), 0)]
    said = [message.fills for message in earlier if message.fills == "query" or text_of(message.content).strip()]
    said = [fills for fills in said if fills in ("query", "response")]
    return sum(before == "query" and after == "response" for before, after in pairwise(said))


def text_of(content: Any) -> str:
    """The text of a message, which may come in parts, of which pictures, thoughts and calls of tools are none."""
    texts = []
    for part in content if isinstance(content, list | tuple) else [content]:
        part = part.get("message_content", part) if isinstance(part, Mapping) else {"text": part}
        if part.get("type", "text") in ("text", "input_text", "output_text"):
            texts += [part[key] for key in ("text", "content") if isinstance(part.get(key), str)]
    return "\n".join(filter(None, texts))


def value_under(value: Any, path: str) -> Any:
    """The value at a path, of whose points some may be part of names."""
    if not isinstance(value, Mapping) or path in value:
        return value[path] if isinstance(value, Mapping) else None
    name, _, rest = path.partition(".")
    return value_under(value.get(name), rest) if rest else None


def inspect_rows(log: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The samples of a log of Inspect, without its events; epochs are a group, and one that failed has no answer."""
    repeated = value_under(log, "eval.config.epochs") not in (None, 1)
    for row in samples:
        dropped = {"events", "events_data", "attachments", *(["output", "messages"] if row.get("error") else [])}
        kept = {column: value for column, value in row.items() if column not in dropped}
        epoch = {"id": f"{row.get('id')}, epoch {row.get('epoch')}", "group": str(row.get("id"))} if repeated else {}
        yield {**kept, **epoch}
