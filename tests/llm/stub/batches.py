"""The batch endpoints of OpenAI (files and batches) and Anthropic (message batches), held in memory."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from tests.llm.stub import chat, messages
from tests.llm.stub.mind import Mind
from tests.llm.stub.transmission import Reply

_ENCODER = msgspec.json.Encoder()
_KEYS = {"anthropic-version": "2023-06-01"}


class Batch(msgspec.Struct):
    """A batch. lines: custom id and body of each call. done: when its results may be fetched."""

    id: str
    lines: list[tuple[str, bytes]]
    done: float
    input: str = ""
    created: str = msgspec.field(default_factory=lambda: datetime.now(UTC).isoformat())
    results: list[tuple[str, Reply]] | None = None
    cancelled: bool = False

    @property
    def ended(self) -> bool:
        """Whether its time is over."""
        return self.cancelled or time.monotonic() >= self.done

    def run(self, mind: Mind, protocol: Any, headers: dict[str, str]) -> list[tuple[str, Reply]]:
        """Results, last line first: servers promise no order."""
        if self.results is None:
            lines = [] if self.cancelled else self.lines
            self.results = [(name, _counted(mind, protocol, body, headers)) for name, body in lines][::-1]
        return self.results


def _counted(mind: Mind, protocol: Any, body: bytes, headers: dict[str, str]) -> Reply:
    mind.tally.arrived("batch", len(body))
    reply = mind.answer(protocol, body, headers)
    mind.tally.left(reply.status)
    return reply


class Batches:
    """Files and batches of one stub."""

    def __init__(self, mind: Mind, seconds: float) -> None:
        self._mind = mind
        self._seconds = seconds
        self._files: dict[str, tuple[str, bytes]] = {}
        self._batches: dict[str, Batch] = {}

    def upload(self, name: str, data: bytes) -> dict[str, Any]:
        """Keep a file; OpenAI's object of it."""
        key = f"file-{len(self._files) + 1}"
        self._files[key] = (name, data)
        size = {"bytes": len(data), "created_at": _now()}
        return {"id": key, "object": "file", **size, "filename": name, "purpose": "batch"}

    def content(self, key: str) -> bytes | None:
        """A file's content."""
        return self._files[key][1] if key in self._files else None

    def create(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Start a batch of a file's lines; None where there is no such file."""
        data = self.content(request["input_file_id"])
        if data is None:
            return None
        rows = [msgspec.json.decode(line) for line in data.splitlines() if line.strip()]
        batch = self._add("batch", ((row["custom_id"], _ENCODER.encode(row["body"])) for row in rows))
        batch.input = request["input_file_id"]
        return self.openai(batch.id)

    def create_messages(self, request: dict[str, Any]) -> dict[str, Any]:
        """Start a batch of messages."""
        rows = request["requests"]
        batch = self._add("msgbatch", ((row["custom_id"], _ENCODER.encode(row["params"])) for row in rows))
        return self.anthropic(batch.id) or {}

    def _add(self, sort: str, lines: Iterable[tuple[str, bytes]]) -> Batch:
        batch = Batch(f"{sort}_{len(self._batches) + 1}", list(lines), time.monotonic() + self._seconds)
        self._batches[batch.id] = batch
        return batch

    def cancel(self, key: str) -> None:
        """Stop a batch that has not ended."""
        if key in self._batches and not self._batches[key].ended:
            self._batches[key].cancelled = True

    def openai(self, key: str) -> dict[str, Any] | None:
        """OpenAI's object of a batch; its files are written when its time is over."""
        batch = self._batches.get(key)
        if batch is None:
            return None
        results = batch.run(self._mind, chat, {}) if batch.ended else []
        good = [result for result in results if result[1].status == 200 and result[1].fault != "expired"]
        status = "cancelled" if batch.cancelled else "completed" if batch.ended else "in_progress"
        return {
            "id": key,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": None,
            "input_file_id": batch.input,
            "completion_window": "24h",
            "status": status,
            "output_file_id": self._written(f"{key}-output", good),
            "error_file_id": self._written(f"{key}-errors", [result for result in results if result not in good]),
            "created_at": _now(),
            "request_counts": {"total": len(batch.lines), "completed": len(good), "failed": len(results) - len(good)},
        }

    def listed(self, *, anthropic: bool) -> dict[str, Any]:
        """A list of all batches of one protocol, the newest first."""
        describe = self.anthropic if anthropic else self.openai
        return {"data": [describe(key) for key in reversed(self._batches) if key.startswith("msg") == anthropic]}

    def _written(self, key: str, results: list[tuple[str, Reply]]) -> str | None:
        if not results:
            return None
        self._files[key] = (key, b"\n".join(_ENCODER.encode(_line(name, reply)) for name, reply in results) + b"\n")
        return key

    def anthropic(self, key: str) -> dict[str, Any] | None:
        """Anthropic's object of a batch."""
        batch = self._batches.get(key)
        if batch is None:
            return None
        sorts = [_sort(reply) for _, reply in batch.run(self._mind, messages, _KEYS)] if batch.ended else []
        counts = {sort: sorts.count(sort) for sort in ("succeeded", "errored", "expired")}
        waiting = 0 if batch.ended else len(batch.lines)
        return {
            "id": key,
            "type": "message_batch",
            "created_at": batch.created,
            "processing_status": "ended" if batch.ended else "in_progress",
            "request_counts": {"processing": waiting, "canceled": len(batch.lines) * batch.cancelled, **counts},
            "results_url": f"/v1/messages/batches/{key}/results" if batch.ended else None,
        }

    def results(self, key: str) -> bytes | None:
        """Anthropic's results of a batch that has ended, as JSONL."""
        batch = self._batches.get(key)
        if batch is None or not batch.ended:
            return None
        found = batch.run(self._mind, messages, _KEYS)
        lines = [{"custom_id": name, "result": _result(reply)} for name, reply in found]
        lines += [{"custom_id": name, "result": {"type": "canceled"}} for name, _ in batch.lines if batch.cancelled]
        return b"\n".join(map(_ENCODER.encode, lines)) + b"\n"


def _now() -> int:
    return int(time.time())


def _line(name: str, reply: Reply) -> dict[str, Any]:
    if reply.fault == "expired":
        error = {"code": "batch_expired", "message": "This request could not be executed before the batch expired."}
        return {"id": f"batch_req_{name}", "custom_id": name, "response": None, "error": error}
    body = _body(reply)
    response = {"status_code": reply.status, "request_id": f"req_{name}", "body": body}
    return {"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": None}


def _body(reply: Reply) -> Any:
    """The decoded body of a reply; empty where it is damaged, for a file of results holds JSON alone."""
    try:
        return msgspec.json.decode(reply.body)
    except (ValueError, RecursionError):
        return {}


def _sort(reply: Reply) -> str:
    return "expired" if reply.fault == "expired" else "succeeded" if reply.status == 200 else "errored"


def _result(reply: Reply) -> dict[str, Any]:
    sort = _sort(reply)
    if sort == "expired":
        return {"type": sort}
    body = _body(reply)
    return {"type": sort, "message" if sort == "succeeded" else "error": body}
