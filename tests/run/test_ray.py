"""Runs on Ray: a real one of several processes, on the loopback interface."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from tests.interrupts import hear_ctrl_c
from tests.llm.stub.fixture import StubFactory
from tests.postgres import PostgresServer
from tests.run.test_llm_run import _samples

import ragauge as rg
from ragauge.cli.main import main
from ragauge.run.cluster import RayEngine, Session
from ragauge.store import Store

pytest.importorskip("ray")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(1200)]
slow = pytest.mark.slow

METRICS = "faithfulness,token_f1,pooled(faithfulness)"


def _rows(count: int) -> list[dict[str, Any]]:
    return [{"n": str(n), **row} for n, row in enumerate(_samples(count))]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows in a file, in the format of its ending."""
    path.parent.mkdir(exist_ok=True)
    cells = [{**row, "contexts": json.dumps(row["contexts"]), "references": row["references"][0]} for row in rows]
    table = pyarrow.Table.from_pylist(cells)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Ray on this machine for the tests of this module, as a run starts it."""
    session = Session(RayEngine(workers=3))
    yield session.connect()
    session.close()


def _listening(process: int) -> set[str]:
    """The addresses at which a process and all that it started listen."""
    lines = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout.splitlines()
    parents = {
        int(pid): int(parent)
        for pid, parent in (
            line.split() for line in subprocess.check_output(["ps", "-eo", "pid=,ppid="], text=True).splitlines()
        )
    }

    def ours(pid: int) -> bool:
        return pid == process or (pid in parents and ours(parents[pid]))

    found = [(line.split()[3], line.partition("pid=")[2].partition(",")[0]) for line in lines]
    return {address.rpartition(":")[0] for address, pid in found if pid and ours(int(pid))}


@slow
@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_a_run_on_ray_is_the_run_of_one_process(cluster: Any, tmp_path: Path, ending: str) -> None:
    """Samples read by Ray Data from two files and scored by two workers give the record, scores and evidence of a run.

    Parquet in the folder holds the same values, and Ray listens to this machine alone.
    """
    rows = _rows(300)
    _write(tmp_path / "data" / f"a.{ending}", rows[:130])
    _write(tmp_path / "data" / f"b.{ending}", rows[130:])
    one = rg.evaluate(_write(tmp_path / f"all.{ending}", rows), METRICS, "lexical")
    engine = rg.ray(workers=2, output=tmp_path / "out")
    place = tmp_path / "data" if ending == "csv" else f"{tmp_path}/data/*.{ending}"
    many = rg.evaluate(place, METRICS, "lexical", tmp_path / "store", engine=engine)
    assert many.estimates == one.estimates
    assert list(many.records()) == list(one.records())
    assert (many.record.data_hash, many.record.asked) == (one.record.data_hash, one.record.asked)
    assert rg.Run.open(tmp_path / "store").record.status == "finished"
    written = pyarrow.parquet.read_table(tmp_path / "out")
    assert written["faithfulness"].to_pylist() == one.values("faithfulness")
    assert set(written["run"].to_pylist()) == {many.id}
    assert _listening(os.getpid()) <= {"127.0.0.1", "[::ffff:127.0.0.1]", "[::1]"}


@slow
def test_ray_data_maps_batches_with_a_scorer(cluster: Any) -> None:
    """`map_batches` of Ray Data takes a scorer as it is, and gives the scores of `evaluate`."""
    import ray

    rows = _rows(40)
    score = rg.BatchScorer(METRICS, "lexical")
    data = ray.data.from_arrow(pyarrow.Table.from_pylist(rows))
    scored = data.map_batches(score, batch_format="pyarrow", batch_size=16).take_all()
    run = rg.evaluate(rows, METRICS, "lexical")
    assert [row["token_f1"] for row in scored] == run.values("token_f1")


@slow
def test_a_killed_worker_changes_nothing(cluster: Any, tmp_path: Path, postgres: PostgresServer) -> None:
    """SIGKILL of a worker and a restart of PostgreSQL half-way: the scores are those of an undisturbed run.

    No more calls are repeated than were in flight.
    """
    log, rows, place = tmp_path / "log", _rows(600), postgres.new()

    def entail(premise: str, hypothesis: str) -> bool:
        with log.open("a") as file:
            file.write(f"{os.getpid()} {json.dumps([premise, hypothesis])}\n")
        time.sleep(0.002)
        return hypothesis in premise

    def decompose(text: str) -> list[str]:
        return [piece.strip() for piece in text.split(".") if piece.strip()]

    judge = {
        "entail": rg.judge_from(entail=entail, name="e"),
        "decompose": rg.judge_from(decompose=decompose, name="d"),
    }
    one = rg.evaluate(rows, "faithfulness", judge)
    log.unlink()

    def disturb() -> None:
        while not log.exists() or len(log.read_text().splitlines()) < 1500:
            time.sleep(0.05)
        os.kill(int(log.read_text().split()[0]), signal.SIGKILL)
        time.sleep(0.5)
        postgres.stop()
        postgres.start()

    trouble = threading.Thread(target=disturb)
    trouble.start()
    many = rg.evaluate(rows, "faithfulness", judge, place, engine=rg.ray(workers=2))
    trouble.join()
    assert many.estimates == one.estimates
    assert [one.scores for one in many.records()] == [one.scores for one in one.records()]
    calls = Counter(line.partition(" ")[2] for line in log.read_text().splitlines())
    repeated = sum(calls.values()) - len(calls)
    assert repeated <= 2 * 6  # two batches of the lost worker, each with a question under way that takes six calls


@slow
def test_one_budget_holds_for_all_workers(cluster: Any, stub_server: StubFactory, monkeypatch: Any) -> None:
    """Two workers with a limit of half of what a run costs spend no more than that, and most of it."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    server = stub_server(latency=0.01)
    spec = f"openai/gpt-4o-mini?base_url={server.url}"
    whole = rg.evaluate(_rows(600), "faithfulness", spec).record.spent.cost
    limited = rg.evaluate(_rows(600), "faithfulness", spec, max_cost=whole / 2, engine=rg.ray(workers=2))
    assert limited.record.status == "stopped"
    assert "the limit of $" in limited.record.stopped
    assert 0.9 * whole / 2 < limited.record.spent.cost <= whole / 2


@slow
def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    """Ctrl-C ends `ragauge run --workers 1` with 130 and a word on how to go on, and the same command goes on."""
    _write(tmp_path / "data.jsonl", _rows(3000))
    command = [sys.executable, "-m", "ragauge", "run", "data.jsonl", "-m", "faithfulness", "-j", "lexical"]
    environment = {**os.environ, "PYTHONPATH": str(Path(rg.__file__).parents[1])}
    child = subprocess.Popen(
        [*command, "--workers", "1"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,
    )
    store = tmp_path / ".ragauge"
    while not (store / "store.db").exists() or not _kept(store):
        assert child.poll() is None, child.communicate()
        time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    output, complaint = child.communicate(timeout=300)
    assert (child.returncode, output) == (130, "")
    assert "run the same command again to resume" in complaint
    assert "Traceback" not in complaint
    with Store.open(store) as opened:
        assert opened.runs()[0].status == "interrupted"
        kept = _kept(store)
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    record = rg.Run.open(store).record
    assert record.samples == 3000
    assert record.asked == _kept(store) - kept


def _kept(place: Path) -> int:
    with Store.open(place) as store:
        return sum(1 for _ in store.judgments())


def _complaint(*arguments: str) -> str:
    """The one line that the command ends with."""
    result = CliRunner().invoke(main, ["run", *arguments])
    assert result.exit_code == 2, result.output
    (line,) = result.output.splitlines()
    return str(line)


def _closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_mistakes_are_reported_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown engine, an address that does not answer, and places that hold nothing are errors of one line."""
    monkeypatch.chdir(tmp_path)
    data = str(_write(tmp_path / "data.jsonl", _rows(3)))
    (tmp_path / "empty").mkdir()
    (tmp_path / "both").mkdir()
    _write(tmp_path / "both" / "a.jsonl", _rows(3))
    _write(tmp_path / "both" / "b.csv", _rows(3))
    port = _closed_port()
    assert "engine 'rya' is not known; give 'ray'" in _complaint(data, "--engine", "rya")
    refused = _complaint(data, "-m", "token_f1", "--engine", f"ray:127.0.0.1:{port}")
    assert f"no Ray at 127.0.0.1:{port} ([Errno 111] Connection refused); give HOST:PORT" in refused
    assert "give HOST:PORT" in _complaint(data, "-m", "token_f1", "--engine", "ray:nowhere")
    assert "one folder of Parquet can be written, with --engine ray" in _complaint(data, "-o", "scores/")
    assert "no file there ends in" in _complaint("empty", "--engine", "ray")
    assert "files of several formats" in _complaint("both", "--engine", "ray")
    assert "cannot be read: " in _complaint("nosuch://bucket/a.parquet", "--engine", "ray")
    assert "cannot be written to: " in _complaint(data, "--engine", "ray", "-o", f"{data}/")
    assert "unknown metric 'faithfulnes'" in _complaint(data, "-m", "faithfulnes", "--engine", "ray")


def test_a_bucket_without_rights_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket that answers 403 to everything is an error of one line, to read from as to write to."""

    class Forbidden(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline()
            if self.parse_request():
                self.send_error(403)

        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with HTTPServer(("127.0.0.1", 0), Forbidden) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        bucket = f"s3://bucket/answers?scheme=http&region=us-east-1&endpoint_override=127.0.0.1:{server.server_port}"
        complaint = _complaint(bucket, "--engine", "ray")
        server.shutdown()
        thread.join()
    assert "s3://bucket/answers cannot be read: " in complaint


@slow
def test_buckets_are_read_and_written(tmp_path: Path) -> None:
    """`ragauge run s3://... -o s3://...` has the scores of the rows in one process, and leaves them there."""
    pytest.importorskip("moto.server")
    port = _closed_port()
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    environment = {**os.environ, **keys, "PYTHONPATH": str(Path(rg.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-m", "moto.server", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            while socket.socket().connect_ex(("127.0.0.1", port)):
                assert server.poll() is None
                time.sleep(0.1)
            bucket = pyarrow.fs.S3FileSystem(
                access_key="a", secret_key="b", endpoint_override=f"127.0.0.1:{port}", scheme="http",
                region="us-east-1", allow_bucket_creation=True,
            )  # fmt: skip
            bucket.create_dir("bucket")
            for part in range(3):
                path = _write(tmp_path / "answers" / f"{part}.parquet", _rows(30)[10 * part : 10 * part + 10])
                with bucket.open_output_stream(f"bucket/answers/{path.name}") as file:
                    file.write(path.read_bytes())
            command = ["run", "s3://bucket/answers/*.parquet", "-m", METRICS, "-j", "lexical", "--engine", "ray"]
            subprocess.run(
                [sys.executable, "-m", "ragauge", *command, "--store", "store", "-o", "s3://bucket/scores/"],
                check=True,
                cwd=tmp_path,
                env={**environment, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"},
                capture_output=True,
                timeout=600,
            )
            run = rg.Run.open(tmp_path / "store")
            written = pyarrow.parquet.read_table(f"bucket/scores/run={run.record.id}", filesystem=bucket)
        finally:
            server.kill()
    plain = rg.evaluate(_rows(30), METRICS, "lexical")
    assert run.estimates == plain.estimates
    assert Counter(written["token_f1"].to_pylist()) == Counter(plain.values("token_f1"))


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray is not installed, the error gives the command that installs it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    data = str(_write(tmp_path / "data.jsonl", _rows(3)))
    assert "pip install 'ragauge[ray]'" in _complaint(data, "--workers", "2")


@slow
def test_what_cannot_be_sent_is_reported_before_any_work(cluster: Any) -> None:
    """A judge that holds a lock cannot be pickled, which is an error of one line that says what to give instead."""
    lock = threading.Lock()

    def entail(premise: str, hypothesis: str) -> bool:
        with lock:
            return hypothesis in premise

    judge: dict[str, Any] = {"*": "lexical", "entail": rg.judge_from(entail=entail, name="mine")}
    with pytest.raises(rg.errors.UsageError, match=r"cannot be sent to other processes .*python:MODULE:NAME"):
        rg.evaluate(_rows(3), "faithfulness", judge, engine=rg.ray(workers=1))
