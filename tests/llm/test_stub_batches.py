"""The stub's batches."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection
from typing import Any

from tests.llm.stub.fixture import StubFactory
from tests.llm.stub.process import StubServer
from tests.llm.stubbing import ANTHROPIC, BATCHES, GREETING, HELLO, post


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
