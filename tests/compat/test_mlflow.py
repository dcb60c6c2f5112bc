"""MLflow, with a real tracking server on SQLite: scorers, runs, traces and feedback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.cli import main
from ragauge.store import Store

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
mlflow = pytest.importorskip("mlflow", reason="the tracker is an extra")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]

ROWS: list[dict[str, Any]] = [
    {
        "inputs": {"query": f"Who wrote book {n}?", "contexts": [f"Ada wrote book {n} in 19{n}0.", "It is blue."]},
        "outputs": f"Ada wrote book {n}. {'Bob' if n % 2 else 'Ada'} wrote book {n} too.",
        "expectations": {"expected_response": f"Ada wrote book {n}."},
    }
    for n in range(1, 5)
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a tracking server."""
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ("--backend-store-uri", "sqlite:///m.db", "--artifacts-destination", "artifacts", "--workers", "1")
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), *where]
    with (folder / "log").open("w") as log:
        child = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    address, end = f"http://127.0.0.1:{port}", time.monotonic() + 240
    while time.monotonic() < end:
        try:
            urlopen(f"{address}/health", timeout=5).close()
            break
        except (URLError, OSError):
            assert child.poll() is None, (folder / "log").read_text()
            time.sleep(0.5)
    yield address
    os.killpg(child.pid, 15)
    child.wait(timeout=60)


@pytest.fixture
def tracked(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the server, which MLflow uses during the test; the working directory is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    mlflow.set_tracking_uri(server)
    yield server
    mlflow.set_tracking_uri(None)


def call(*arguments: object) -> Result:
    """Run a command."""
    result = CliRunner().invoke(main, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def answered(question: str, response: str, retrieved: str) -> str:
    """Trace an answer as an application does; the id of the trace."""

    @mlflow.trace(span_type="RETRIEVER")  # type: ignore[untyped-decorator,unused-ignore]
    def retrieve(query: str) -> list[Any]:
        return [mlflow.entities.Document(retrieved, id="d1")]

    @mlflow.trace  # type: ignore[untyped-decorator,unused-ignore]
    def answer(query: str) -> str:
        retrieve(query)
        return response

    answer(question)
    id = mlflow.get_last_active_trace_id()
    mlflow.flush_trace_async_logging()
    return str(id)


def test_scorers_give_the_numbers_of_evaluate(tracked: str) -> None:
    """MLflow's mean of each metric is that of `evaluate`, and its feedback says by whom and why."""
    from ragauge.compat.mlflow import scorers

    mlflow.set_experiment("scorers")
    metrics = "faithfulness,correctness,rouge(types=rougeL)"
    result = mlflow.genai.evaluate(data=ROWS, scorers=scorers(metrics))
    rows = [{**row["inputs"], "response": row["outputs"], "references": row["expectations"]} for row in ROWS]
    run = rg.evaluate([{**row, "references": row["references"]["expected_response"]} for row in rows], metrics)
    for key, estimate in run.estimates.items():
        assert result.metrics[f"{key}/mean"] == pytest.approx(estimate.value)
    (trace, *_) = mlflow.search_traces(return_type="list")
    said = {one.name: one for one in trace.info.assessments if one.source.source_type != "HUMAN"}
    faithful = said["faithfulness"]
    assert (faithful.source.source_type, faithful.source.source_id) == ("LLM_JUDGE", "ragauge embedded")
    assert said["rouge.rougeL"].source.source_type == "CODE"
    assert faithful.rationale.startswith(f"{faithful.value:.3f}")
    assert json.loads(faithful.metadata["ragauge.evidence"])[0]["label"]


def test_a_score_without_a_value_says_why(tracked: str) -> None:
    """Undefined and impossible scores are errors with their reasons, never numbers."""
    from ragauge.compat.mlflow import scorers

    faithfulness, recall = scorers("faithfulness,claim_recall")
    nothing = faithfulness(inputs={"query": "?", "contexts": ["a"]}, outputs="")
    assert (nothing.value, nothing.error.error_code) == (None, "UNDEFINED")
    impossible = recall(inputs={"query": "?", "contexts": ["a"]}, outputs="Ada wrote it.")
    assert (impossible.value, impossible.error.error_code) == (None, "FAILED")
    assert "references" in impossible.error.error_message


SIX = "faithfulness,answer_relevance,context_precision,context_recall,context_relevance,correctness"


def test_six_metrics_take_two_calls_a_sample(
    tracked: str, stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scorers share the calls to a model: six need at most two a sample, where MLflow's own need at least one each."""
    from mlflow.genai.scorers import Correctness, Guidelines, RelevanceToQuery, Safety

    from ragauge.compat.mlflow import scorers

    mlflow.set_experiment("calls")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    ours, theirs = stub_server(), stub_server()
    judge = rg.llm("openai/gpt-4o-mini", base_url=ours.url)
    mlflow.genai.evaluate(data=ROWS, scorers=scorers(SIX, judge))
    monkeypatch.setenv("OPENAI_API_BASE", theirs.url)
    monkeypatch.setenv("OPENAI_BASE_URL", theirs.url)
    model = "openai:/gpt-4o-mini"
    own = [
        Correctness(model=model),
        RelevanceToQuery(model=model),
        Safety(model=model),
        *(Guidelines(name=name, guidelines=f"It is {name}.", model=model) for name in ("kind", "short", "clear")),
    ]
    mlflow.genai.evaluate(data=ROWS, scorers=own)
    ours_a_sample, theirs_a_sample = (server.stats()["calls"] / len(ROWS) for server in (ours, theirs))
    assert (ours_a_sample, theirs_a_sample) == (2, 6)


def test_a_run_is_logged_with_all_that_it_found(tracked: str, tmp_path: Path) -> None:
    """-o mlflow:EXPERIMENT logs every number of each estimate, the judge, the report and the claims; no NaN."""
    rows = [{**row["inputs"], "response": row["outputs"]} for row in ROWS]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = call("run", "data.jsonl", "-m", "faithfulness", "--name", "first", "-o", "mlflow:runs")
    assert result.exit_code == 0, result.output
    estimate = Store.open(".ragauge").runs()[0].estimates["faithfulness"]
    (logged,) = mlflow.search_runs(experiment_names=["runs"], output_format="list")
    found = {name: logged.data.metrics[f"faithfulness{name}"] for name in ("", ".low", ".high", ".n", ".undefined")}
    assert found == {
        "": pytest.approx(estimate.value),
        ".low": pytest.approx(estimate.low),
        ".high": pytest.approx(estimate.high),
        ".n": 4,
        ".undefined": 0,
    }
    assert all(value == value for value in logged.data.metrics.values())
    assert (logged.data.params["judge"], logged.info.run_name) == ("embedded", "first")
    client = mlflow.MlflowClient()
    assert {one.path for one in client.list_artifacts(logged.info.run_id)} == {"claims.json", "report.html"}
    mlflow.set_experiment("runs")
    table = mlflow.load_table("claims.json", run_ids=[logged.info.run_id])
    assert len(table) == 8
    assert set(table["label"]) <= {"entailed", "neutral", "contradicted"}


def test_traces_are_measured_with_what_people_said(tracked: str, tmp_path: Path) -> None:
    """--from mlflow:EXPERIMENT reads traces with retrieved documents; people's yes is a label, their text a reference;
    the scores become feedback of the traces they came from."""
    mlflow.set_experiment("app")
    id = answered("Who wrote it?", "Ada did.", "Ada wrote it.")
    person = mlflow.entities.AssessmentSource("HUMAN", "ann")
    mlflow.log_feedback(trace_id=id, name="correctness", value=True, source=person)
    mlflow.log_expectation(trace_id=id, name="expected_response", value="Bob.", source=person)
    result = call("run", "--from", "mlflow:app", "-m", "faithfulness,correctness", "-o", "mlflow:measured")
    assert result.exit_code == 0, result.output
    assert "1 of 2 pieces of people's feedback are labels" in result.output
    store = Store.open(".ragauge")
    (run,) = store.runs()
    sample = store.sample(run.id, 0)
    assert (sample.sample.query, sample.sample.response) == ("Who wrote it?", "Ada did.")
    assert sample.sample.contexts is not None
    assert [chunk.text for chunk in sample.sample.contexts] == ["Ada wrote it."]
    assert (run.labelled, run.estimates["correctness"].value) == (1, 1.0)
    said = {one.name: one for one in mlflow.get_trace(id).info.assessments if one.source.source_type == "LLM_JUDGE"}
    assert said["faithfulness"].value == sample.scores["faithfulness"].value
    assert call("run", "--from", "mlflow:none", "-m", "bleu").exit_code == 2
    assert call("run", "-m", "bleu").exit_code == 2


def test_an_unreachable_tracker_loses_nothing(
    tracked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    """A run whose tracker is gone is kept and said, with exit code 1; `ragauge log` logs it once there is one."""
    (tmp_path / "data.jsonl").write_text('{"response": "a", "references": ["a"]}\n', encoding="utf-8")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    mlflow.set_tracking_uri("http://127.0.0.1:9")
    result = call("run", "data.jsonl", "-m", "exact_match", "-o", "mlflow:later")
    (run,) = Store.open(".ragauge").runs()
    assert result.exit_code == 1
    assert f"the run is kept; log it later with: ragauge log {run.id} mlflow:later" in result.output
    mlflow.set_tracking_uri(server)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    assert "logged to mlflow:later as run" in call("log", run.id, "mlflow:later").output
    assert call("log", run.id, "mlfow:later").exit_code == 2
    (logged,) = mlflow.search_runs(experiment_names=["later"], output_format="list")
    assert logged.data.metrics["exact_match"] == 1


def test_nothing_is_sent_but_to_the_tracker(server: str, tmp_path: Path) -> None:
    """A process that logs a run connects to the tracking server alone: MLflow's telemetry is off."""
    code = """
import socket, sys
tried = set()
own = socket.getaddrinfo
def heard(host, *rest, **more):
    tried.add(str(host))
    return own(host, *rest, **more)
socket.getaddrinfo = heard
import ragauge as rg
from ragauge.compat.mlflow import log_run
log_run(rg.evaluate([{"response": "a", "references": ["a"]}], "exact_match"), "silent")
import mlflow, time
time.sleep(2)
from mlflow.telemetry.client import get_telemetry_client
print(sorted(tried), get_telemetry_client())
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW")}
    environment |= {"MLFLOW_TRACKING_URI": server, "PYTHONPATH": str(Path(rg.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip().splitlines()[-1] == "['127.0.0.1'] None", done.stderr
