"""`ragauge score --window` and `ragauge alarms`: live use from the command line."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import Result
from tests.interrupts import hear_ctrl_c

from ragauge.analysis.labels import Labelling, parse_answer
from ragauge.run.budget import DailyBudget
from ragauge.run.results import Run
from ragauge.store import Store
from ragauge.types import Call as JudgeCall

Start = Callable[..., subprocess.Popen[str]]
Call = Callable[..., Result]
BEGIN = 1767225600  # 2026-01-01, 00:00 UTC


def traces(number: int, wrong: float = 0.0, first: int = 0) -> str:
    """Lines of traces, one a minute, of which a share is answered wrongly."""
    chance = random.Random(4)
    rows = (
        {
            "trace_id": f"{place:032x}",
            "start_time": BEGIN + 60 * place,
            "response": "no" if chance.random() < wrong else "yes",
            "references": ["yes"],
            "model": f"m{place % 2}",
        }
        for place in range(first, first + number)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def parsed(text: str) -> list[dict[str, Any]]:
    """The objects of JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]


WINDOWS = ("--window", "1h", "-m", "exact_match")


def test_windows_of_standard_input(call: Call) -> None:
    """Each hour of traces is a line with its estimate, the last when the input ends."""
    result = call("score", "-", *WINDOWS, input=traces(150))
    lines = parsed(result.stdout)
    assert [(line["window"]["start"][11:16], line["traces"]) for line in lines] == [
        ("00:00", 60),
        ("01:00", 60),
        ("02:00", 30),
    ]
    assert all(line["estimates"]["exact_match"]["value"] == 1 for line in lines)
    assert result.exit_code == 0


def test_an_alarm_ends_the_stream_where_asked(call: Call) -> None:
    """With --fail-on-alarm the exit code is 3 at the first alarm, which is told; without an alarm it is 0."""
    alarm = ("--alarm", "exact_match<0.8", "--fail-on-alarm")
    bad = call("score", "-", *WINDOWS, *alarm, input=traces(300, wrong=0.9))
    good = call("score", "-", *WINDOWS, *alarm, input=traces(300))
    assert (bad.exit_code, good.exit_code) == (3, 0)
    assert "alarm: exact_match<0.8: raised at 2026-01-01T00:" in bad.stderr
    assert parsed(bad.stdout)[-1]["alarm"] == "exact_match<0.8"
    assert parsed(good.stdout)[-1]["alarms"]["exact_match<0.8"]["evidence"] < 1


def test_everybody_samples_the_same_traces(call: Call) -> None:
    """A share of the traces is scored, the same with other metrics and whatever the order."""
    lines = traces(200).splitlines(keepends=True)
    first = call("score", "-", *WINDOWS, "--sample", "30%", input="".join(lines))
    other = call("score", "-", *WINDOWS[:2], "-m", "token_f1", "--sample", "0.3", input="".join(lines))
    counts = [[(line["traces"], line["scored"]) for line in parsed(result.stdout)] for result in (first, other)]
    assert counts[0] == counts[1]
    assert 40 < sum(scored for _, scored in counts[0]) < 80


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server, and what was posted to it; it refuses the first request."""
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/alarm", received
        server.shutdown()
        thread.join()


def test_an_alarm_is_posted(call: Call, webhook: tuple[str, list[dict[str, Any]]]) -> None:
    """A URL gets the alarm as JSON, once."""
    address, received = webhook
    options = (*WINDOWS, "--alarm", "exact_match<0.8", "--on-alarm", address)
    assert call("score", "-", *options, input=traces(300, wrong=0.9)).exit_code == 0
    (posted,) = received
    assert (posted["alarm"], posted["evidence"] >= posted["needed"] == 20) == ("exact_match<0.8", True)
    assert (posted["bound"], posted["folder"]) == (0.8, None)
    assert 0 <= posted["mean"] < 0.5 < posted["scores"]
    assert posted["window"]["start"] <= posted["raised"] < posted["window"]["end"]
    assert posted["text"].startswith("standard input: exact_match<0.8: raised at 2026-01-01T00:")


def test_an_alarm_runs_a_command(call: Call, folder: Path) -> None:
    """A command gets the alarm as its input; one that fails is told, and the stream goes on."""
    options = (*WINDOWS, "--alarm", "exact_match<0.8", "--on-alarm")
    call("score", "-", *options, "cat > alarm.json", input=traces(300, wrong=0.9))
    assert json.loads((folder / "alarm.json").read_text(encoding="utf-8"))["alarm"] == "exact_match<0.8"
    failed = call("score", "-", *options, "exit 7", input=traces(300, wrong=0.9))
    assert (failed.stderr.count("alarm: "), failed.stderr.count("exit 7: ")) == (1, 1)
    assert "--on-alarm exit 7: Command 'exit 7' returned non-zero exit status 7.; it is tried again" in failed.stderr
    assert failed.exit_code == 0


@pytest.mark.slow
def test_an_alarm_that_an_earlier_version_raised_is_told(start: Start, call: Call, folder: Path) -> None:
    """An alarm in a state without a message, which is to be told again, is told with what the state has."""
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text(traces(200, wrong=0.9), encoding="utf-8")
    watcher = Watcher(start, folder, "--alarm", "exact_match<0.8", "--on-alarm", "exit 7")
    watcher.wait(1, "alarm")
    watcher.end()
    with Store.open(folder / ".ragauge") as store:
        name = f"{(folder / 'logs').resolve()}#windows"
        state = json.loads(store.stream_state(name) or "")
        assert state["alarms"]["exact_match<0.8"].pop("message")
        store.keep_stream_states({name: json.dumps(state)})
    command = "cat > part.json && mv part.json alarm.json"
    watcher = Watcher(start, folder, "--alarm", "exact_match<0.8", "--on-alarm", command)
    watcher.wait_until((folder / "alarm.json").exists)
    watcher.end()
    told = json.loads((folder / "alarm.json").read_text(encoding="utf-8"))
    assert "logs: exact_match<0.8: raised at 2026-01-01T00:" in told["text"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "model"], "--by needs --window TIME"),
        (["--alarm", "exact_match<0.5"], "--alarm needs --window TIME"),
        ([*WINDOWS, "--window", "1"], "'1' is no length of time; write it as 30s, 15m, 1h or 7d"),
        (["--window", "1h"], "name the metrics of the windows, such as -m faithfulness"),
        ([*WINDOWS, "--sample", "0"], "--sample 0: give a share such as 5% or 0.05"),
        ([*WINDOWS, "--max-cost", "5/week"], "--max-cost 5/week: give dollars above 0, such as 2.5 or 20/day"),
        ([*WINDOWS, "--label", "5"], "--label keeps each window as a run; give --watch FOLDER"),
        (["--label", "5"], "--label needs --window TIME"),
        ([*WINDOWS, "--against", "main"], "name its metrics with --alarm"),
        ([*WINDOWS, "--alarm", "exact_match<0.5", "--against", "main"], "it holds no runs yet"),
        ([*WINDOWS, "--alarm", "exact_match>0.5"], "write exact_match<0.5"),
        ([*WINDOWS, "--alarm", "exact_match<=0.5"], "exact_match<=0.5: write METRIC<NUMBER or METRIC>NUMBER"),
    ],
)
def test_a_wrong_call_is_told_before_a_trace_is_read(call: Call, arguments: list[str], message: str) -> None:
    """A wrong call exits with 2, or 1 where the store lacks what it names, and says how to fix it."""
    result = call("score", "-", *arguments, input="{}\n")
    assert (result.exit_code in (1, 2), result.stdout) == (True, "")
    assert message in result.stderr


class Watcher:
    """`ragauge score --watch logs` in its own process, which appends to windows.jsonl."""

    def __init__(self, start: Start, folder: Path, *options: object) -> None:
        (folder / "logs").mkdir(exist_ok=True)
        self._output = folder / "windows.jsonl"
        arguments = ("score", "--watch", "logs", *WINDOWS, "-o", "windows.jsonl", *options)
        self.child = start(*arguments, preexec_fn=hear_ctrl_c)

    def lines(self) -> list[dict[str, Any]]:
        """What is written so far."""
        return parsed(self._output.read_text(encoding="utf-8")) if self._output.exists() else []

    def wait(self, number: int, having: str = "") -> list[dict[str, Any]]:
        """The lines, as soon as there are so many in which a field has a value."""
        self.wait_until(lambda: sum(bool(not having or line.get(having)) for line in self.lines()) >= number)
        return self.lines()

    def wait_until(self, done: Callable[[], bool]) -> None:
        """Until something is the case, a minute and a half at most."""
        end = time.monotonic() + 90
        while not done() and time.monotonic() < end and self.child.poll() is None:
            time.sleep(0.05)
        assert done(), self.child.communicate()

    def end(self, number: signal.Signals = signal.SIGINT) -> str:
        """End it by a signal; what it wrote to standard error."""
        self.child.send_signal(number)
        return self.child.communicate(timeout=60)[1]


@pytest.mark.slow
def test_acknowledging_and_silencing(start: Start, call: Call, folder: Path) -> None:
    """A raised alarm is listed; silent, it is told after its time; acknowledged, it starts anew and is raised again."""
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text(traces(200, wrong=0.9), encoding="utf-8")
    options = ("--alarm", "exact_match<0.8")
    watcher = Watcher(start, folder, *options)
    watcher.wait(3)
    listed = call("alarms", "logs")
    assert "exact_match<0.8: raised at 2026-01-01T00:" in listed.stdout
    assert "acknowledged" in call("alarms", "logs", "--acknowledge", "exact_match<0.8").stdout
    silenced = call("alarms", "logs", "--silence", "exact_match<0.8=1h")
    assert "silent until" in silenced.stdout
    for first in range(200, 400, 50):  # sooner than the clock completes windows, two seconds after the last trace
        time.sleep(0.7)
        with (folder / "logs" / "a.jsonl").open("a", encoding="utf-8") as file:
            file.write(traces(50, wrong=0.9, first=first))
    watcher.wait(7)
    assert len([line for line in watcher.lines() if "alarm" in line]) == 2
    assert watcher.end().count("alarm: ") == 1  # the second is silent
    wrong = call("alarms", "logs", "--acknowledge", "bleu<0.1")
    assert (wrong.exit_code, "exact_match<0.8" in wrong.stderr) == (2, True)


def test_alarms_of_a_folder_that_is_not_watched(call: Call, folder: Path) -> None:
    """Without a watch there are no alarms to show, which is said."""
    (folder / "logs").mkdir()
    Store.open(folder / ".ragauge").close()
    result = call("alarms", "logs")
    assert (result.exit_code, "logs was not watched with this store" in result.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_watch_writes_what_one_does_that_is_not(start: Start, folder: Path) -> None:
    """Killed at random moments and started again, a watch has each window and alarm once, with the same numbers."""
    (folder / "logs").mkdir()
    text = traces(1500, wrong=0.4).splitlines(keepends=True)
    chance, options = random.Random(5), ("--alarm", "exact_match<0.8", "--by", "model", "--label", "3")
    (folder / "logs" / "a.jsonl").write_text("".join(text[:300]), encoding="utf-8")
    for part in range(1, 5):
        watcher = Watcher(start, folder, *options)
        time.sleep(0.3 + 0.7 * chance.random())  # before the clock completes windows, two seconds after the last trace
        with (folder / "logs" / "a.jsonl").open("a", encoding="utf-8") as file:
            file.write("".join(text[300 * part : 300 * (part + 1)]))
        time.sleep(0.6 * chance.random())
        watcher.end(signal.SIGKILL)
    watcher = Watcher(start, folder, *options)
    watcher.wait(25, "traces")
    watcher.end()
    killed = watcher.lines()
    (folder / "windows.jsonl").unlink()
    whole = Watcher(start, folder, *options, "--store", "other")
    whole.wait(25, "traces")
    whole.end()
    windows = [[line for line in lines if line.get("traces") or "alarm" in line] for lines in (killed, whole.lines())]
    assert windows[0] == windows[1]
    stores = [Store.open(folder / name) for name in (".ragauge", "other")]
    runs = [sorted((run.id, run.estimates["exact_match"], run.data_hash) for run in store.runs()) for store in stores]
    assert runs[0] == runs[1]
    assert {id for id, *_ in runs[0]} == {line["run"] for line in killed if line.get("traces")}
    samples = [[list(store.samples(id)) for id, *_ in runs[0]] for store in stores]
    assert samples[0] == samples[1]


def said(number: int) -> str:
    """Lines of traces, one a minute, each an answer of two claims of which every third lacks support."""
    rows = (
        {
            "trace_id": f"{place:032x}",
            "start_time": BEGIN + 60 * place,
            "response": f"Ada wrote book {place}. {'Bob' if place % 3 == 0 else 'Ada'} printed book {place}.",
            "contexts": [f"Ada wrote book {place}. Ada printed book {place}."],
        }
        for place in range(number)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.slow
def test_labels_correct_the_mean_of_their_window(start: Start, call: Call, folder: Path) -> None:
    """Each window is a run of which N samples are put before people, and whose mean their labels correct."""
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text(said(90), encoding="utf-8")
    watcher = Watcher(start, folder, "-m", "faithfulness", "--label", "6")
    first, second, *_ = watcher.wait(2, "traces")
    watcher.end()
    with Store.open(folder / ".ragauge") as store:
        labelling = Labelling(Run.open(store, first["run"]))
        drawn = []
        while (sample := labelling.next("faithfulness")) is not None:
            drawn.append(sample.at_random)
            for piece in labelling.open(sample, "faithfulness"):
                labelling.keep(piece.question, parse_answer(piece.question, "s 1"), "ann", sample)
        summary = labelling.summaries(["faithfulness"])["faithfulness"]
    assert drawn == [True, False] * 3
    assert summary.judge.value == first["estimates"]["faithfulness"]["value"]
    assert summary.corrected.value is not None
    assert summary.judge.value is not None
    assert summary.corrected.value > summary.judge.value  # people found support for all
    words = call("history", "logs", "-m", "faithfulness").stdout
    assert f"{first['run']}: {summary.corrected.value:.3f} [" in words
    assert f"from {summary.counted} samples drawn at random; 6 of 6 labelled" in words
    assert f"{second['run']}: 0 of 6 labelled: ragauge label {second['run']}" in words


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of a process")
def test_a_full_disk_loses_nothing(start: Start, folder: Path) -> None:
    """A watch whose output cannot grow ends with an error that says so; started again with room, it writes all once."""
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text(traces(300), encoding="utf-8")
    limit = 2**22
    (folder / "windows.jsonl").write_text(" " * (limit - 100) + "\n", encoding="utf-8")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    child = start("score", "--watch", "logs", *WINDOWS, "-o", "windows.jsonl", preexec_fn=limited)
    _, complaint = child.communicate(timeout=90)
    assert (child.returncode, "cannot write the output: File too large" in complaint) == (1, True)
    watcher = Watcher(start, folder)
    end = time.monotonic() + 60
    whole: list[dict[str, Any]] = []
    while len(whole) < 5 and time.monotonic() < end:
        time.sleep(0.1)
        written = (folder / "windows.jsonl").read_text(encoding="utf-8").splitlines()[1:]
        whole = parsed("\n".join(written)) if written and written[-1].endswith("}") else []
    watcher.end()
    starts = [line["window"]["start"] for line in whole if line["traces"]]
    assert starts == [f"2026-01-01T0{hour}:00:00Z" for hour in range(5)]


def test_the_money_of_a_day() -> None:
    """A daily limit counts what was spent earlier on the day, and refuses nothing of the next."""

    async def reserved(budget: DailyBudget, dollars: float) -> bool:
        return await budget.reserve(dollars)

    budget = DailyBudget(10)
    budget.restore(datetime.now(UTC).date().isoformat(), 7)
    assert budget.spent_today == 7
    assert asyncio.run(reserved(budget, 2))
    budget.record(JudgeCall("1", cost=2.0), 2)
    assert budget.spent_today == 9
    assert not asyncio.run(reserved(budget, 2))
    budget.day = "2020-01-01"
    assert asyncio.run(reserved(budget, 2))
    assert budget.spent_today == 0
