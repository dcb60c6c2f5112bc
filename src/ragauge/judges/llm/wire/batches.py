"""The batch endpoints of OpenAI, which others have too, and of Anthropic.

Source: the API references of OpenAI ("Files", "Batch") and Anthropic ("Message Batches").
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from ragauge.errors import RagaugeError
from ragauge.judges.llm.calls import CallFailed
from ragauge.judges.llm.options import Asked
from ragauge.judges.llm.wire.batch_lines import URL
from ragauge.judges.llm.wire.client import HttpTransport, Reply
from ragauge.judges.llm.wire.faults import THROTTLED, passes, read_fault
from ragauge.judges.llm.wire.waits import retry_after

if TYPE_CHECKING:
    import aiohttp

#: How often a request that can do no harm is made, and seconds before the second time; then twice as many, and so on.
TRIES = 5
PAUSE = 0.5

#: Seconds for a connection, and for the next piece of a reply.
CONNECTING, READING = 30.0, 300.0

#: How far the clocks of a server and of this machine may differ.
_SKEW = timedelta(minutes=10)


class BatchFailed(RagaugeError):
    """A provider did not do with a batch what it was asked to; the message says why."""


class Progress(msgspec.Struct, frozen=True):
    """How far a batch is.

    status: as the provider calls it. done, failed: requests with a reply, and with an error. ended: nothing more will
    come. results: paths of what can be fetched. fault: why the batch as a whole failed.
    """

    id: str
    status: str
    done: int
    failed: int
    total: int
    ended: bool
    results: tuple[str, ...] = ()
    fault: str = ""


class Batches(ABC):
    """One model's batch endpoints; an asynchronous context manager. Methods raise BatchFailed.

    Whether `create` was heard cannot always be known: after it raised, `found` says which batches came of it.
    """

    def __init__(self, asked: Asked, environment: Mapping[str, str] = os.environ) -> None:
        self._transport = HttpTransport(asked.provider, asked.model, asked.options, environment)

    async def __aenter__(self) -> Batches:
        """Open the connection. Raises UsageError where the key or the address is missing; nothing is sent."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._transport.__aexit__(*exc)

    @abstractmethod
    async def upload(self, file: Path) -> str:
        """Bring a file of requests to the provider, and give its name there; "" where it goes with the batch."""

    @abstractmethod
    async def create(self, file: Path, upload: str) -> str:
        """Make a batch of a file, and give its id. It is paid for from then on."""

    @abstractmethod
    async def found(self, upload: str, since: str, requests: int) -> list[str]:
        """The ids of batches that may have been made of a file: of this upload, or since then with as many requests."""

    @abstractmethod
    async def progress(self, id: str) -> Progress:
        """How far a batch is."""

    async def download(self, progress: Progress, to: Path) -> None:
        """Write all results of a batch that ended into a file; it is there as a whole or not at all."""
        part = to.with_name(to.name + ".part")
        with part.open("wb") as file:
            for path in progress.results:
                await self._exchange("GET", path, into=file)
        part.replace(to)

    async def _json(
        self,
        method: str,
        path: str,
        data: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> Any:
        reply = await self._exchange(method, path, data, headers=headers, once=once)
        try:
            return msgspec.json.decode(reply.body)
        except msgspec.DecodeError as error:
            raise BatchFailed(f"{self._transport.name}: the reply to {method} {path} is no JSON: {error}") from error

    async def _exchange(
        self,
        method: str,
        path: str,
        data: Any = None,
        *,
        into: IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> Reply:
        """A reply with status 200; asked for again where that may help, unless `once` and it may have been heard."""
        for attempt in range(TRIES):
            try:
                reply = await self._attempt(method, path, data, into, headers)
            except _broken() as error:
                if once or attempt == TRIES - 1:
                    said = f"{self._transport.name}: {method} {path}: {type(error).__name__}: {error}"
                    raise BatchFailed(f"{said}; call again, what is done is not done twice") from error
                await asyncio.sleep(PAUSE * 2**attempt)
                continue
            if reply.status == 200:
                return reply
            fault = read_fault(reply.status, reply.body)
            if attempt == TRIES - 1 or not passes(fault) or (once and reply.status not in THROTTLED):
                raise self._failed(reply)
            await asyncio.sleep(retry_after(reply.headers, reply.body, datetime.now(UTC)) or PAUSE * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(
        self, method: str, path: str, data: Any, into: IO[bytes] | None, headers: Mapping[str, str] | None
    ) -> Reply:
        """One attempt; a good reply is written to `into`, in place of what an attempt before wrote there."""
        import aiohttp

        body = data() if callable(data) else data
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECTING, sock_read=READING)
        async with self._transport.request(method, path, data=body, headers=headers, timeout=timeout) as response:
            if into is None or response.status != 200:
                return Reply(response.status, response.headers, await response.read())
            start = into.tell()
            try:
                async for piece in response.content.iter_chunked(1 << 16):
                    into.write(piece)
            except BaseException:
                into.seek(start)
                into.truncate()
                raise
            return Reply(200, response.headers, b"")

    def _failed(self, reply: Reply) -> BatchFailed:
        failed: CallFailed = self._transport.failed(reply)
        return BatchFailed(f"{failed.failure}")


class OpenAIBatches(Batches):
    """A file is uploaded, and a batch made of it."""

    async def upload(self, file: Path) -> str:
        """Upload it, for the purpose "batch"."""
        found = await self._json("POST", "/files", lambda: _form(file), headers={"Content-Type": _FORM})
        return str(found["id"])

    async def create(self, file: Path, upload: str) -> str:
        """Make a batch of an upload."""
        asked = {"input_file_id": upload, "endpoint": URL, "completion_window": "24h"}
        found = await self._json("POST", "/batches", msgspec.json.encode(asked), once=True)
        return str(found["id"])

    async def found(self, upload: str, since: str, requests: int) -> list[str]:
        """Those of the latest hundred that have this upload as their input."""
        listed = await self._json("GET", "/batches?limit=100")
        return [str(one["id"]) for one in listed["data"] if one.get("input_file_id") == upload]

    async def progress(self, id: str) -> Progress:
        """Ended is what is completed, failed, expired or cancelled; the last two may have results as well."""
        batch = await self._json("GET", f"/batches/{id}")
        counts = batch.get("request_counts") or {}
        files = [batch.get("output_file_id"), batch.get("error_file_id")]
        ended = batch["status"] in ("completed", "failed", "expired", "cancelled")
        return Progress(
            id,
            batch["status"],
            counts.get("completed", 0),
            counts.get("failed", 0),
            counts.get("total", 0),
            ended,
            tuple(f"/files/{file}/content" for file in files if file),
            "; ".join(str(error.get("message")) for error in (batch.get("errors") or {}).get("data") or ()),
        )


class AnthropicBatches(Batches):
    """The requests go with the batch."""

    async def upload(self, file: Path) -> str:
        """Nothing is uploaded."""
        return ""

    async def create(self, file: Path, upload: str) -> str:
        """Make a batch of the lines of a file."""
        body = b'{"requests":[' + b",".join(file.read_bytes().splitlines()) + b"]}"
        return str((await self._json("POST", "/messages/batches", body, once=True))["id"])

    async def found(self, upload: str, since: str, requests: int) -> list[str]:
        """Those of the latest hundred that were made since then and have as many requests."""
        listed = await self._json("GET", "/messages/batches?limit=100")
        earliest = datetime.fromisoformat(since) - _SKEW
        return [
            str(one["id"])
            for one in listed["data"]
            if datetime.fromisoformat(one["created_at"]) >= earliest and sum(one["request_counts"].values()) == requests
        ]

    async def progress(self, id: str) -> Progress:
        """Its results name what expired or was cancelled too."""
        batch = await self._json("GET", f"/messages/batches/{id}")
        counts = batch["request_counts"]
        ended = batch["processing_status"] == "ended"
        total, done = sum(counts.values()), counts["succeeded"]
        failed = total - done - counts["processing"]
        results = (f"/messages/batches/{id}/results",) if ended else ()
        return Progress(id, batch["processing_status"], done, failed, total, ended, results)


def batches(asked: Asked, environment: Mapping[str, str] = os.environ) -> Batches:
    """The batch endpoints for a model."""
    kind = AnthropicBatches if asked.provider.protocol == "anthropic" else OpenAIBatches
    return kind(asked, environment)


#: Stands between the parts of an upload after the ends of two lines, which lines of JSON never have in a row.
_BOUNDARY = "ragauge-batch"
_FORM = f"multipart/form-data; boundary={_BOUNDARY}"


def _form(file: Path) -> aiohttp.MultipartWriter:
    """The parts of an upload; the file is read while it is sent."""
    import aiohttp

    form = aiohttp.MultipartWriter("form-data", boundary=_BOUNDARY)
    form.append("batch").set_content_disposition("form-data", name="purpose")
    part = form.append(file.open("rb"), {"Content-Type": "application/jsonl"})
    part.set_content_disposition("form-data", name="file", filename=file.name)
    return form


def _broken() -> tuple[type[Exception], ...]:
    import aiohttp

    return (aiohttp.ClientError, OSError, TimeoutError)
