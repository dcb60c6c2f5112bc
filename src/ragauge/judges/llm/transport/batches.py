"""The batch endpoints of OpenAI, which others have too, and of Anthropic.

Source: the API references of OpenAI ("Files", "Batch", "The request input object" and "The request output object") and
Anthropic ("Message Batches").
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from ragauge.errors import RagaugeError
from ragauge.host import LOG, decoded
from ragauge.judges.llm.messages import Completion
from ragauge.judges.llm.providers import LLMSpec, Protocol
from ragauge.judges.llm.transport import protocols
from ragauge.judges.llm.transport import session as http
from ragauge.judges.llm.transport.client import PROTOCOLS, HttpTransport
from ragauge.judges.llm.transport.scheduler import MAX_RETRY_AFTER, QUIET_WAIT, retry_after
from ragauge.types import Failure

if TYPE_CHECKING:
    import aiohttp


T = TypeVar("T")

#: The endpoint that OpenAI's lines name, whatever server they go to.
URL = "/v1" + protocols.CHAT_PATH

_NOT_SENT_CODES = frozenset({"expired", "batch_expired", "canceled", "batch_cancelled"})
_ACCOUNT_REASONS = frozenset({"unauthorized", "no_such_model", "quota"})
_STATUS_BY_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}

_encode = msgspec.json.Encoder().encode


class BatchLimit(NamedTuple):
    """The most that one batch takes."""

    requests: int
    bytes: int


LIMITS: dict[Protocol, BatchLimit] = {
    "chat": BatchLimit(50_000, 200 * 10**6),
    "anthropic": BatchLimit(100_000, 256 * 10**6),
}


class BatchResult(NamedTuple):
    """The result of the request `id`."""

    id: str
    outcome: Completion | http.Fault


def request_line(protocol: Protocol, id: str, body: bytes) -> bytes:
    """The line of a request, without its end. body: the same as that of a live call."""
    if protocol == "anthropic":
        return _encode({"custom_id": id, "params": msgspec.Raw(body)})
    return _encode({"custom_id": id, "method": "POST", "url": URL, "body": msgspec.Raw(body)})


class _LineResponse(msgspec.Struct):
    status_code: int = 200
    body: msgspec.Raw = msgspec.Raw(b"null")


class _LineOutcome(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


class _ResultLine(msgspec.Struct):
    custom_id: str
    response: _LineResponse | None = None
    error: Any = None
    result: _LineOutcome | None = None


_LINE, _OBJECT = msgspec.json.Decoder(_ResultLine), msgspec.json.Decoder(dict[str, Any])


def read_result(line: bytes) -> BatchResult:
    """Read a line of results, of OpenAI's form or Anthropic's. Raises ValueError where it is neither."""
    result_line = decoded(line, _LINE)
    if result_line.result is not None:
        return BatchResult(result_line.custom_id, _outcome(result_line.result))
    if result_line.response is None and result_line.error is None:
        raise ValueError("it holds neither a response nor an error")
    if result_line.response is None or result_line.error is not None:
        return BatchResult(result_line.custom_id, http.fault_of(500, result_line.error))
    status, body = result_line.response.status_code, bytes(result_line.response.body)
    return BatchResult(
        result_line.custom_id, _completion("chat", body) if status == 200 else http.read_fault(status, body)
    )


def _outcome(outcome: _LineOutcome) -> Completion | http.Fault:
    if outcome.type == "succeeded":
        return _completion("anthropic", bytes(outcome.message))
    if outcome.type != "errored":
        return http.Fault(500, f"the request has {outcome.type}", outcome.type)
    fault = http.fault_of(500, outcome.error)
    status = next((status for word, status in _STATUS_BY_TYPE.items() if word in fault.code), 500)
    return msgspec.structs.replace(fault, status=status)


def _completion(protocol: Protocol, body: bytes) -> Completion | http.Fault:
    try:
        return PROTOCOLS[protocol].read(body)
    except http.ReplyError as error:
        return http.Fault(500, error.detail, error.reason)


def failure_of(fault: http.Fault) -> Failure:
    """Why a request has no reply."""
    reason = "expired" if _was_not_sent(fault) else http.reason_of(fault)
    return Failure(reason, f"the batch says: {fault.message}" if fault.message else "the batch does not say why")


def may_pass(fault: http.Fault) -> bool:
    """Whether the same request may succeed in another batch, or from another account."""
    return _was_not_sent(fault) or http.is_transient(fault) or http.reason_of(fault) in _ACCOUNT_REASONS


def _was_not_sent(fault: http.Fault) -> bool:
    """Whether the batch ended before the request was made."""
    return not _NOT_SENT_CODES.isdisjoint(fault.code.split())


Headers = Mapping[str, str] | None

#: How often a request that is safe to repeat is made, and seconds before the second attempt; they double each time.
MAX_ATTEMPTS = 5
PAUSE_SECONDS = 0.5

#: Seconds for a connection, for the next piece of a reply, and for a whole exchange without a file and with one.
CONNECT_TIMEOUT, READ_TIMEOUT, TIMEOUT, TRANSFER_TIMEOUT = 30.0, 300.0, 300.0, 3600.0

#: Bytes of one file of results. A batch of the most requests that providers take stays far below it.
MAX_RESULT_BYTES = 4 * 10**9

#: How far the clocks of a server and of this machine may differ.
_MAX_CLOCK_SKEW = timedelta(minutes=10)


class BatchFailed(RagaugeError):
    """A request about a batch failed; the message says why."""


class BatchProgress(msgspec.Struct, frozen=True):
    """The progress of a batch.

    status: in the provider's words. done, failed: requests with a reply, and with an error. ended: there will be no
    further results. results: paths that can be downloaded. fault: why the batch as a whole failed.
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

    Whether `create` succeeded cannot always be known: after it raised, `find` gives the batches that it created.
    """

    def __init__(self, spec: LLMSpec, environment: Mapping[str, str] = os.environ) -> None:
        self._transport = HttpTransport(spec.provider, spec.model, spec.options, environment)

    async def __aenter__(self) -> Batches:
        """Open the connection. Raises UsageError where the key or the address is missing; nothing is sent."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._transport.__aexit__(*exc)

    @abstractmethod
    async def upload(self, file: Path) -> str:
        """Upload a file of requests, and give its id; "" where it is sent with the batch."""

    @abstractmethod
    async def create(self, file: Path, upload: str) -> str:
        """Create a batch of a file, and give its id. It is billed from then on."""

    @abstractmethod
    async def find(self, upload: str, since: str, requests: int) -> list[str]:
        """The ids of batches that may have been created from a file: of this upload, or since then with this size."""

    @abstractmethod
    async def progress(self, id: str) -> BatchProgress:
        """The progress of a batch."""

    async def download(self, progress: BatchProgress, to: Path) -> None:
        """Write all results of a batch that ended to a file, atomically."""
        part = to.with_name(to.name + ".part")
        with part.open("wb") as file:
            for path in progress.results:
                await self._exchange("GET", path, into=file)
        part.replace(to)

    async def _json(
        self,
        read: Callable[[dict[str, Any]], T],
        method: str,
        path: str,
        data: http.Body = None,
        *,
        headers: Headers = None,
        once: bool = False,
    ) -> T:
        """What is read of a reply with status 200, a JSON object."""
        reply = await self._exchange(method, path, data, headers=headers, once=once)
        try:
            return read(decoded(reply.body, _OBJECT))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            detail = f"{self._transport.name}: the reply to {method} {path} is not the JSON expected: {error}"
            raise BatchFailed(detail) from error

    async def _exchange(
        self,
        method: str,
        path: str,
        data: http.Body = None,
        *,
        into: IO[bytes] | None = None,
        headers: Headers = None,
        once: bool = False,
    ) -> http.Reply:
        """A reply with status 200; retried where that may help, unless `once` and the request may have been processed.

        A good reply is written to `into`, in place of what a previous attempt wrote there.
        """
        import aiohttp

        seconds = TRANSFER_TIMEOUT if into or callable(data) or len(data or b"") > http.LARGE_REPLY_BYTES else TIMEOUT
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_TIMEOUT, sock_read=READ_TIMEOUT)
        max_bytes = MAX_RESULT_BYTES if into else None
        for attempt in range(MAX_ATTEMPTS):
            last = attempt == MAX_ATTEMPTS - 1
            try:
                reply = await self._transport.session.exchange(
                    method, path, data, headers, into=into, max_bytes=max_bytes, timeout=timeout
                )
            except http.ReplyError as error:
                if once or last or error.reason == http.TOO_LARGE:
                    detail = f"{method} {path}: {error.detail}"
                    raise BatchFailed(f"{detail}; call again, what is done is not done twice") from error
                await asyncio.sleep(PAUSE_SECONDS * 2**attempt)
                continue
            if reply.status == 200:
                return reply
            repeatable = http.is_transient(http.read_fault(reply.status, reply.body))
            if last or not repeatable or (once and reply.status not in http.THROTTLED_STATUSES):
                raise BatchFailed(f"{self._transport.failed(reply)}")
            wait = retry_after(reply.headers, reply.body, datetime.now(UTC)) or PAUSE_SECONDS * 2**attempt
            if wait > MAX_RETRY_AFTER:
                raise BatchFailed(f"{self._transport.failed(reply)}; it asks to wait {wait:.0f} s: call again then")
            if wait > QUIET_WAIT:
                LOG.warning("waiting %.0f s for %s", wait, self._transport.name)
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


class _OpenAIBatches(Batches):
    """A file is uploaded, and a batch made of it."""

    async def upload(self, file: Path) -> str:
        return await self._json(_id, "POST", "/files", lambda: _form(file), headers={"Content-Type": _FORM})

    async def create(self, file: Path, upload: str) -> str:
        batch = {"input_file_id": upload, "endpoint": URL, "completion_window": "24h"}
        return await self._json(_id, "POST", "/batches", msgspec.json.encode(batch), once=True)

    async def find(self, upload: str, since: str, requests: int) -> list[str]:
        def read(listed: dict[str, Any]) -> list[str]:
            return [_id(batch) for batch in listed.get("data") or () if batch.get("input_file_id") == upload]

        return await self._json(read, "GET", "/batches?limit=100")

    async def progress(self, id: str) -> BatchProgress:
        def read(batch: dict[str, Any]) -> BatchProgress:
            counts, errors = batch.get("request_counts") or {}, (batch.get("errors") or {}).get("data") or ()
            files = [batch.get(name) for name in ("output_file_id", "error_file_id")]
            return BatchProgress(
                _id(batch),
                _text(batch, "status"),
                counts.get("completed") or 0,
                counts.get("failed") or 0,
                counts.get("total") or 0,
                batch["status"] in ("completed", "failed", "expired", "cancelled"),
                tuple(f"/files/{file}/content" for file in files if file),
                "; ".join(str(error.get("message")) for error in errors),
            )

        return await self._json(read, "GET", f"/batches/{id}")


class _AnthropicBatches(Batches):
    """The requests go with the batch."""

    async def upload(self, file: Path) -> str:
        return ""

    async def create(self, file: Path, upload: str) -> str:
        body = b'{"requests":[' + b",".join(file.read_bytes().splitlines()) + b"]}"
        return await self._json(_id, "POST", "/messages/batches", body, once=True)

    async def find(self, upload: str, since: str, requests: int) -> list[str]:
        earliest = datetime.fromisoformat(since) - _MAX_CLOCK_SKEW

        def read(listed: dict[str, Any]) -> list[str]:
            batches = [batch for batch in listed.get("data") or () if sum(batch["request_counts"].values()) == requests]
            return [_id(batch) for batch in batches if datetime.fromisoformat(batch["created_at"]) >= earliest]

        return await self._json(read, "GET", "/messages/batches?limit=100")

    async def progress(self, id: str) -> BatchProgress:
        def read(batch: dict[str, Any]) -> BatchProgress:
            counts, status = batch["request_counts"], _text(batch, "processing_status")
            done, total = counts.get("succeeded", 0), sum(counts.values())
            failed = total - done - counts.get("processing", 0)
            results = (f"/messages/batches/{id}/results",) if status == "ended" else ()
            return BatchProgress(_id(batch), status, done, failed, total, status == "ended", results)

        return await self._json(read, "GET", f"/messages/batches/{id}")


def _id(created: dict[str, Any]) -> str:
    return _text(created, "id")


def _text(reply: dict[str, Any], name: str) -> str:
    if not isinstance(reply[name], str):
        raise TypeError(f"{name} is no text")
    return str(reply[name])


def batches(spec: LLMSpec, environment: Mapping[str, str] = os.environ) -> Batches:
    """The batch endpoints for a model."""
    return (_AnthropicBatches if spec.provider.protocol == "anthropic" else _OpenAIBatches)(spec, environment)


#: Cannot occur in the parts: it follows two line ends, which files of JSON lines never contain.
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
