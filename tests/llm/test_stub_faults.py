"""The faults of the stub: drawn by a seed, in the form that providers use."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from typing import Any

import pytest
from tests.llm.stub.faults import NAMES, Faults
from tests.llm.stub.fixture import StubFactory
from tests.llm.stub.transmission import CONNECTIONS
from tests.llm.stubbing import ANTHROPIC, GREETING, HELLO, chat, post

SILENT = ("stall", "trickle")


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
    """Wrong keys, unknown models, long prompts, spent accounts and filters have their status and code."""
    found, _, body = chat(stub_server(**options))
    assert (found, body["error"]["code"]) == (status, code)


def test_errors_have_the_types_of_anthropic(stub_server: StubFactory) -> None:
    """Overload and a missing version have Anthropic's form, with Retry-After where it was asked for."""
    server = stub_server(script="529", retry_after="0.5")
    status, headers, body = post(server, "/v1/messages", GREETING, ANTHROPIC)
    assert (status, body["error"]["type"], headers["Retry-After"]) == (529, "overloaded_error", "0.5")
    status, _, body = post(server, "/v1/messages", GREETING)
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(("fault", "finish"), [("length", "length"), ("filter", "content_filter"), ("refusal", "stop")])
def test_ends_are_reported_apart(stub_server: StubFactory, fault: str, finish: str) -> None:
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
        connection = HTTPConnection("127.0.0.1", server.port, timeout=0.05 if fault in SILENT else 20)
        connection.request("POST", "/v1/chat/completions", json.dumps(HELLO))
        with suppress(OSError, HTTPException) if fault in CONNECTIONS else nullcontext():
            connection.getresponse().read(1_000)
        connection.close()
        assert chat(server)[0] == 200
