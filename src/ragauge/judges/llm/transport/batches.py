"""Files of requests and of results in the form of OpenAI's batches, which others have too, and of Anthropic's.

Source: the API references of OpenAI ("The request input object" and "The request output object" of "Batch") and
Anthropic ("Message Batches").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from ragauge.host import decoded
from ragauge.judges.llm.messages import Completion, Prompt
from ragauge.judges.llm.providers import LLMSpec, Protocol
from ragauge.judges.llm.transport import protocols
from ragauge.judges.llm.transport.client import PROTOCOLS
from ragauge.judges.llm.transport.protocols import ServerFeatures
from ragauge.judges.llm.transport.session import (
    Fault,
    ReplyError,
    fault_of,
    is_transient,
    read_fault,
    reason_of,
)
from ragauge.types import Failure

if TYPE_CHECKING:
    pass


T = TypeVar("T")

#: The endpoint that OpenAI's lines name, whatever server they go to.
URL = "/v1" + protocols.CHAT_PATH

_NOT_SENT = frozenset({"expired", "batch_expired", "canceled", "batch_cancelled"})
_ACCOUNT = frozenset({"unauthorized", "no_such_model", "quota"})
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
    outcome: Completion | Fault


def batch_body(spec: LLMSpec, prompt: Prompt, features: ServerFeatures) -> bytes:
    """The body of a request, the same as that of a live call."""
    return PROTOCOLS[spec.provider.protocol].body(prompt, spec.model, spec.options, features)


def request_line(protocol: Protocol, id: str, body: bytes) -> bytes:
    """The line of a request, without its end."""
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


_LINE = msgspec.json.Decoder(_ResultLine)


def read_result(line: bytes) -> BatchResult:
    """Read a line of results, of OpenAI's form or Anthropic's. Raises ValueError where it is neither."""
    found = decoded(line, _LINE)
    if found.result is not None:
        return BatchResult(found.custom_id, _outcome(found.result))
    if found.response is None and found.error is None:
        raise ValueError("it holds neither a response nor an error")
    if found.response is None or found.error is not None:
        return BatchResult(found.custom_id, fault_of(500, found.error))
    status, body = found.response.status_code, bytes(found.response.body)
    return BatchResult(found.custom_id, _completion("chat", body) if status == 200 else read_fault(status, body))


def _outcome(outcome: _LineOutcome) -> Completion | Fault:
    if outcome.type == "succeeded":
        return _completion("anthropic", bytes(outcome.message))
    if outcome.type != "errored":
        return Fault(500, f"the request has {outcome.type}", outcome.type)
    fault = fault_of(500, outcome.error)
    status = next((status for word, status in _STATUS.items() if word in fault.code), 500)
    return msgspec.structs.replace(fault, status=status)


def _completion(protocol: Protocol, body: bytes) -> Completion | Fault:
    try:
        return PROTOCOLS[protocol].read(body)
    except ReplyError as error:
        return Fault(500, error.detail, error.reason)


def failure_of(fault: Fault) -> Failure:
    """Why a request has no reply."""
    reason = "expired" if _was_not_sent(fault) else reason_of(fault)
    return Failure(reason, f"the batch says: {fault.message}" if fault.message else "the batch does not say why")


def may_pass(fault: Fault) -> bool:
    """Whether the same request may succeed in another batch, or from another account."""
    return _was_not_sent(fault) or is_transient(fault) or reason_of(fault) in _ACCOUNT


def _was_not_sent(fault: Fault) -> bool:
    """Whether the batch ended before the request was made."""
    return not _NOT_SENT.isdisjoint(fault.code.split())
