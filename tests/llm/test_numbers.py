"""Replies belong to their calls, whatever a server writes on a connection that stays open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.llm.stub.process import StubServer

import ragauge as rg
from ragauge.judges.llm.messages import Prompt
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.judges.llm.transport.client import HttpTransport

SCHEMA = {"type": "object", "properties": {"1": {"type": "string"}}, "required": ["1"]}
PROMPTS = [Prompt("Judge.", json.dumps({"sources": {"S1": f"Text {number}."}}), SCHEMA) for number in range(6)]

#: The answer of a model to the document of a call.
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def numbered(document: dict[str, Any]) -> dict[str, Any]:
    """The number of the call, and its text."""
    return {"call": document["call"], "1": document["sources"]["S1"]}


def unnumbered(document: dict[str, Any]) -> dict[str, Any]:
    """The text alone."""
    return {"1": document["sources"]["S1"]}


def misnumbered(document: dict[str, Any]) -> dict[str, Any]:
    """A number that no call has."""
    return {"call": 7, "1": document["sources"]["S1"]}


@asynccontextmanager
async def doubling(answer: Answer, late: bool) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that writes each reply twice: the copy before the next reply where it is late, else at once.

    Its base URL, and the number of requests by connection.
    """
    requests: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, left_over = len(requests), b""
        requests.append(0)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length:")[2].partition("\r")[0])
                body = json.loads(await reader.readexactly(length))
                requests[connection] += 1
                text = json.dumps(answer(json.loads(body["messages"][1]["content"])))
                reply = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
                written = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(reply), reply)
                writer.write(left_over + written if late else written)
                left_over = written
                if not late:
                    await asyncio.sleep(0.01)
                    writer.write(written)
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield "http://127.0.0.1:{1}/v1".format(*server.sockets[0].getsockname()), requests
    finally:
        server.close()


def said(answer: Answer, late: bool, pause: float = 0.0) -> tuple[list[str], HttpTransport, list[int]]:
    """What the model says to the prompts, one after the other; the transport, and the requests by connection."""

    async def main() -> tuple[list[str], HttpTransport, list[int]]:
        async with doubling(answer, late) as (url, requests):
            spec = parse_llm_spec("openai/m", base_url=url, concurrency=1)
            transport = HttpTransport(spec.provider, spec.model, spec.options, {"OPENAI_API_KEY": "k"})
            texts = []
            async with transport:
                for prompt in PROMPTS:
                    texts.append(json.loads((await transport.send(prompt)).text)["1"])
                    await asyncio.sleep(pause)
            return texts, transport, requests

    return asyncio.run(asyncio.wait_for(main(), 30))


OWN = [f"Text {number}." for number in range(6)]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come quickly."""
    monkeypatch.setattr("ragauge.judges.llm.transport.scheduler.MIN_BACKOFF", 0.001)


def test_the_copy_of_a_reply_answers_no_other_call() -> None:
    """A copy that arrives after the next call was sent is discarded and counted, and connections are used once then."""
    texts, transport, requests = said(numbered, late=True)
    assert texts == OWN
    assert transport.retries == {"misplaced": 1}
    assert "misplaced 1" in " ".join(transport.notes())
    assert requests == [2, 1, 1, 1, 1, 1]


def test_a_connection_with_bytes_left_over_is_used_no_more() -> None:
    """A copy that arrives before the next call is discarded with its connection, without a retry."""
    texts, transport, requests = said(unnumbered, late=False, pause=0.4)
    assert texts == OWN
    assert transport.retries == {}
    assert "discarded on 5 connections" in " ".join(transport.notes())
    assert requests == [1] * 6


@pytest.mark.parametrize("answer", [unnumbered, misnumbered])
def test_a_model_that_does_not_repeat_the_number_is_read(answer: Answer) -> None:
    """The number is evidence against a reply only where it is that of another call."""
    texts, transport, _ = said(answer, late=False, pause=0.4)
    assert texts == OWN
    assert transport.retries == {}


@pytest.mark.parametrize("fault", ["doubled", "doubled-late"])
def test_scores_are_those_of_a_server_that_writes_once(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run against a server that writes half of its replies twice gives the scores of a run without faults."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    data = [
        {"query": "When?", "response": f"Bridge {n} opened in {1900 + n}.", "contexts": [f"Bridge {n} opened in 1903."]}
        for n in range(12)
    ]
    scores = []
    with StubServer() as stub:
        for faults in ({}, {fault: 0.5}):
            stub.reset(latency=0.02, fault=faults, seed=1)
            judge = rg.llm("openai/gpt-4o-mini", base_url=stub.url, concurrency=4)
            run = rg.evaluate(data, ("faithfulness",), judge, None)
            scores.append([record.score("faithfulness").value for record in run.records()])
    assert scores[0] == scores[1]
    assert len(set(scores[0])) > 1
