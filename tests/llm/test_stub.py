from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.llm.stub import oracle
from tests.llm.stub.asks import Ask
from tests.llm.stub.counting import head, tokens
from tests.llm.stub.faults import NAMES, Faults, spoil
from tests.llm.stub.instances import instance
from tests.llm.stub.process import StubServer

from ragauge.judges.llm.layout import again, prompt
from ragauge.judges.llm.packing import Pack, Room, packs
from ragauge.judges.llm.prompts import Style
from ragauge.judges.llm.replies import read
from ragauge.nouns.answers import Decomposition, Grade, Label, Verdict
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.rubrics import COHERENCE

StubFactory = Callable[..., StubServer]

BREAKING = ("drop", "severed", "stall")
BATCHES = "/v1/messages/batches"
HELLO = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello there."}]}
GREETING = {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello there."}]}
ANTHROPIC = {"anthropic-version": "2023-06-01", "x-api-key": "k"}

CHUNKS = ("Paris has 2,100,000 people and is the capital of France.", "The Seine flows through Paris.")
QUESTIONS: list[Question] = [
    Decompose("Paris is the capital of France. The Seine flows there, and it is long.", "What is Paris?"),
    Decompose("Paris is a capital.", "What is Paris?"),
    Entail(CHUNKS, "Paris is the capital of France.", "What is Paris?"),
    Entail(CHUNKS, "Paris has 3 people.", "What is Paris?"),
    Entail(CHUNKS, "Berlin lies in Germany.", "What is Paris?"),
    Entail(("Paris is the capital of France.",), "Paris is a capital."),
    Relevant("What is the capital of France?", CHUNKS[0] * 6),
    Relevant("What is the capital of France?", "Fish swim."),
    Classify("That plan is foolish.", "toxic"),
    Rate(COHERENCE, (("source", CHUNKS[0]), ("response", "Paris is the capital of France."))),
]


def post(server: StubServer, path: str, body: object, headers: dict[str, str] | None = None) -> tuple[int, Any, Any]:
    """Status, headers and decoded body of a request."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        method = "GET" if body is None else "POST"
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body)
        connection.request(method, path, sent, headers or {})
        response = connection.getresponse()
        data = response.read()
    finally:
        connection.close()
    return response.status, response.headers, json.loads(data) if data[:1] in (b"{", b"[") else data


def chat(server: StubServer, **more: object) -> tuple[int, Any, Any]:
    """A small chat completion."""
    return post(server, "/v1/chat/completions", {**HELLO, **more})


def ask(pack: Pack, style: Style, structured: bool) -> Ask:
    """A pack as the stub sees it."""
    asked = prompt(pack, style)
    said = [(message["role"], message["content"]) for message in asked.messages]
    return Ask("m", said, asked.schema if structured else None)


@pytest.mark.parametrize("answers", ["claims", "split", "none"])
@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("style", [Style(), Style(rationales=False), Style(quotes=True)])
def test_the_oracle_answers_every_kind_of_question(style: Style, structured: bool, answers: str) -> None:
    """Its replies to our messages have no faults, with and without a schema."""
    for pack in packs(QUESTIONS, Room()):
        reply = oracle.reply(ask(pack, style, structured), answers)
        reading = read(pack, reply, style)
        assert not reading.faults
        assert set(msgspec.json.decode(reply)) == set(pack.keys)


def test_the_oracle_judges_by_shared_words() -> None:
    """Shared words entail, other numbers contradict, nothing shared is neutral; the rest goes by shared words too."""
    [taken_apart, judged] = packs(QUESTIONS, Room())
    style = Style()
    answers = read(judged, oracle.reply(ask(judged, style, True), "claims"), style).answers
    labels = [answer.label if isinstance(answer, Verdict) else answer for answer in answers.values()]
    assert labels[:4] == [Label.ENTAILED, Label.CONTRADICTED, Label.NEUTRAL, Label.ENTAILED]
    assert labels[4:7] == [Label.YES, Label.NO, Label.NO]
    assert isinstance(labels[7], Grade)
    assert labels[7].value == 5
    split = read(taken_apart, oracle.reply(ask(taken_apart, style, True), "split"), style).answers
    assert [len(answer.statements) for answer in split.values() if isinstance(answer, Decomposition)] == [3, 1]


@pytest.mark.parametrize("structured", [True, False])
def test_a_question_asked_again_gets_only_what_it_lacks(structured: bool) -> None:
    """A re-ask is answered by the keys it names, from its schema or from its last message."""
    [_, pack] = packs(QUESTIONS, Room())
    style = Style()
    asked = again(prompt(pack, style), "{}", {1: "is missing", 4: "is missing"})
    said = [(message["role"], message["content"]) for message in asked.messages]
    reply = oracle.reply(Ask("m", said, asked.schema if structured else None), "claims")
    assert list(msgspec.json.decode(reply)) == ["2", "5"]


def test_other_prompts_get_a_small_instance_of_their_schema() -> None:
    """A prompt that is not ours is answered from its schema: enums, bounds, references, lists and nested objects."""
    schema = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "score": {"type": "integer", "minimum": 3, "maximum": 9},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["items", "score", "maybe"],
        "$defs": {"item": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"]}},
    }
    assert instance(schema) == {"items": [{"kind": "a"}], "score": 3, "maybe": "text"}
    assert oracle.reply(Ask("m", [("user", "hi")]), "claims") == "{}"


@pytest.mark.parametrize(
    ("example", "sections", "expected"),
    [
        ('{"claims": ["It rained."]}', "Text:\nIt is late. It is dark.", {"claims": ["It is late.", "It is dark."]}),
        ('{"verdicts": []}', "Context List:\n['a']\n\nClaims:\n['b', \"c's\"]", 2),
        ('{"TP": []}', "Query:\nwhy?\n\nPrediction Statements:\n['a']", {"TP": ["a"], "FP": [], "FN": []}),
    ],
)
def test_prompts_of_valor_are_answered(example: str, sections: str, expected: object) -> None:
    """A prompt that ends in titled sections is answered in the keys of its example, one verdict for each claim."""
    text = f"Example:\n{example}\n===== END OF EXAMPLE ======\n{sections}\n\nJSON:\n"
    found = msgspec.json.decode(oracle.reply(Ask("m", [("user", text)]), "claims"))
    assert (len(found["verdicts"]) if isinstance(expected, int) else found) == expected


def test_tokens_are_counted_in_pieces() -> None:
    """Short words with their spaces are one token, long ones several; a head holds as many as asked for."""
    assert tokens("Paris is the capital of France.") == 7
    assert tokens("internationalization") == 3
    assert tokens("12345 東京") == 2 + 1 + 2
    assert head("Paris is the capital", 2) == "Paris is"


def test_faults_depend_on_seed_body_and_how_often_it_came() -> None:
    """The same calls get the same faults in any order; chances come true; another seed draws others."""
    bodies = [str(number).encode() for number in range(4000)]
    first, second, other = (Faults({"429": 0.1, "cut": 0.05}, (), seed) for seed in (1, 1, 2))
    drawn = {body: first.draw(body)[0] for body in bodies}
    assert {body: second.draw(body)[0] for body in reversed(bodies)} == drawn
    assert {body: other.draw(body)[0] for body in bodies} != drawn
    assert list(drawn.values()).count("429") == pytest.approx(400, abs=60)
    assert list(drawn.values()).count("cut") == pytest.approx(200, abs=45)
    again = {body: first.draw(body)[0] for body in bodies}
    assert again != drawn


def test_unknown_faults_are_refused() -> None:
    """A misspelt fault, or chances that exceed 1, are errors and not a server without faults."""
    with pytest.raises(ValueError, match="no fault 'stal'"):
        Faults({"stal": 0.1}, (), 1)
    with pytest.raises(ValueError, match="exceed 1"):
        Faults({"429": 0.6, "500": 0.6}, (), 1)


@pytest.mark.parametrize("fault", ["cut", "length", "malformed", "invalid", "empty"])
def test_spoilt_replies_lack_answers(fault: str) -> None:
    """A reply with a fault in its text cannot be used as a whole."""
    [_, pack] = packs(QUESTIONS, Room())
    reply = oracle.reply(ask(pack, Style(), True), "claims")
    assert read(pack, spoil(reply, fault), Style()).faults


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
    ("more", "said"),
    [
        ({"model": "o4-mini", "max_tokens": 5}, "max_completion_tokens"),
        ({"model": "gpt-5", "temperature": 0}, "temperature"),
        ({"response_format": {"type": "json_object"}}, "'json'"),
        ({"stream": True}, "stream"),
        ({"messages": "hello"}, "parse"),
    ],
)
def test_what_openai_refuses_is_refused(stub_server: StubFactory, more: dict[str, object], said: str) -> None:
    """Parameters that a model does not take are answered by status 400 and the reason."""
    status, _, body = chat(stub_server(), **more)
    assert status == 400
    assert said in body["error"]["message"]


def test_strict_schemas_are_checked(stub_server: StubFactory) -> None:
    """A strict schema with a property that is not required is refused, as OpenAI does; our own are taken."""
    server = stub_server()
    loose = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": loose}}
    status, _, body = chat(server, response_format=form)
    assert status == 400
    assert "'required'" in body["error"]["message"]
    for pack in packs(QUESTIONS, Room()):
        asked = prompt(pack, Style(quotes=True))
        form["json_schema"] = {"name": "reply", "strict": True, "schema": asked.schema}
        status, _, body = chat(server, messages=asked.messages, response_format=form)
        assert status == 200
        assert not read(pack, body["choices"][0]["message"]["content"], Style(quotes=True)).faults


def test_replies_end_at_the_limit(stub_server: StubFactory) -> None:
    """A reply that exceeds max_tokens is cut there and says "length"."""
    asked = prompt(packs(QUESTIONS, Room())[0], Style())
    _, _, body = chat(stub_server(), messages=asked.messages, max_tokens=10)
    assert body["choices"][0]["finish_reason"] == "length"
    assert tokens(body["choices"][0]["message"]["content"]) == 10


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"key": "other"}, 401, "invalid_api_key"),
        ({"model": "gpt-4.1"}, 404, "model_not_found"),
        ({"window": 5}, 400, "context_length_exceeded"),
        ({"script": "quota"}, 429, "insufficient_quota"),
        ({"script": "429"}, 429, "rate_limit_exceeded"),
        ({"script": "blocked"}, 400, "content_filter"),
    ],
)
def test_errors_have_the_codes_of_openai(
    stub_server: StubFactory, options: dict[str, Any], status: int, code: str
) -> None:
    """Wrong keys, unknown models, long prompts, spent accounts and filters are told by status and code."""
    found, _, body = chat(stub_server(**options))
    assert (found, body["error"]["code"]) == (status, code)


def test_errors_have_the_types_of_anthropic(stub_server: StubFactory) -> None:
    """Overload and a missing version are told in Anthropic's form, with Retry-After where it was asked for."""
    server = stub_server(script="529", retry_after="0.5")
    status, headers, body = post(server, "/v1/messages", GREETING, ANTHROPIC)
    assert (status, body["error"]["type"], headers["Retry-After"]) == (529, "overloaded_error", "0.5")
    status, _, body = post(server, "/v1/messages", GREETING)
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(("fault", "finish"), [("length", "length"), ("filter", "content_filter"), ("refusal", "stop")])
def test_ends_are_told_apart(stub_server: StubFactory, fault: str, finish: str) -> None:
    """Truncation, filters and refusals have their own marks in both protocols."""
    server = stub_server(script=f"{fault},{fault}")
    choice = chat(server)[2]["choices"][0]
    assert choice["finish_reason"] == finish
    assert bool(choice["message"]["refusal"]) == (fault == "refusal")
    stop = {"length": "max_tokens"}.get(fault, "refusal")
    assert post(server, "/v1/messages", GREETING, ANTHROPIC)[2]["stop_reason"] == stop


def test_connections_break_where_they_shall(stub_server: StubFactory) -> None:
    """A dropped connection says nothing, a severed one half, a garbled body is HTML, a stalled one stays silent."""
    server = stub_server(script="drop,severed,garbled,stall")
    with pytest.raises((RemoteDisconnected, ConnectionResetError)):
        chat(server)
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", "/v1/chat/completions", json.dumps(HELLO))
    response = connection.getresponse()
    text = response.read(10_000)
    connection.close()
    assert 0 < len(text) < int(response.headers["Content-Length"])
    assert chat(server)[2] == b"<html>Bad gateway</html>"
    connection = HTTPConnection("127.0.0.1", server.port, timeout=0.2)
    connection.request("POST", "/v1/chat/completions", json.dumps(HELLO))
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    assert server.stats()["faults"] == {"drop": 1, "severed": 1, "garbled": 1, "stall": 1}


def test_every_fault_leaves_the_server_standing(stub_server: StubFactory) -> None:
    """After each fault there is, the next call is answered."""
    server = stub_server()
    for fault in NAMES:
        server.reset(script=fault)
        connection = HTTPConnection("127.0.0.1", server.port, timeout=0.1 if fault == "stall" else 20)
        connection.request("POST", "/v1/chat/completions", json.dumps(HELLO))
        with suppress(OSError, HTTPException) if fault in BREAKING else nullcontext():
            connection.getresponse().read()
        connection.close()
        assert chat(server)[0] == 200


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


def test_openais_batches(stub_server: StubFactory) -> None:
    """A file of lines becomes a batch, whose results and failed lines stand in two files in no certain order."""
    server = stub_server(batch_seconds=0.3, script="ok,500,expired,ok")
    lines = [{"custom_id": f"c{n}", "method": "POST", "url": "/v1/chat/completions", "body": HELLO} for n in range(4)]
    file = _upload(server, "\n".join(map(json.dumps, lines)).encode())
    assert file["purpose"] == "batch"
    _, _, batch = post(server, "/v1/batches", {"input_file_id": file["id"], "endpoint": "/v1/chat/completions"})
    assert (batch["status"], batch["output_file_id"]) == ("in_progress", None)
    time.sleep(0.35)
    _, _, batch = post(server, f"/v1/batches/{batch['id']}", None)
    assert (batch["status"], batch["request_counts"]) == ("completed", {"total": 4, "completed": 2, "failed": 2})
    good = _lines(server, batch["output_file_id"])
    assert [line["custom_id"] for line in good] == ["c3", "c0"]
    assert good[0]["response"]["body"]["choices"][0]["message"]["content"] == "{}"
    failed = _lines(server, batch["error_file_id"])
    assert failed[0]["error"]["code"] == "batch_expired"
    assert failed[1]["response"]["status_code"] == 500


def test_anthropics_batches(stub_server: StubFactory) -> None:
    """Requests become a batch, whose results tell success, error and expiry apart."""
    server = stub_server(script="ok,500,expired")
    calls = [{"custom_id": f"c{n}", "params": GREETING} for n in range(3)]
    _, _, batch = post(server, BATCHES, {"requests": calls}, ANTHROPIC)
    assert (batch["type"], batch["processing_status"]) == ("message_batch", "ended")
    _, _, batch = post(server, f"{BATCHES}/{batch['id']}", None)
    assert batch["request_counts"] == {"processing": 0, "canceled": 0, "succeeded": 1, "errored": 1, "expired": 1}
    rows = _jsonl(server, batch["results_url"])
    assert [row["result"]["type"] for row in rows] == ["expired", "errored", "succeeded"]
    assert rows[2]["result"]["message"]["content"] == [{"type": "text", "text": "{}"}]
    assert rows[1]["result"]["error"]["error"]["type"] == "api_error"


def test_batches_can_be_cancelled(stub_server: StubFactory) -> None:
    """A cancelled batch ends without results; an unknown one is not found."""
    server = stub_server(batch_seconds=60)
    _, _, batch = post(server, BATCHES, {"requests": [{"custom_id": "c", "params": GREETING}]}, ANTHROPIC)
    _, _, batch = post(server, f"{BATCHES}/{batch['id']}/cancel", {})
    assert (batch["processing_status"], batch["request_counts"]["canceled"]) == ("ended", 1)
    assert post(server, "/v1/batches/batch_9", None)[0] == 404


def _upload(server: StubServer, data: bytes) -> Any:
    part = 'Content-Disposition: form-data; name="{}"'
    named = part.format("file") + '; filename="in.jsonl"\r\nContent-Type: application/jsonl'
    body = f"--x\r\n{part.format('purpose')}\r\n\r\nbatch\r\n--x\r\n{named}\r\n\r\n".encode() + data + b"\r\n--x--\r\n"
    return post(server, "/v1/files", body, {"Content-Type": "multipart/form-data; boundary=x"})[2]


def _lines(server: StubServer, file: str) -> list[Any]:
    return _jsonl(server, f"/v1/files/{file}/content")


def _jsonl(server: StubServer, path: str) -> list[Any]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", path)
    text = connection.getresponse().read()
    connection.close()
    return [json.loads(line) for line in text.splitlines()]
