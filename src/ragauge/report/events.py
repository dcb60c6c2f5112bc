"""A run as OpenTelemetry events: one `gen_ai.evaluation.result` for each score of each sample.

After the semantic conventions for generative AI, whose status is "development": the event's attributes are
gen_ai.evaluation.name, .score.value, .score.label, .explanation, gen_ai.response.id and error.type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragauge.errors import MissingExtra, UsageError
from ragauge.report.explain import explain
from ragauge.scores import RunRecord, SampleRecord

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import Context

NAME = "gen_ai.evaluation.result"

#: How many events are handed over before they are sent: a batch processor drops what is beyond its queue of 2048.
AT_ONCE = 500


def emit_events(run: RunRecord, samples: Iterable[SampleRecord], provider: LoggerProvider | None = None) -> int:
    """Hand the scores over to the provider, or else the one that is set for the process; gives how many there were.

    A sample whose metadata have a `traceparent` (W3C) puts its events into that span, and its `response_id` is added.
    Raises MissingExtra where OpenTelemetry is not installed, UsageError where no provider is set.
    """
    chosen = provider or _provider_of_process()
    flush = getattr(chosen, "force_flush", lambda: None)
    logger = chosen.get_logger("ragauge", run.version)
    number = 0
    for number, (context, attributes) in enumerate(_events(run, samples), start=1):
        logger.emit(timestamp=_time(run), context=context, event_name=NAME, attributes=attributes)
        if number % AT_ONCE == 0:
            flush()
    flush()
    return number


def _provider_of_process() -> LoggerProvider:
    try:
        from opentelemetry._logs import get_logger_provider
    except ImportError:
        raise MissingExtra("emitting events", "otel") from None
    provider = get_logger_provider()
    if not hasattr(provider, "force_flush"):  # neither the one for want of any nor one that drops all can send
        raise UsageError("no OpenTelemetry LoggerProvider is set; set one with set_logger_provider(), or give it")
    return provider


def _events(run: RunRecord, samples: Iterable[SampleRecord]) -> Iterator[tuple[Context | None, dict[str, Any]]]:
    for record in samples:
        context = _context(record.sample.metadata.get("traceparent"))
        for key in record.scores:
            yield context, _attributes(run, record, key)


def _attributes(run: RunRecord, record: SampleRecord, key: str) -> dict[str, Any]:
    score, better = record.score(key), run.estimates[key].better
    known = {
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": "undefined" if score.undefined else None,
        "error.type": _error(record, score.failed) if score.failed else None,
        "gen_ai.response.id": _text(record.sample.metadata.get("response_id")),
    }
    return {
        "gen_ai.evaluation.name": key,
        "gen_ai.evaluation.explanation": explain(score, better),
        **{name: value for name, value in known.items() if value is not None},
        "ragauge.run.id": run.id,
        "ragauge.sample.id": record.sample.id,
    }


def _context(traceparent: Any) -> Context | None:
    """The span that a sample's response came from; None where it names none."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    if not isinstance(traceparent, str):
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})


def _error(record: SampleRecord, failed: str) -> str:
    """The short code of what a score failed for; `_OTHER`, as the conventions have it, where there is none."""
    return next((one.reason for one in record.failures if one.reason in failed), "_OTHER")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _time(run: RunRecord) -> int:
    """When the run ended, in nanoseconds since 1970."""
    return int(datetime.fromisoformat(run.finished or run.started).timestamp() * 1e9)
