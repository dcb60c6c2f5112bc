from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.llm.messages import Completion, Prompt, TokenUsage, Turn
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.judges.llm.transport import protocols
from ragauge.judges.llm.transport.protocols import ServerFeatures, initial_features
from ragauge.judges.llm.transport.session import Fault, ReplyError

SCHEMA = {
    "type": "object",
    "properties": {"minimum": {"type": "number", "minimum": 1, "maximum": 5}, "2": {"$ref": "#/$defs/why"}},
    "required": ["minimum", "2"],
    "additionalProperties": False,
    "$defs": {"why": {"type": "string", "maxLength": 9, "enum": ["minimum", "maximum"]}},
}
BARE = {
    "type": "object",
    "properties": {"minimum": {"type": "number"}, "2": {"$ref": "#/$defs/why"}},
    "required": ["minimum", "2"],
    "additionalProperties": False,
    "$defs": {"why": {"type": "string", "enum": ["minimum", "maximum"]}},
}
PROMPT = Prompt("Judge.", "{}", SCHEMA, (Turn("bad", "1 is missing"),))


def _body(options: str = "", form: ServerFeatures | None = None) -> dict[str, Any]:
    provider, model, chosen = parse_llm_spec(f"anthropic/claude-haiku-4-5{options}")
    reply: dict[str, Any] = json.loads(
        protocols.anthropic_body(PROMPT, model, chosen, form or initial_features(provider, model, chosen))
    )
    return reply


def test_body() -> None:
    """The body is that of Anthropic's reference: the system apart, the schema as the format of the output.

    Its structured output refuses bounds of numbers and lengths, which are left out; names and values are not.
    """
    assert _body() == {
        "model": "claude-haiku-4-5",
        "max_tokens": 8192,
        "system": "Judge.",
        "messages": [
            {"role": "user", "content": "{}"},
            {"role": "assistant", "content": "bad"},
            {"role": "user", "content": "1 is missing"},
        ],
        "temperature": 0,
        "output_config": {"format": {"type": "json_schema", "schema": BARE}},
    }


def test_body_with_options() -> None:
    """Options stand in the fields of Anthropic's reference; effort next to the output format."""
    body = _body("?max_tokens=9&temperature=1&reasoning_effort=low")
    assert body.items() >= {"max_tokens": 9, "temperature": 1}.items()
    assert body["output_config"].keys() == {"effort", "format"}
    assert "temperature" not in _body(form=ServerFeatures(temperature=False))


def test_body_for_models_without_structured_output() -> None:
    """A forced tool takes the place of structured output, and words alone that of the tool."""
    body = _body(form=ServerFeatures("json"))
    assert body["tools"][0]["input_schema"] == SCHEMA
    assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}
    assert "output_config" not in body
    body = _body(form=ServerFeatures("plain"))
    assert not body.keys() & {"tools", "tool_choice", "output_config"}
    assert json.loads(body["system"].rpartition("\n")[2]) == SCHEMA


def _reply(*content: dict[str, Any], stop: str = "end_turn", **more: Any) -> bytes:
    return json.dumps({"type": "message", "model": "c", "content": content, "stop_reason": stop, **more}).encode()


@given(st.lists(st.text(), max_size=3))
def test_any_reply_is_read_as_it_is(texts: list[str]) -> None:
    """The texts of a reply are read unchanged, one behind the other, without the thoughts between them."""
    blocks = [{"type": "text", "text": text} for text in texts]
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    assert protocols.read_anthropic(_reply(thought, *blocks)) == Completion("".join(texts), model="c")


def test_a_tool_is_read_as_the_reply() -> None:
    """What the forced tool is given is the reply."""
    read = protocols.read_anthropic(
        _reply({"type": "tool_use", "id": "t", "name": "reply", "input": {"1": "ä"}}, stop="tool_use")
    )
    assert isinstance(read, Completion)
    assert json.loads(read.text) == {"1": "ä"}
    assert read.finish == "stop"


@pytest.mark.parametrize(
    ("stop", "end"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
    ],
)
def test_how_replies_end(stop: str, end: str) -> None:
    """Stop reasons are those of Anthropic's page on them."""
    read = protocols.read_anthropic(_reply({"type": "text", "text": "x"}, stop=stop))
    assert isinstance(read, Completion)
    assert read.finish == end


def test_usage() -> None:
    """Tokens read from and written to the cache are part of the prompt."""
    reply = {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10}
    read = protocols.read_anthropic(_reply(usage=reply))
    assert isinstance(read, Completion)
    assert read.usage == TokenUsage(115, 2, 100)


def test_an_error_inside_a_reply() -> None:
    """An error that comes with status 200 is a fault of the server."""
    reply = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    assert protocols.read_anthropic(reply) == Fault(500, "Overloaded", "overloaded_error")


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b'{"content": 1}', _reply({"type": "text", "text": "x"})[:-9]])
def test_replies_that_make_no_sense(body: bytes) -> None:
    """What is no message is trouble with the server, which may pass."""
    with pytest.raises(ReplyError) as trouble:
        protocols.read_anthropic(body)
    assert trouble.value.reason == "server_error"
