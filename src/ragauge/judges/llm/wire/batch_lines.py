"""What providers write about batches, and the lines of their files: requests, and results in any order.

Source: the API references of OpenAI ("Batch", "The request input object" and "The request output object") and
Anthropic ("Message Batches").
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec

from ragauge.judges.llm.calls import Completion, Prompt
from ragauge.judges.llm.options import Asked, Options
from ragauge.judges.llm.providers import Protocol
from ragauge.judges.llm.wire import anthropic, chat
from ragauge.judges.llm.wire.faults import Fault, Trouble, fault_of, passes, read_fault, reason_of
from ragauge.judges.llm.wire.form import Form
from ragauge.text.decoding import decoded
from ragauge.types import Failure

T = TypeVar("T")

#: The endpoint that OpenAI's lines name, whatever server they go to.
URL = "/v1" + chat.PATH

_UNASKED = frozenset({"expired", "batch_expired", "canceled", "batch_cancelled"})
_ACCOUNT = frozenset({"unauthorized", "no_such_model", "quota"})
_BODIES: dict[Protocol, Callable[[Prompt, str, Options, Form], bytes]] = {
    "chat": chat.body,
    "anthropic": anthropic.body,
}
_READERS: dict[Protocol, Callable[[bytes], Completion | Fault]] = {"chat": chat.read, "anthropic": anthropic.read}
_STATUS = {
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


class Limit(NamedTuple):
    """The most that one batch takes."""

    requests: int
    bytes: int


LIMITS: dict[Protocol, Limit] = {"chat": Limit(50_000, 200 * 10**6), "anthropic": Limit(100_000, 256 * 10**6)}


class Result(NamedTuple):
    """What came back for the request `id`."""

    id: str
    said: Completion | Fault


def body(asked: Asked, prompt: Prompt, form: Form) -> bytes:
    """The body of a request, the very one that a live call has."""
    return _BODIES[asked.provider.protocol](prompt, asked.model, asked.options, form)


def request_line(protocol: Protocol, id: str, body: bytes) -> bytes:
    """The line of a request, without its end."""
    if protocol == "anthropic":
        return _encode({"custom_id": id, "params": msgspec.Raw(body)})
    return _encode({"custom_id": id, "method": "POST", "url": URL, "body": msgspec.Raw(body)})


class Named(msgspec.Struct):
    """A file or batch that was made."""

    id: str


class Counts(msgspec.Struct):
    """How many requests of a batch have come how far, as OpenAI says it."""

    completed: int | None = None
    failed: int | None = None
    total: int | None = None


class BatchError(msgspec.Struct):
    """Why a batch failed as a whole."""

    message: str | None = None


class Listed(msgspec.Struct, Generic[T]):
    """A list of either provider."""

    data: list[T] | None = None


class Batch(msgspec.Struct):
    """What OpenAI says of a batch."""

    id: str
    status: str
    request_counts: Counts | None = None
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: Listed[BatchError] | None = None


class MessageBatch(msgspec.Struct):
    """What Anthropic says of a batch."""

    id: str
    processing_status: str
    request_counts: dict[str, int]
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]

    @property
    def total(self) -> int:
        """How many requests it has."""
        return sum(self.request_counts.values())


class _Response(msgspec.Struct):
    status_code: int = 200
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Outcome(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None
    result: _Outcome | None = None


_LINE = msgspec.json.Decoder(_Line)


def read_result(line: bytes) -> Result:
    """Read a line of results, of OpenAI's form or Anthropic's. Raises ValueError where it is neither."""
    found = decoded(line, _LINE)
    if found.result is not None:
        return Result(found.custom_id, _outcome(found.result))
    if found.response is None and found.error is None:
        raise ValueError("it holds neither a response nor an error")
    if found.response is None or found.error is not None:
        return Result(found.custom_id, fault_of(500, found.error))
    return Result(found.custom_id, _response(found.response))


def _response(response: _Response) -> Completion | Fault:
    said = bytes(response.body)
    return _completion("chat", said) if response.status_code == 200 else read_fault(response.status_code, said)


def _outcome(outcome: _Outcome) -> Completion | Fault:
    if outcome.type == "succeeded":
        return _completion("anthropic", bytes(outcome.message))
    if outcome.type != "errored":
        return Fault(500, f"the request has {outcome.type}", outcome.type)
    fault = fault_of(500, outcome.error)
    status = next((status for word, status in _STATUS.items() if word in fault.code), 500)
    return msgspec.structs.replace(fault, status=status)


def _completion(protocol: Protocol, said: bytes) -> Completion | Fault:
    try:
        return _READERS[protocol](said)
    except Trouble as trouble:
        return Fault(500, trouble.detail, trouble.reason)


def failure_of(fault: Fault) -> Failure:
    """Why a request has no reply."""
    reason = "expired" if _unasked(fault) else reason_of(fault)
    return Failure(reason, f"the batch says: {fault.message}" if fault.message else "the batch does not say why")


def may_pass(fault: Fault) -> bool:
    """Whether the fault is not the request's: the same may be answered in another batch, or from another account."""
    return _unasked(fault) or passes(fault) or reason_of(fault) in _ACCOUNT


def _unasked(fault: Fault) -> bool:
    """Whether the batch ended before the request was made."""
    return not _UNASKED.isdisjoint(fault.code.split())
