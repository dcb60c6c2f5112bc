from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.llm.messages import Completion, Prompt, TokenUsage, Turn
from ragauge.judges.llm.providers import LLMOptions, parse_llm_spec
from ragauge.judges.llm.transport import protocols
from ragauge.judges.llm.transport.protocols import ServerFeatures, initial_features
from ragauge.judges.llm.transport.session import Fault, ReplyError

SCHEMA = {"type": "object", "properties": {"1": {"type": "integer", "minimum": 1}}, "required": ["1"]}
PROMPT = Prompt("Judge.", '{"sources": {}}', SCHEMA)
USER = {"role": "user", "content": '{"sources": {}}'}


def _body(spec: str, prompt: Prompt = PROMPT, form: ServerFeatures | None = None) -> dict[str, Any]:
    provider, model, options = parse_llm_spec(spec)
    body: dict[str, Any] = json.loads(
        protocols.chat_body(prompt, model, options, form or initial_features(provider, model, options))
    )
    return body


def _told(body: dict[str, Any]) -> Any:
    """The schema at the end of the system message."""
    return json.loads(body["messages"][0]["content"].rpartition("\n")[2])


def test_body_for_openai() -> None:
    """The body is that of OpenAI's reference: messages, and the schema as a strict response format."""
    assert _body("openai/gpt-4o-mini") == {
        "model": "gpt-4o-mini",
        "messages": [{"role": "system", "content": "Judge."}, USER],
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}},
    }


def test_body_with_options() -> None:
    """Options stand in the fields of OpenAI's reference."""
    body = _body("openai/gpt-4o-mini?temperature=0.5&max_tokens=9&seed=3&reasoning_effort=low")
    wanted = {"temperature": 0.5, "max_tokens": 9, "seed": 3, "reasoning_effort": "low"}
    assert {name: body[name] for name in wanted} == wanted


@pytest.mark.parametrize("model", ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.4-mini", "gpt-6-luna"])
def test_body_for_reasoning_models(model: str) -> None:
    """Reasoning models are sent no temperature, and max_completion_tokens; also through OpenRouter."""
    for spec in (f"openai/{model}", f"openrouter/openai/{model}"):
        body = _body(f"{spec}?max_tokens=9&temperature=0")
        assert body["max_completion_tokens"] == 9
        assert not body.keys() & {"max_tokens", "temperature"}


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-4o", "gpt-5-chat-latest", "open-mixtral", "qwen3:8b"])
def test_body_for_other_models(model: str) -> None:
    """Models that are not known to reason are sent a temperature and max_tokens."""
    assert _body(f"openai/{model}?max_tokens=9").items() >= {"temperature": 0, "max_tokens": 9}.items()


def test_mistral_names_the_seed_otherwise() -> None:
    """Mistral's seed is `random_seed`."""
    body = _body("mistral/mistral-small-latest?seed=3")
    assert body["random_seed"] == 3
    assert "seed" not in body


def test_body_in_json_mode() -> None:
    """DeepSeek has JSON mode alone, which demands the word JSON; the schema then stands in the system message."""
    body = _body("deepseek/deepseek-chat")
    assert body["response_format"] == {"type": "json_object"}
    assert body["messages"][0]["content"].startswith("Judge.\n\nReply with one JSON object")
    assert _told(body) == SCHEMA
    assert body["messages"][1:] == [USER]


def test_body_in_plain_text() -> None:
    """Without any mode only the system message says what the reply must be."""
    body = _body("openai/m", form=ServerFeatures("plain"))
    assert "response_format" not in body
    assert _told(body) == SCHEMA


def test_turns_are_reported_again() -> None:
    """Earlier replies and the responses to them follow the user's message."""
    prompt = Prompt("Judge.", "{}", SCHEMA, (Turn("bad", "1 is missing"),))
    reply = [(message["role"], message["content"]) for message in _body("openai/m", prompt)["messages"]]
    assert reply[1:] == [("user", "{}"), ("assistant", "bad"), ("user", "1 is missing")]


@given(st.text(), st.text())
def test_any_text_arrives_as_it_is(system: str, user: str) -> None:
    """Whatever a text holds, it is inside its message, unchanged."""
    body = _body("openai/m", Prompt(system, user, SCHEMA))
    assert [message["content"] for message in body["messages"]] == [system, user]


def _reply(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> bytes:
    return json.dumps({"model": "m-1", "choices": [{"message": message, "finish_reason": finish}], **more}).encode()


@given(st.text())
def test_any_reply_is_read_as_it_is(text: str) -> None:
    """The content of a reply is read unchanged."""
    assert protocols.read_chat(_reply({"content": text})) == Completion(text, model="m-1")


@pytest.mark.parametrize(
    ("message", "finish", "text", "end"),
    [
        ({"content": "{}"}, "stop", "{}", "stop"),
        ({"content": "{"}, "length", "{", "length"),
        ({"content": "{"}, "model_length", "{", "length"),
        ({"content": None}, "content_filter", "", "content_filter"),
        ({"content": None, "refusal": "I cannot."}, "stop", "I cannot.", "refusal"),
        ({"content": "{}", "refusal": None}, None, "{}", "stop"),
        ({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "{}"}]}, "stop", "{}", "stop"),
        ({}, "stop", "", "stop"),
    ],
)
def test_how_replies_end(message: dict[str, Any], finish: str | None, text: str, end: str) -> None:
    """Refusals, filters and truncation are distinguished from an end, as OpenAI and Mistral name them."""
    read = protocols.read_chat(_reply(message, finish))
    assert isinstance(read, Completion)
    assert (read.text, read.finish) == (text, end)


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, TokenUsage(9, 2)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}},
            TokenUsage(9, 2, 8),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 7}, TokenUsage(9, 2, 7)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None}, TokenUsage(9, 2)),
        ({}, None),
        (None, None),
    ],
)
def test_usage(reply: dict[str, Any] | None, usage: TokenUsage | None) -> None:
    """Tokens are read as OpenAI and DeepSeek count them; None where the server does not say."""
    read = protocols.read_chat(_reply({"content": "{}"}, usage=reply))
    assert isinstance(read, Completion)
    assert read.usage == usage


def test_an_error_inside_a_reply() -> None:
    """OpenRouter answers 200 with the error of the server behind it, whose status counts."""
    assert protocols.read_chat(b'{"error": {"code": 402, "message": "no credits"}}') == Fault(402, "no credits", "402")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"null", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{}]}', _reply({}, "error")]
)
def test_replies_that_make_no_sense(body: bytes) -> None:
    """What is no chat completion is trouble with the server, which may pass."""
    with pytest.raises(ReplyError) as trouble:
        protocols.read_chat(body)
    assert trouble.value.reason == "server_error"


@given(st.integers(0, 200))
def test_a_reply_cut_anywhere_is_trouble(at: int) -> None:
    """No beginning of a reply is taken for a reply."""
    whole = _reply({"content": '{"1": "entailed"}'}, usage={"prompt_tokens": 1, "completion_tokens": 1})
    with pytest.raises(ReplyError):
        protocols.read_chat(whole[: min(at, len(whole) - 1)])


def test_options_that_are_not_the_models() -> None:
    """Options for us, such as pack and price, are not sent."""
    assert _body("openai/m?pack=alone&price=1:2&context=9&rationales=false&rpm=1&tpm=1&timeout=1") == _body("openai/m")
    assert LLMOptions().timeout == 120
