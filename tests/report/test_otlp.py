"""Scores in the JSON form of OpenTelemetry's protocol, read and received by the protocol's own messages."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

import ragauge as rg
from ragauge.cli import main
from ragauge.errors import UsageError

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ROWS: list[dict[str, Any]] = [
    {"query": "When?", "response": "In 1931.", "contexts": ["In 1931."], "traceparent": f"00-{TRACE}-{SPAN}-01"},
    {"query": "When?", "response": "In 1931.", "trace_id": TRACE, "span_id": SPAN},
    {"query": "When?", "response": "In 1931.", "contexts": ["In 1931."], "trace_id": "t", "span_id": "s"},
]


def received(body: bytes) -> list[Any]:
    """The log records in a request, as the protocol's own message reads them; it refuses unknown fields."""
    logs = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2", reason="needs the protocol")
    from google.protobuf.json_format import Parse

    # JSON of the protocol has ids in hexadecimal, that of Protocol Buffers in base64
    plain = json.loads(body)
    for record in (r for one in plain["resourceLogs"] for scope in one["scopeLogs"] for r in scope["logRecords"]):
        for name in ("traceId", "spanId"):
            if name in record:
                record[name] = base64.b64encode(bytes.fromhex(record[name])).decode()
    message = Parse(json.dumps(plain), logs.ExportLogsServiceRequest())
    return [record for one in message.resource_logs for scope in one.scope_logs for record in scope.log_records]


class _Receiver(BaseHTTPRequestHandler):
    """Keeps the bodies of requests; refuses as many events as its server says."""

    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(server.delay)
        if server.failures:
            server.failures -= 1
            self.send_error(503)
            return
        server.got.append((self.path, self.headers["Content-Type"], self.headers.get("x-key"), body))
        partial = {"partialSuccess": {"rejectedLogRecords": str(server.refused), "errorMessage": "too old"}}
        reply = json.dumps(partial if server.refused else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def receiver() -> Iterator[Any]:
    """A receiver of the protocol over HTTP."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    server.got, server.refused, server.delay, server.failures = [], 0, 0, 0
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_file_has_requests_that_the_protocol_reads(tmp_path: Path) -> None:
    """Events belong to the trace and span of their sample, whichever way it names them, and to none otherwise."""
    run = rg.evaluate(ROWS, "faithfulness", "lexical")
    (line,) = run.save(tmp_path / "scores.otlp.jsonl").read_bytes().splitlines()
    records = received(line)
    assert [(r.trace_id.hex(), r.span_id.hex()) for r in records] == [(TRACE, SPAN), (TRACE, SPAN), ("", "")]
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    values = [{pair.key: pair.value for pair in record.attributes} for record in records]
    assert values[0]["gen_ai.evaluation.score.value"].double_value == 1
    assert values[1]["gen_ai.evaluation.score.label"].string_value == "undefined"
    assert records[0].time_unix_nano > 10**18


def test_scores_are_sent_to_a_receiver(receiver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They go to /v1/logs as JSON, with the headers of OpenTelemetry's variable, and their number comes back."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
    assert rg.evaluate(ROWS, "faithfulness", "lexical").emit(receiver.url) == 3
    ((path, kind, key, body),) = receiver.got
    assert (path, kind, key) == ("/v1/logs", "application/json", "a b")
    assert len(received(body)) == 3


def test_the_command_line_sends_them(receiver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ragauge run --otlp URL` sends what it measured."""
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    words = ["run", "rows.jsonl", "-m", "faithfulness", "-j", "lexical", "--otlp", receiver.url]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, len(receiver.got)) == (0, 1)
    assert f"sent 3 events to {receiver.url}" in result.stdout


@pytest.mark.parametrize("windows", [[], ["--window", "1h"]])
def test_scores_of_a_stream_are_sent_as_they_come(receiver: Any, windows: list[str]) -> None:
    """`ragauge score --otlp URL` sends each score once, refused or not, and says how many no receiver took."""
    rows = [{**ROWS[0], "traceparent": f"00-{place:032x}-{SPAN}-01"} for place in range(1, 4)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    words = ["score", "-", *windows, "-m", "faithfulness", "-j", "lexical", "--no-store", "--otlp"]
    result = CliRunner().invoke(main, [*words, receiver.url], input=lines)
    assert (result.exit_code, sum(len(received(body)) for *_, body in receiver.got)) == (0, len(rows))
    receiver.refused = 1
    receiver.got.clear()
    refused = CliRunner().invoke(main, [*words, receiver.url], input=lines)
    assert sum(len(received(body)) for *_, body in receiver.got) == len(rows)
    assert f"the scores of {len(rows)} traces were not sent to {receiver.url}" in refused.stderr
    wrong = CliRunner().invoke(main, [*words, "localhost"], input=lines)
    assert (wrong.exit_code, "is no address of a receiver" in wrong.stderr) == (2, True)


def test_scores_do_not_wait_for_the_next_trace(receiver: Any, tmp_path: Path) -> None:
    """What comes while a request is under way is sent after it, though no further trace comes."""
    receiver.delay, sent = 0.5, 0
    line = json.dumps(ROWS[0]) + "\n"
    (tmp_path / "log.jsonl").write_text(line * 20)
    words = ["score", "--watch", str(tmp_path), "-m", "faithfulness", "-j", "lexical", "--no-store", "--otlp"]
    with subprocess.Popen([sys.executable, "-m", "ragauge", *words, receiver.url], stdout=subprocess.DEVNULL) as watch:
        until = time.monotonic() + 30
        while sent < 20 and time.monotonic() < until:
            time.sleep(0.1)
            sent = sum(len(received(body)) for *_, body in list(receiver.got))
        watch.kill()
    assert sent == 20


def test_the_last_scores_wait_for_a_receiver(receiver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more traces come than may wait while a receiver fails, the first are lost, not the last."""
    monkeypatch.setattr("ragauge.cli.live.MOST_WAITING", 2)
    receiver.delay, receiver.failures = 0.5, 1
    rows = [{**ROWS[0], "traceparent": f"00-{place:032x}-{SPAN}-01"} for place in range(1, 4)]
    words = ["score", "-", "-m", "faithfulness", "-j", "lexical", "--no-store", "--otlp", receiver.url]
    result = CliRunner().invoke(main, words, input="".join(json.dumps(row) + "\n" for row in rows))
    assert [record.trace_id[-1] for *_, body in receiver.got for record in received(body)] == [2, 3]
    assert "the scores of 1 trace were not sent" in result.stderr


def test_a_receiver_that_is_gone_loses_nothing(receiver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose receiver is gone is shown and kept, with exit code 1, and sent later by `ragauge log`."""
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    words = ["run", "rows.jsonl", "-m", "faithfulness", "-j", "lexical", "--otlp", "http://127.0.0.1:9"]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "faithfulness" in result.stdout) == (1, True)
    assert "the run is kept; log it later with: ragauge log" in result.stderr
    later = CliRunner().invoke(main, ["log", "latest", receiver.url])
    assert (later.exit_code, len(receiver.got)) == (0, 1)


def _answer_as_grpc(server: socket.socket) -> None:
    """Answer one request with settings of HTTP/2, as a receiver does at its port for gRPC."""
    connection, _ = server.accept()
    with connection, connection.makefile("rb") as request:
        headers = list(iter(request.readline, b"\r\n"))
        request.read(next(int(line.split()[1]) for line in headers if line.lower().startswith(b"content-length")))
        connection.sendall(bytes.fromhex("000012040000000000") + bytes(18))


def test_refused_events_are_an_error(receiver: Any) -> None:
    """What a receiver refuses is said with its reason, and so is a place where none listens, or one for gRPC."""
    run = rg.evaluate(ROWS, "faithfulness", "lexical")
    receiver.refused = 2
    with pytest.raises(UsageError, match=r"2 events were refused: too old"):
        run.emit(receiver.url)
    with pytest.raises(UsageError, match=r"0 events were sent, then it failed"):
        run.emit("http://127.0.0.1:9/v1/logs")
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=_answer_as_grpc, args=(server,), daemon=True).start()
        with pytest.raises(UsageError, match=r"0 events were sent, then it failed"):
            run.emit(f"http://127.0.0.1:{server.getsockname()[1]}")
    with pytest.raises(UsageError, match=r"no address of a receiver"):
        run.emit("localhost:4318")
