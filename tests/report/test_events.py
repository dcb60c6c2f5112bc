from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.judged import ROWS, measured

import ragauge as rg


def _events(run: rg.Run, folder: Path) -> list[dict[str, Any]]:
    """The events of a run, each with its attributes by name."""
    lines = run.save(folder / "out.otlp.jsonl").read_text(encoding="utf-8").splitlines()
    logs = [scope for line in lines for resource in json.loads(line)["resourceLogs"] for scope in resource["scopeLogs"]]
    events = [event for scope in logs for event in scope["logRecords"]]
    for event in events:
        event["attributes"] = {pair["key"]: next(iter(pair["value"].values())) for pair in event["attributes"]}
    return events


def test_one_event_for_each_score(run: rg.Run, tmp_path: Path) -> None:
    """Each score of each sample is an event with the name and attributes of the conventions and of the run."""
    events = _events(run, tmp_path)
    assert len(events) == 8
    assert {event["eventName"] for event in events} == {"gen_ai.evaluation.result"}
    assert events[2]["attributes"] == {
        "gen_ai.evaluation.name": "faithfulness",
        "gen_ai.evaluation.score.value": 1 / 3,
        "gen_ai.evaluation.explanation": rg.explain(run.scores[1]["faithfulness"]),
        "ragauge.run.id": run.id,
        "ragauge.sample.id": "bad",
    }


@pytest.fixture(scope="module")
def run() -> rg.Run:
    """Four samples and two metrics."""
    return measured()


def test_undefined_and_failed_scores_have_no_value(run: rg.Run, tmp_path: Path) -> None:
    """An undefined score has a label, a failed one the class of the error; neither has a value."""
    (silent,) = [
        event["attributes"]
        for event in _events(run, tmp_path)
        if event["attributes"]["ragauge.sample.id"] == "silent"
        and event["attributes"]["gen_ai.evaluation.name"] == "faithfulness"
    ]
    assert silent["gen_ai.evaluation.score.label"] == "undefined"
    assert silent["gen_ai.evaluation.explanation"] == "undefined: the response makes no claim"
    assert "gen_ai.evaluation.score.value" not in silent
    judge = rg.judge_from(decompose=lambda text: [text], entail=lambda premise, hypothesis: 1 / 0)
    failed = rg.evaluate(ROWS[:1], "faithfulness,composite(faithfulness=1)", judge)
    for event in _events(failed, tmp_path):
        assert event["attributes"]["error.type"] == "judge_error"
        assert "division by zero" in event["attributes"]["gen_ai.evaluation.explanation"]
        assert "gen_ai.evaluation.score.value" not in event["attributes"]


def test_events_belong_to_the_span_of_the_response(tmp_path: Path) -> None:
    """A traceparent in a sample's metadata sets the span of its events; the id of the response is an attribute."""
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    rows = [{**ROWS[0], "traceparent": parent, "response_id": "chatcmpl-7"}, {**ROWS[1], "traceparent": "nonsense"}]
    first, second = _events(measured(rows, "faithfulness"), tmp_path)
    assert (first["traceId"], first["spanId"]) == ("a" * 32, "b" * 16)
    assert first["attributes"]["gen_ai.response.id"] == "chatcmpl-7"
    assert "traceId" not in second
    assert "gen_ai.response.id" not in second["attributes"]


def test_many_events_are_several_requests(tmp_path: Path) -> None:
    """More events than a request holds all arrive."""
    rows = [{"id": str(n), "response": "a", "references": ["a"]} for n in range(1500)]
    assert len(_events(measured(rows, "exact_match,token_f1"), tmp_path)) == 3000
