from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.trace import TracerProvider
from tests.report.judged import ROWS, measured

import ragauge as rg


def _emitted(run: rg.Run, processor: Any = SimpleLogRecordProcessor) -> Sequence[Any]:
    """The records that the SDK exports for a run."""
    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(processor(exporter))
    number = run.emit(provider)
    records = [one.log_record for one in exporter.get_finished_logs()]
    provider.shutdown()
    assert len(records) == number
    return records


def test_one_event_for_each_score(run: rg.Run) -> None:
    """Each score of each sample is an event with the name and attributes of the conventions and of the run."""
    records = _emitted(run)
    assert len(records) == 8
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    assert dict(records[2].attributes) == {
        "gen_ai.evaluation.name": "faithfulness",
        "gen_ai.evaluation.score.value": 1 / 3,
        "gen_ai.evaluation.explanation": run_explanation(run),
        "ragauge.run.id": run.id,
        "ragauge.sample.id": "bad",
    }


def run_explanation(run: rg.Run) -> str:
    """The score of the second sample in words."""
    return rg.explain(run.scores[1]["faithfulness"])


@pytest.fixture(scope="module")
def run() -> rg.Run:
    """Four samples and two metrics."""
    return measured()


def test_undefined_and_failed_scores_have_no_value(run: rg.Run) -> None:
    """An undefined score has a label, a failed one the class of the error; neither has a value."""
    (silent,) = [
        dict(record.attributes)
        for record in _emitted(run)
        if record.attributes["ragauge.sample.id"] == "silent"
        and record.attributes["gen_ai.evaluation.name"] == "faithfulness"
    ]
    assert silent["gen_ai.evaluation.score.label"] == "undefined"
    assert silent["gen_ai.evaluation.explanation"] == "undefined: the response makes no claim"
    assert "gen_ai.evaluation.score.value" not in silent
    judge = rg.judge_from(decompose=lambda text: [text], entail=lambda premise, hypothesis: 1 / 0)
    failed = rg.evaluate(ROWS[:1], "faithfulness,composite(faithfulness=1)", judge)
    for record in _emitted(failed):
        assert record.attributes["error.type"] == "judge_error"
        assert "division by zero" in record.attributes["gen_ai.evaluation.explanation"]
        assert "gen_ai.evaluation.score.value" not in record.attributes


def test_events_belong_to_the_span_of_the_response() -> None:
    """A traceparent in a sample's metadata sets the span of its events; the id of the response is an attribute."""
    with TracerProvider(shutdown_on_exit=False).get_tracer("test").start_as_current_span("chat") as span:
        at = span.get_span_context()
    parent = f"00-{at.trace_id:032x}-{at.span_id:016x}-01"
    rows = [{**ROWS[0], "traceparent": parent, "response_id": "chatcmpl-7"}, {**ROWS[1], "traceparent": "nonsense"}]
    first, second = _emitted(measured(rows, "faithfulness"))
    assert (first.trace_id, first.span_id) == (at.trace_id, at.span_id)
    assert first.attributes["gen_ai.response.id"] == "chatcmpl-7"
    assert not second.trace_id
    assert "gen_ai.response.id" not in second.attributes


def test_a_batch_processor_drops_no_event() -> None:
    """More events than the queue of a batch processor holds all arrive."""
    rows = [{"id": str(n), "response": "a", "references": ["a"]} for n in range(1500)]
    run = measured(rows, "exact_match,token_f1")
    assert len(_emitted(run, BatchLogRecordProcessor)) == 3000


def test_a_provider_is_required(run: rg.Run) -> None:
    """Without a provider, given or of the process, an error says what to do."""
    assert not hasattr(_logs.get_logger_provider(), "force_flush")
    with pytest.raises(rg.errors.UsageError, match="no OpenTelemetry LoggerProvider is set; set one with"):
        run.emit()


def test_without_opentelemetry_the_extra_is_named() -> None:
    """If OpenTelemetry is not installed the error has the command that installs it; nothing else needs it."""
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import ragauge as rg\n"
        "run = rg.evaluate([{'response': 'a', 'references': ['a']}], 'exact_match')\n"
        "try: run.emit()\n"
        "except rg.errors.MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'ragauge[otel]'" in done.stdout
