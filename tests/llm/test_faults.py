from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.llm.transport.protocols import ServerFeatures, downgraded
from ragauge.judges.llm.transport.scheduler import retry_after
from ragauge.judges.llm.transport.session import Fault, call_failed, is_transient, read_fault, reason_of

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def _openai(message: str, code: str | None = None, type: str = "invalid_request_error", **more: Any) -> Any:
    return {"error": {"message": message, "type": type, "param": None, "code": code, **more}}


#: Error replies as they are reported in the providers' references and in public issues.
SEEN = [
    (401, _openai("Incorrect API key provided: sk-ab*yz.", "invalid_api_key"), "unauthorized"),
    (401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}, "unauthorized"),
    (400, [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}], "unauthorized"),
    (404, _openai("The model `x` does not exist", "model_not_found"), "no_such_model"),
    (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: x"}}, "no_such_model"),
    (429, _openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), "quota"),
    (400, {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}, "quota"),
    (402, _openai("Insufficient Balance"), "quota"),
    (429, _openai("Rate limit reached for gpt-4o", "rate_limit_exceeded", "tokens"), "rate_limited"),
    (429, [{"error": {"code": 429, "message": "You exceeded your current quota, please check your plan and billing "
      "details.", "status": "RESOURCE_EXHAUSTED"}}], "rate_limited"),
    (429, _openai("Request too large for gpt-4o on tokens per min (TPM)", "rate_limit_exceeded"), "too_long"),
    (400, _openai("This model's maximum context length is 8192 tokens.", "context_length_exceeded"), "too_long"),
    (400, {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}}, "too_long"),
    (400, {"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds"}}, "too_long"),
    (500, {"error": {"code": 500, "type": "exceed_context_size_error", "message": "the request exceeds"}}, "too_long"),
    (400, {"object": "error", "message": "This model's maximum context length is 9", "code": 400}, "too_long"),
    (413, {"type": "error", "error": {"type": "request_too_large", "message": "too large"}}, "too_long"),
    (400, _openai("filtered", "content_filter"), "content_filter"),
    (403, {"error": {"code": 403, "message": "requires moderation; your input was flagged"}}, "content_filter"),
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "server_error"),
    (503, "<html>no server is available</html>", "server_error"),
    (409, {"detail": "conflict"}, "server_error"),
    (422, {"detail": [{"loc": ["body"], "msg": "extra"}]}, "bad_request"),
    (400, {"error": "'messages' is required"}, "bad_request"),
    (307, "", "redirected"),
    (101, "", "server_error"),
    (204, "", "server_error"),
    (418, "<html>I am a teapot</html>", "server_error"),
    (451, "", "server_error"),
    (405, "", "bad_request"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "value", "reason"), SEEN)
def test_what_servers_say(status: int, value: Any, reason: str) -> None:
    """Error replies of OpenAI, Anthropic, Google, vLLM, llama.cpp, FastAPI and gateways are distinguished."""
    body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
    fault = read_fault(status, body)
    failed = call_failed(fault, "openai/m at host", "OPENAI_API_KEY")
    assert reason_of(fault) == failed.failure.reason == reason
    assert failed.fatal == (reason in ("unauthorized", "no_such_model", "quota", "redirected"))
    assert is_transient(fault) == (reason in ("rate_limited", "server_error"))
    assert f"HTTP {status}" in failed.failure.detail


def test_a_refused_key_is_not_quoted() -> None:
    """Servers repeat parts of a refused key; the message names the variable instead."""
    fault = read_fault(401, json.dumps(SEEN[0][1]).encode())
    detail = call_failed(fault, "openai/m", "OPENAI_API_KEY").failure.detail
    assert "sk-" not in detail
    assert "OPENAI_API_KEY" in detail


@given(st.integers(400, 599), st.binary(max_size=80) | st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["error", "message", "code", "type", "param", "detail"]), inner),
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_any_error_reply_is_read(status: int, body: bytes) -> None:
    """Whatever an error reply holds, it has a reason and a message."""
    fault = read_fault(status, body)
    assert reason_of(fault)
    assert fault.status == status


@pytest.mark.parametrize(
    ("status", "message", "parameter", "learned"),
    [
        (400, "Unsupported value: 'temperature' does not support 0 with this model.", "temperature",
         ServerFeatures(temperature=False)),
        (400, "`temperature` is deprecated for this model.", "", ServerFeatures(temperature=False)),
        (400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
         "instead.", "max_tokens", ServerFeatures(limit="max_completion_tokens")),
        (400, "This response_format type is unavailable now", "", ServerFeatures("json")),
        (400, "This model does not support response format `json_schema`.", "", ServerFeatures("json")),
        (400, "'response_format.type' must be 'json_schema' or 'text'", "", ServerFeatures("json")),
        (400, "output_config.format: Extra inputs are not permitted", "", ServerFeatures("json")),
        (422, "Failed to deserialize: response_format: unknown variant json_schema", "", ServerFeatures("json")),
        (500, "Unsupported response_format type: json_schema", "", ServerFeatures("json")),
        (400, "Invalid 'messages'", "messages", None),
        (404, "no json_schema here", "", None),
        (500, "Internal error", "", None),
    ],
)  # fmt: skip
def test_lessons(status: int, message: str, parameter: str, learned: ServerFeatures | None) -> None:
    """What a refusal names is left out or asked for in another way, as the providers word it."""
    assert downgraded(ServerFeatures(), Fault(status, message, "", parameter)) == learned


def test_lessons_come_to_an_end() -> None:
    """A server that refuses everything is asked in ever simpler forms, down to one that it teaches nothing more."""
    fault = Fault(400, "no temperature, max_tokens (use max_completion_tokens), response_format")
    forms, form = [], downgraded(ServerFeatures(), fault)
    while form is not None:
        forms.append(form)
        form = downgraded(form, fault)
    assert forms[-1] == ServerFeatures("plain", temperature=False, limit="max_completion_tokens")
    assert len(forms) == 4


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "7"}, b"", 7),
        ({"Retry-After": "0.5"}, b"", 0.5),
        ({"Retry-After": "Sat, 21 Nov 2026 12:00:30 GMT"}, b"", 30),
        ({"Retry-After": "Sat, 21 Nov 2026 11:00:00 GMT"}, b"", 0),
        ({"Retry-After": "7", "retry-after-ms": "250"}, b"", 0.25),
        ({"Retry-After": "soon"}, b"", None),
        ({"Retry-After": "1 s"}, b"", None),
        ({"Retry-After": ""}, b"", None),
        ({"Retry-After": "-1"}, b"", None),
        ({"Retry-After": "nan"}, b"", None),
        ({}, b'{"details": [{"retryDelay": "34.5s"}]}', 34.5),
        ({}, b"", None),
    ],
)
def test_what_a_server_asks_to_wait(headers: dict[str, str], body: bytes, seconds: float | None) -> None:
    """Waits are read from Retry-After in seconds or as a date, from retry-after-ms, and from Google's RetryInfo."""
    assert retry_after(headers, body, NOW) == seconds


@given(st.text(max_size=20))
def test_any_text_for_a_wait_is_survived(value: str) -> None:
    """Whatever the headers hold, a wait is None or a number of seconds from 0."""
    seconds = retry_after({"Retry-After": value}, value.encode(errors="replace"), NOW)
    assert seconds is None or seconds >= 0


_TIMES = ["Sat, 21 Nov 2026 12:00:30 GMT", "2026-11-21T14:00:30+02:00", "2m59.56s", "7.66"]


@given(st.sampled_from(_TIMES), st.integers(0, 29), st.integers(0, 3), st.text("0123456789:+-.smhZ ,", max_size=40))
def test_a_mutated_wait_is_survived(value: str, at: int, dropped: int, put: str) -> None:
    """However a wait is damaged on its way, it is None or a finite number of seconds from 0."""
    damaged = value[:at] + put + value[at + dropped :]
    delay = f'{{"retryDelay": "{damaged}s"}}'.encode()
    waits = (retry_after({"Retry-After": damaged}, b"", NOW), retry_after({}, delay, NOW))
    assert all(seconds is None or 0 <= seconds < float("inf") for seconds in waits)


def test_a_date_beyond_all_calendars_is_no_wait() -> None:
    """A date whose day or zone has too many digits for any calendar says nothing."""
    for value in ("Sat, 21 Nov 2026 12:00:30 +" + "9" * 30, "Sat, " + "2" * 30 + " Nov 2026 12:00:30 GMT"):
        assert retry_after({"Retry-After": value}, b"", NOW) is None
