"""How the tests of the stub ask it."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any

from tests.llm.stub.process import StubServer

from ragauge.questions import COHERENCE, Classify, Correct, Decompose, Entail, Question, Rate, Relevant

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
    Correct("What is the capital of France?", "It is Paris, on the Seine.", ("Lyon", "Paris")),
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
