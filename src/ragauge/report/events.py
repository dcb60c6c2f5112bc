"""A run as OpenTelemetry events: one `gen_ai.evaluation.result` for each score of each sample.

The event and its attributes (gen_ai.evaluation.name, .score.value, .score.label, .explanation, gen_ai.response.id and
error.type) follow OpenTelemetry's semantic conventions for generative AI, whose status is "development".
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragauge.errors import MissingExtra, UsageError
from ragauge.report.explain import explain
from ragauge.scores import RunRecord, SampleRecord

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

NAME = "gen_ai.evaluation.result"

#: The events between two flushes: a batch processor drops those that exceed its queue of 2048.
AT_ONCE = 500


def emit_events(run: RunRecord, samples: Iterable[SampleRecord], provider: LoggerProvider | None = None) -> int:
    """Emit the scores through a provider, or else the one that is set for the process.

    Events of a sample whose metadata have a `traceparent` (W3C) belong to that span, and have its `response_id`.

    Returns:
        The number of events.

    Raises:
        MissingExtra: OpenTelemetry is not installed.
        UsageError: No provider is set.
    """
    try:
        from opentelemetry._logs import get_logger_provider
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
    except ImportError:
        raise MissingExtra("emitting events", "otel") from None
    chosen = provider or get_logger_provider()
    if provider is None and not hasattr(chosen, "force_flush"):  # the default provider drops everything
        raise UsageError("no OpenTelemetry LoggerProvider is set; set one with set_logger_provider(), or give it")
    flush = getattr(chosen, "force_flush", lambda: None)
    logger = chosen.get_logger("ragauge", run.version)
    nanoseconds = int(datetime.fromisoformat(run.finished or run.started).timestamp() * 1e9)
    number = 0
    for record in samples:
        parent = record.sample.metadata.get("traceparent")
        context = TraceContextTextMapPropagator().extract({"traceparent": parent}) if isinstance(parent, str) else None
        for key in record.scores:
            attributes = _attributes(run, record, key)
            logger.emit(timestamp=nanoseconds, context=context, event_name=NAME, attributes=attributes)
            number += 1
            if number % AT_ONCE == 0:
                flush()
    flush()
    return number


def _attributes(run: RunRecord, record: SampleRecord, key: str) -> dict[str, Any]:
    score, better = record.score(key), run.estimates[key].better
    response_id = record.sample.metadata.get("response_id")
    # the conventions have `_OTHER` for a failure without a code
    error = next((one.reason for one in record.failures if one.reason in (score.failed or "")), "_OTHER")
    known = {
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": "undefined" if score.undefined else None,
        "error.type": error if score.failed else None,
        "gen_ai.response.id": None if response_id is None else str(response_id),
    }
    return {
        "gen_ai.evaluation.name": key,
        "gen_ai.evaluation.explanation": explain(score, better),
        **{name: value for name, value in known.items() if value is not None},
        "ragauge.run.id": run.id,
        "ragauge.sample.id": record.sample.id,
    }
