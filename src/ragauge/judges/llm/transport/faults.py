"""Faults: the error replies of servers, read from the various forms that providers give them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ragauge.judges.llm.messages import CallFailed
from ragauge.text.decoding import decoded
from ragauge.types import Failure


class Fault(msgspec.Struct, frozen=True):
    """An error reply. code: its code and type, as the server names them. parameter: the field it is about."""

    status: int
    message: str
    code: str = ""
    parameter: str = ""


class ReplyError(Exception):
    """An attempt that may be repeated.

    wait: seconds that the server asks to wait. throttled: whether the server gets too many calls.
    """

    def __init__(self, reason: str, detail: str, wait: float | None = None, *, throttled: bool = False) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.wait, self.throttled = reason, detail, wait, throttled


#: Statuses after which the same request may succeed, in addition to every status of 500 and more.
_TRANSIENT = frozenset({408, 409, 425, 429})
THROTTLED = frozenset({429, 503, 529})

_LENGTH_ERROR = re.compile(
    r"context_length|exceed_context|request_too_large|maximum context length|context (window|size|length)|"
    r"prompt is too long|input is too long|request too large|too many (input )?tokens",
    re.IGNORECASE,
)
_QUOTA_ERROR = re.compile(r"insufficient_(quota|balance)|billing_|credit balance is too low", re.IGNORECASE)
_FILTER_ERROR = re.compile(r"content_filter|content_policy|responsibleai|requires moderation|flagged", re.IGNORECASE)
_MODEL_ERROR = re.compile(r"model_not_found|model_not_exist|not_found_error|invalid_model", re.IGNORECASE)
_KEY_ERROR = re.compile(r"invalid_api_key|api_key_invalid|api key not valid|incorrect api key", re.IGNORECASE)

#: The reason of a reply that is longer than it may be.
TOO_LARGE = "reply_too_large"

_FATAL = frozenset({"unauthorized", "no_such_model", "quota", "redirected"})
_FIXES = {
    "unauthorized": "set {key} to a key that may use this model",
    "no_such_model": "check the model's name and the base URL",
    "quota": "the account has no credit left: add some, or use another",
    "too_long": "the prompt is longer than the model's window, or than the account's tokens per minute",
    "content_filter": "the provider's filter stopped it",
    "redirected": "set base_url to the address of the right server",
    "bad_request": "the server does not take this request",
}


_DECODER = msgspec.json.Decoder()


def read_fault(status: int, body: bytes) -> Fault:
    """Read an error reply: of OpenAI's form, Anthropic's, Google's, FastAPI's, or plain text."""
    try:
        error = decoded(body, _DECODER)
    except ValueError:
        return Fault(status, body[:500].decode(errors="replace").strip())
    return fault_of(status, error)


def fault_of(status: int, error: Any) -> Fault:
    """A Fault from a decoded error reply. One sent with status 200 has the status that it names, else 500."""
    inner = error[0] if isinstance(error, list) and error else error
    inner = (inner.get("error") or inner) if isinstance(inner, dict) else inner
    if not isinstance(inner, dict):
        return Fault(status, str(inner)[:500])
    code = inner.get("code")
    if status == 200:
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
    codes = " ".join(str(inner[key]) for key in ("code", "type", "status") if inner.get(key))
    message = inner.get("message") or inner.get("detail") or inner
    return Fault(status, str(message)[:500], codes, str(inner.get("param") or ""))


def reason_of(fault: Fault) -> str:
    """The reason for which there is no reply, as a short code."""
    text = f"{fault.code} {fault.message}"
    if 300 <= fault.status < 400:
        return "redirected"
    if fault.status == 413 or _LENGTH_ERROR.search(text):
        return "too_long"
    if fault.status == 402 or _QUOTA_ERROR.search(text):
        return "quota"
    if fault.status in (400, 403, 422) and _FILTER_ERROR.search(text):
        return "content_filter"
    if fault.status in (401, 403) or _KEY_ERROR.search(text):
        return "unauthorized"
    if fault.status in (404, 400) and (fault.status == 404 or _MODEL_ERROR.search(text)):
        return "no_such_model"
    if fault.status == 429:
        return "rate_limited"
    return "server_error" if fault.status >= 500 or fault.status in _TRANSIENT else "bad_request"


def is_transient(fault: Fault) -> bool:
    """Whether the same request may succeed later."""
    return reason_of(fault) in ("rate_limited", "server_error")


def call_failed(fault: Fault, server: str, key: str) -> CallFailed:
    """The exception for a fault that is not transient.

    A rejected key is not quoted: servers repeat parts of it.

    Args:
        fault: The error reply.
        server: Its name in messages.
        key: The environment variable of the key.
    """
    reason = reason_of(fault)
    problem = f"HTTP {fault.status}" + ("" if reason == "unauthorized" else f", {fault.message}")
    fix = _FIXES.get(reason, "try again later").format(key=key)
    return CallFailed(Failure(reason, f"{server}: {problem}; {fix}"), fatal=reason in _FATAL)
