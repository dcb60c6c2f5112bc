"""Scores as events of OpenTelemetry: through a provider, as a file for a collector, or sent to one.

Each is an event `gen_ai.evaluation.result` of the conventions for generative AI, and belongs to the span scored.
Files and requests are the JSON form of OTLP: https://opentelemetry.io/docs/specs/otlp/.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from ragauge.errors import UsageError
from ragauge.host import optional
from ragauge.report.explain import explain
from ragauge.scores import RunRecord, SampleRecord
from ragauge.types import Sample

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

NAME = "gen_ai.evaluation.result"

#: The events of a request, or between two flushes: a batch processor drops those that exceed its queue of 2048.
AT_ONCE = 500


def emit_events(run: RunRecord, samples: Iterable[SampleRecord], provider: LoggerProvider | None = None) -> int:
    """Emit the scores through a provider, or else that of the process; returns the number of events.

    Those of a sample that is a trace, or has a `traceparent`, belong to its span. Raises MissingExtra, UsageError.
    """
    what, extra = "emitting events", "otel"
    chosen = provider or optional(what, extra, "opentelemetry._logs").get_logger_provider()
    propagator = optional(what, extra, "opentelemetry.trace.propagation.tracecontext").TraceContextTextMapPropagator()
    if provider is None and not hasattr(chosen, "force_flush"):  # the default provider drops everything
        raise UsageError("no OpenTelemetry LoggerProvider is set; set one with set_logger_provider(), or give it")
    flush = getattr(chosen, "force_flush", lambda: None)
    logger = chosen.get_logger("ragauge", run.version)
    number = 0
    for record in samples:
        ids = _ids_of(record.sample)
        parent = f"00-{ids['traceId']}-{ids['spanId']}-01" if ids else ""
        context = propagator.extract({"traceparent": parent}) if ids else None
        for key in record.scores:
            attributes = _attributes(run, record, key)
            logger.emit(timestamp=_nanoseconds(run), context=context, event_name=NAME, attributes=attributes)
            number += 1
            if number % AT_ONCE == 0:
                flush()
    flush()
    return number


def write_otlp(run: RunRecord, samples: Iterable[SampleRecord], path: Path) -> None:
    """Write the scores as requests of the protocol, one a line, as a collector's file exporter does."""
    with path.open("w", encoding="utf-8") as file:
        for request, _ in _requests(run, samples):
            file.write(json.dumps(request, ensure_ascii=False) + "\n")


#: Seconds to wait for a receiver.
_TIMEOUT = 30


class RefusedEvents(UsageError):
    """A receiver took a request but refused events in it; the protocol forbids to send it again."""


def send_events(run: RunRecord, samples: Iterable[SampleRecord], url: str) -> int:
    """Send the scores to a receiver by OTLP over HTTP; returns their number.

    url: of the receiver, to which /v1/logs is added where it has no path. Headers are those of the variable
    OTEL_EXPORTER_OTLP_HEADERS. Raises UsageError where the receiver cannot be reached or refuses events.
    """
    address = receiver_address(url)
    pairs = (pair.partition("=") for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",") if pair)
    headers = {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}
    sent = 0
    for request, number in _requests(run, samples):
        body = json.dumps(request).encode()
        posted = Request(address, body, {"Content-Type": "application/json", **headers})  # http or https
        try:
            with urlopen(posted, timeout=_TIMEOUT) as response:
                reply = json.loads(response.read() or b"{}")
        except (OSError, HTTPException, ValueError) as error:
            raise UsageError(f"{address}: {sent} events were sent, then it failed: {error}; send them again") from None
        refused = reply.get("partialSuccess") or {}
        if int(refused.get("rejectedLogRecords") or 0):
            reason = refused.get("errorMessage") or "no reason given"
            raise RefusedEvents(f"{address}: {refused['rejectedLogRecords']} events were refused: {reason}")
        sent += number
    return sent


def receiver_address(url: str) -> str:
    """Where a receiver takes events; see `send_events`. Raises UsageError where it is no address."""
    place = urlsplit(url)
    if place.scheme not in ("http", "https") or not place.netloc:
        raise UsageError(f"{url!r} is no address of a receiver; give one such as http://localhost:4318")
    return url if place.path.strip("/") else f"{url.rstrip('/')}/v1/logs"


def _requests(run: RunRecord, samples: Iterable[SampleRecord]) -> Iterator[tuple[dict[str, Any], int]]:
    """Requests of the protocol, each with the number of its events."""
    time = str(_nanoseconds(run))
    events = (
        {
            "timeUnixNano": time,
            "observedTimeUnixNano": time,
            "eventName": NAME,
            "attributes": _pairs(_attributes(run, record, key)),
            **_ids_of(record.sample),
        }
        for record in samples
        for key in record.scores
    )
    scope = {"name": "ragauge", "version": run.version}
    resource = {"attributes": _pairs({"service.name": "ragauge"})}
    while batch := list(islice(events, AT_ONCE)):
        logs = {"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": batch}]}
        yield {"resourceLogs": [logs]}, len(batch)


def _nanoseconds(run: RunRecord) -> int:
    return int(datetime.fromisoformat(run.finished or run.started).timestamp() * 1e9)


def _pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes in the form of the protocol."""
    kinds = {float: "doubleValue", int: "doubleValue"}
    return [{"key": key, "value": {kinds.get(type(value), "stringValue"): value}} for key, value in attributes.items()]


#: W3C's `traceparent`, with the ids of a trace and a span.
_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


def _ids_of(sample: Sample) -> dict[str, str]:
    """The ids of the trace and the span that a sample was read from, or that its `traceparent` names."""
    parent = sample.metadata.get("traceparent")
    if isinstance(parent, str) and (match := _PARENT.fullmatch(parent.strip())):
        return {"traceId": match[1], "spanId": match[2]}
    trace, span = (str(sample.metadata.get(name)).removeprefix("0x") for name in ("trace_id", "span_id"))
    named = re.fullmatch("[0-9a-f]{32}", trace) and re.fullmatch("[0-9a-f]{16}", span)
    return {"traceId": trace, "spanId": span} if named else {}


def _attributes(run: RunRecord, record: SampleRecord, key: str) -> dict[str, Any]:
    score, better = record.score(key), run.estimates[key].better
    response_id = record.sample.metadata.get("response_id")
    # the conventions have `_OTHER` for a failure without a code
    error = next((failure.reason for failure in record.failures if failure.reason in (score.failed or "")), "_OTHER")
    attributes = {
        "gen_ai.evaluation.name": key,
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": "undefined" if score.undefined else None,
        "gen_ai.evaluation.explanation": explain(score, better, record.sample),
        "error.type": error if score.failed else None,
        "gen_ai.response.id": None if response_id is None else str(response_id),
        "ragauge.run.id": run.id or None,
        "ragauge.sample.id": record.sample.id,
    }
    return {name: value for name, value in attributes.items() if value is not None}
