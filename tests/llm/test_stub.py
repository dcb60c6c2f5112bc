"""The stub as a server: the protocols' forms, their limits, and what it counts."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from tests.llm.stub.counting import head, tokens
from tests.llm.stub.fixture import StubFactory
from tests.llm.stubbing import ANTHROPIC, GREETING, HELLO, QUESTIONS, chat, post

from ragauge.judges.llm.prompts import PackLimits, packs, prompt_of
from ragauge.judges.llm.replies import parse_reply
from ragauge.kinds.call import PromptStyle


def test_tokens_are_counted_in_pieces() -> None:
    """Short words with their spaces are one token, long ones several; a head holds as many as asked for."""
    assert tokens("Paris is the capital of France.") == 7
    assert tokens("internationalization") == 3
    assert tokens("12345 東京") == 2 + 1 + 2
    assert head("Paris is the capital", 2) == "Paris is"


def test_a_chat_completion_has_the_parts_of_openais(stub_server: StubFactory) -> None:
    """Content, end, usage and model stand where the protocol puts them."""
    status, _, body = chat(stub_server())
    assert status == 200
    assert body["object"] == "chat.completion"
    assert body["model"] == "gpt-4o-mini"
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "{}", "refusal": None}
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"]["prompt_tokens"] == tokens("Hello there.") + 7
    assert body["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_a_message_has_the_parts_of_anthropics(stub_server: StubFactory) -> None:
    """Text or the use of a tool, the reason to stop, and usage stand where the protocol puts them."""
    server = stub_server()
    status, _, body = post(server, "/v1/messages", GREETING, ANTHROPIC)
    assert (status, body["type"], body["stop_reason"]) == (200, "message", "end_turn")
    assert body["content"] == [{"type": "text", "text": "{}"}]
    assert body["usage"]["input_tokens"] > 0
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    _, _, body = post(server, "/v1/messages", {**GREETING, "tools": [{"name": "f", "input_schema": schema}]}, ANTHROPIC)
    assert body["stop_reason"] == "tool_use"
    assert body["content"][0]["input"] == {"n": 1}


def test_long_system_messages_are_cached(stub_server: StubFactory) -> None:
    """A system message that came before and has 1,024 tokens counts as cached, as the providers' caches do."""
    server = stub_server()
    messages = [{"role": "system", "content": "word " * 1500}, *HELLO["messages"]]
    cached = [chat(server, messages=messages)[2]["usage"]["prompt_tokens_details"]["cached_tokens"] for _ in range(2)]
    assert cached == [0, 1408]
    usage = post(server, "/v1/messages", {**GREETING, "system": "word " * 1500}, ANTHROPIC)[2]["usage"]
    assert usage["cache_read_input_tokens"] == 1408


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model": "o4-mini", "max_tokens": 5}, "max_completion_tokens"),
        ({"model": "gpt-5", "temperature": 0}, "temperature"),
        ({"response_format": {"type": "json_object"}}, "'json'"),
        ({"stream": True}, "stream"),
        ({"messages": "hello"}, "parse"),
    ],
)
def test_what_openai_refuses_is_refused(stub_server: StubFactory, more: dict[str, object], message: str) -> None:
    """Parameters that a model does not take are answered by status 400 and the reason."""
    status, _, body = chat(stub_server(), **more)
    assert status == 400
    assert message in body["error"]["message"]


def test_strict_schemas_are_checked(stub_server: StubFactory) -> None:
    """A strict schema with a property that is not required is refused, as OpenAI does; our own are taken."""
    server = stub_server()
    loose = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": loose}}
    status, _, body = chat(server, response_format=form)
    assert status == 400
    assert "'required'" in body["error"]["message"]
    for pack in packs(QUESTIONS, PackLimits()):
        asked = prompt_of(pack, PromptStyle(quotes=True))
        form["json_schema"] = {"name": "reply", "strict": True, "schema": asked.schema}
        status, _, body = chat(server, messages=asked.messages, response_format=form)
        assert status == 200
        assert not parse_reply(pack, body["choices"][0]["message"]["content"], PromptStyle(quotes=True)).faults


def test_replies_end_at_the_limit(stub_server: StubFactory) -> None:
    """A reply that exceeds max_tokens is cut there and says "length"."""
    asked = prompt_of(packs(QUESTIONS, PackLimits())[0], PromptStyle())
    _, _, body = chat(stub_server(), messages=asked.messages, max_tokens=10)
    assert body["choices"][0]["finish_reason"] == "length"
    assert tokens(body["choices"][0]["message"]["content"]) == 10


def test_requests_a_minute_are_limited(stub_server: StubFactory) -> None:
    """Beyond its limit the server answers 429, says when to come back, and what is left."""
    server = stub_server(rpm=60, tpm=60_000)
    status, headers, _ = chat(server)
    assert (status, headers["x-ratelimit-limit-requests"]) == (200, "60")
    assert headers["x-ratelimit-remaining-requests"] == "0"
    status, headers, _ = chat(server)
    assert status == 429
    assert 0 < float(headers["Retry-After"]) <= 1
    server = stub_server(rpm=60)
    _, headers, _ = post(server, "/v1/messages", GREETING, ANTHROPIC)
    assert headers["anthropic-ratelimit-requests-limit"] == "60"


def test_stats_count_what_was_asked(stub_server: StubFactory) -> None:
    """Calls, statuses, characters, tokens and the width of the traffic are counted; a reset forgets them."""
    server = stub_server(latency=0.2)
    threads = [threading.Thread(target=chat, args=(server,)) for _ in range(4)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 0.2
    stats = server.stats()
    assert (stats["calls"], stats["statuses"], stats["open"]) == (4, {"200": 4}, 0)
    assert 2 <= stats["widest"] <= 4
    assert stats["prompt_characters"] == 4 * len("Hello there.")
    assert stats["prompt_tokens"] == 4 * (tokens("Hello there.") + 7)
    assert stats["completion_tokens"] == 4 * tokens("{}")
    server.reset()
    assert server.stats()["calls"] == 0


def test_requests_are_recorded(stub_server: StubFactory, tmp_path: Path) -> None:
    """With a record, path, headers and body of each request are written as a line of JSON."""
    record = tmp_path / "requests.jsonl"
    server = stub_server(record=record)
    post(server, "/v1/chat/completions?api-version=1", HELLO, {"Authorization": "Bearer k"})
    server.reset()
    row = json.loads(record.read_text(encoding="utf-8"))
    assert row["path"] == "/v1/chat/completions?api-version=1"
    assert row["headers"]["authorization"] == "Bearer k"
    assert row["body"] == HELLO


def test_options_are_checked(stub_server: StubFactory) -> None:
    """An unknown option or fault is an error of the test that gives it; the server goes on."""
    server = stub_server()
    with pytest.raises(RuntimeError, match="no fault 'x'"):
        server.reset(fault={"x": 1})
    with pytest.raises(RuntimeError, match="no options"):
        server.reset(latensy=1)
    assert chat(server)[0] == 200
