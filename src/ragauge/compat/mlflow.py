"""MLflow: metrics as its scorers, runs in its experiments, its traces and feedback as data; docs/trackers.md.

MLflow is asked to send no telemetry, unless its own variables are set.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import ragauge as rg
from ragauge.compat.tracking import MOST_CLAIMS, Feedback, TrackerError, identities, numbers, parameters, tracked_name
from ragauge.errors import BadData, UsageError
from ragauge.host import optional
from ragauge.metrics.registry import select_metrics
from ragauge.readers import read
from ragauge.readers.formats import Source
from ragauge.report.files import claims
from ragauge.scores import Score
from ragauge.types import Sample

#: What MLflow's client does unless its variables say otherwise: no telemetry, and an answer within a minute.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}


def check_installed(*parts: str) -> Any:
    """The library, with parts of it. Raises MissingExtra where it is not installed."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    return optional("ragauge.compat.mlflow", "mlflow", "mlflow", *parts)


def scorers(metrics: Any, judge: Any = "embedded", store: Any = None, **options: Any) -> list[Any]:
    """Metrics as scorers for `mlflow.genai.evaluate`, which share judgments and calls.

        mlflow.genai.evaluate(data=rows, scorers=scorers("faithfulness,correctness", judge="openai/gpt-4o-mini"))

    A scorer returns a `Feedback` with the value, the evidence in words as its rationale, and the judge as its source; a
    score without a value is an error that says why. Contexts are from the columns of the inputs, or from the retrievers
    in the trace.

    Args:
        metrics: as for `rg.evaluate`; one scorer is returned for each of their values.
        judge, store, options: as for `rg.evaluate`.

    Raises:
        MissingExtra: MLflow is not installed.
        UsageError: a metric or judge is unknown.
    """
    make = check_installed("mlflow.genai").genai.scorers.scorer
    measures = select_metrics(metrics)
    names = {
        f"{measure.spec}{key[len(measure.key) :]}": tracked_name(key) for measure in measures for key in measure.values
    }
    shared = rg.Scorer(names, judge, store, **options)
    return [make(partial(_feedback, shared, value, name), name=name) for value, name in names.items()]


def _feedback(
    shared: rg.Scorer,
    value: str,
    name: str,
    *,
    inputs: Any = None,
    outputs: Any = None,
    expectations: Any = None,
    trace: Any = None,
) -> Any:
    try:
        scores = shared.score(value, sample_of(inputs, outputs, expectations, trace))
    except UsageError as error:
        return _assessment(name, Score(failed=str(error)), str(error), "")
    key = shared.values[value][1]
    return _assessment(name, scores[key], scores.explain(key), identities(shared.router.judges))


def sample_of(inputs: Any, outputs: Any, expectations: Any, trace: Any = None) -> Sample:
    """The sample of a row of MLflow; what its columns lack is from the trace, such as the retrieved documents."""
    row = {"inputs": inputs, "outputs": outputs, "expectations": expectations or None}
    (sample,) = read([{name: value for name, value in row.items() if value is not None}])
    if trace is None:
        return sample
    try:
        (traced,) = read([trace_row(trace)])
    except BadData:  # a trace without texts
        return sample
    lacking = [name for name in Sample.__struct_fields__ if getattr(sample, name) is None]
    return msgspec.structs.replace(sample, **{name: getattr(traced, name) for name in lacking})


def _assessment(name: str, score: Score, rationale: str, judges: str) -> Any:
    entities = check_installed("mlflow.entities").entities
    is_judged = any(piece.judgment for piece in score.evidence)
    source = entities.AssessmentSource("LLM_JUDGE" if is_judged else "CODE", f"ragauge {judges}".strip())
    code = "UNDEFINED" if score.undefined else "FAILED"
    reason = score.undefined or score.failed
    error = entities.AssessmentError(code, reason) if reason else None
    pieces = [{"text": piece.text, "label": piece.label, "value": piece.value} for piece in score.evidence]
    texts = {
        "evidence": msgspec.json.encode(pieces).decode(),
        "judgments": ",".join(piece.judgment for piece in score.evidence if piece.judgment),
        "counts": ",".join(f"{count:g}" for count in score.counts),
    }
    metadata = {f"ragauge.{key}": text for key, text in texts.items() if text not in ("", "[]")}
    return entities.Feedback(
        name=name, value=score.value, error=error, source=source, rationale=rationale, metadata=metadata
    )


def trace_row(trace: Any) -> dict[str, Any]:
    """A trace as a row that `rg.read` reads."""
    document = trace.to_dict()
    return {
        "trace_id": trace.info.trace_id,
        "request_time": document["info"].get("request_time"),
        "request": _plain(trace.data.request),
        "response": _plain(trace.data.response),
        "spans": document["data"]["spans"],
    }


def _plain(text: Any) -> Any:
    """What MLflow has written as JSON."""
    with suppress(ValueError, TypeError):
        return json.loads(text)
    return text


class Traces(NamedTuple):
    """The traces of an experiment, as data for `rg.evaluate`, and what people said about them."""

    data: Source
    feedback: list[Feedback]


def traces(experiment: str) -> Traces:
    """Read the traces of an experiment from the tracking server that MLFLOW_TRACKING_URI names.

    What people have said is a column `feedback.NAME`; their expectations are references. Raises MissingExtra, BadData,
    and TrackerError where the server cannot be reached.
    """
    place = f"mlflow:{experiment}"
    with _reached(place):
        client = check_installed().MlflowClient()
        stored = client.get_experiment_by_name(experiment)
        if stored is None:
            names = ", ".join(other.name for other in client.search_experiments(max_results=20))
            raise BadData(f"{place}: there is no such experiment; there are {names}")
        read_traces = check_installed().search_traces(locations=[stored.experiment_id], return_type="list")
    if not read_traces:
        raise BadData(f"{place}: the experiment has no traces; log some, or name another")
    rows, feedback = [], []
    for trace in read_traces:
        remarks = list(_feedback_of(trace))
        expected = [said.value for said in remarks if said.is_expectation and said.name.startswith("expected")]
        columns = {f"feedback.{said.name}": said.value for said in remarks if not said.is_expectation}
        rows.append({**trace_row(trace), **({"references": expected} if expected else {}), **columns})
        feedback += remarks
    return Traces(Source(place, partial(iter, rows)), feedback)


def _feedback_of(trace: Any) -> Iterator[Feedback]:
    for said in trace.info.assessments or ():
        if said.source.source_type == "HUMAN" and said.valid is not False:
            expected = said.expectation is not None
            value = said.expectation.value if expected else said.feedback.value
            yield Feedback(trace.info.trace_id, said.name, value, said.source.source_id or "somebody", expected)


def log_run(run: rg.Run, experiment: str) -> str:
    """Log a run to an experiment of the tracking server that MLFLOW_TRACKING_URI names.

    Each estimate is a metric with its ends `.low` and `.high` and its numbers `.n`, `.undefined` and `.failed`; a
    number that does not exist is left out. The judges and metrics are parameters; the report, `report.html`, and the
    table of claims, `claims.json`, are artifacts. Scores of samples that are traces of that server are its feedback.

    Returns:
        The id of MLflow's run.

    Raises:
        MissingExtra: MLflow is not installed.
        TrackerError: the server cannot be reached or refuses it.
    """
    with _reached(f"mlflow:{experiment}"):
        client = check_installed().MlflowClient()
        stored = client.get_experiment_by_name(experiment)
        place = stored.experiment_id if stored else client.create_experiment(experiment)
        started, ended = (_milliseconds(moment) for moment in (run.record.started, run.record.finished))
        logged = client.create_run(place, started, {"ragauge.run": run.id}, run_name=run.record.name or run.id)
        id = logged.info.run_id
        _log(client, id, run)
        client.set_terminated(id, "FINISHED" if run.record.status == "finished" else "FAILED", ended)
    return str(id)


def _log(client: Any, id: str, run: rg.Run) -> None:
    entities = check_installed("mlflow.entities").entities
    moment = _milliseconds(run.record.finished) or 0
    metrics = [entities.Metric(key, value, moment, 0) for key, value in numbers(run.record).items()]
    texts = [entities.Param(key, value[:6000]) for key, value in parameters(run.record).items()]
    client.log_batch(id, metrics, texts[:100])
    with tempfile.TemporaryDirectory() as folder:
        client.log_artifact(id, str(run.save(Path(folder) / "report.html")))
    rows = list(islice(claims(run.records()), MOST_CLAIMS))
    if rows:
        client.log_table(id, {key: [row[key] for row in rows] for key in rows[0]}, "claims.json")
    mlflow, judges = check_installed(), identities(run.record.judges)
    for record in run.records():
        trace = str(record.sample.metadata.get("trace_id"))
        if not trace.startswith("tr-"):
            continue
        for key in record.scores:
            score = record.score(key)
            why = rg.explain(score, run.estimates[key].better, record.sample)
            mlflow.log_assessment(trace_id=trace, assessment=_assessment(tracked_name(key), score, why, judges))


def _milliseconds(moment: str) -> int | None:
    return int(datetime.fromisoformat(moment).timestamp() * 1000) if moment else None


@contextmanager
def _reached(place: str) -> Iterator[None]:
    """Raise the errors of the client as TrackerErrors."""
    exceptions = check_installed().exceptions
    try:
        yield
    except (exceptions.MlflowException, OSError) as error:
        raise TrackerError(place, error) from error
