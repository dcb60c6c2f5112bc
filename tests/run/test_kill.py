from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.interrupts import hear_ctrl_c

import ragauge as rg
from ragauge.store import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")

SCRIPT = """
import json, sys, time
import ragauge as rg

log, store, name = sys.argv[1:]
rows = [{"query": "q", "response": f"{n} is a. {n} is b.", "contexts": [f"{n} is a."]} for n in range(150)]

def decompose(text):
    with open(log, "a") as file:
        file.write(text + "\\n")
    return [piece.strip() for piece in text.split(".") if piece.strip()]

def entail(premise, hypothesis):
    with open(log, "a") as file:
        file.write(hypothesis + "\\n")
    time.sleep(0.002)
    return hypothesis in premise

run = rg.evaluate(rows, "faithfulness", rg.judge_from(decompose=decompose, entail=entail, name=name or None), store)
print(json.dumps([run.record.asked, run.record.reused, run.estimates["faithfulness"].value]))
"""


def _start(arguments: list[str | Path], folder: Path, **environment: str) -> subprocess.Popen[str]:
    source = str(Path(rg.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source, **environment},
        preexec_fn=hear_ctrl_c,
    )


def _finish(arguments: list[str | Path], folder: Path) -> str:
    child = _start(arguments, folder)
    output, complaint = child.communicate(timeout=120)
    assert child.returncode == 0, complaint
    return output


def _stop(child: subprocess.Popen[str], when: Callable[[], bool], how: signal.Signals) -> tuple[str, str]:
    """Send the signal as soon as `when` holds; the child must still be at work then."""
    while not when():
        assert child.poll() is None, child.communicate()
        time.sleep(0.02)
    child.send_signal(how)
    return child.communicate(timeout=60)


def _lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def _kept(place: Path) -> int:
    """How many judgments a store holds."""
    if not (place / "store.db").exists():
        return 0
    with Store.open(place) as store:
        return sum(1 for _ in store.judgments())


@pytest.mark.parametrize("name", ["", pytest.param("mine", marks=pytest.mark.slow)])
def test_a_killed_script_does_not_call_its_functions_again(tmp_path: Path, name: str) -> None:
    """Killed by SIGKILL and run again, a script calls its functions only for what was in flight and what is new.

    So it is whether the judge has a name or is known by the code of its functions.
    """
    script, log = tmp_path / "script.py", tmp_path / "log"
    script.write_text(SCRIPT)
    _stop(_start([script, log, "store", name], tmp_path), lambda: len(_lines(log)) > 200, signal.SIGKILL)
    called = _lines(log)
    assert 200 < len(called) < 450

    asked, reused, value = json.loads(_finish([script, log, "store", name], tmp_path))
    again = _lines(log)[len(called) :]
    assert set(again) & set(called) <= {called[-1]}
    assert len(set(called + again)) == 450
    assert (asked + reused, value) == (450, 0.5)
    assert asked == len(again)


def _data(folder: Path) -> Path:
    """Rows that take the embedded judge a few seconds: long chunks, every text of its own."""
    chance = random.Random(7)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(3, 9))) for _ in range(400)]

    def sentence(n: int) -> str:
        return " ".join([*chance.choices(words, k=12), str(n)]).capitalize() + "."

    path = folder / "data.jsonl"
    with path.open("w") as file:
        for n in range(96):
            chunks = [" ".join(sentence(n) for _ in range(8)) for _ in range(4)]
            response = f"{chunks[0].partition('.')[0]}. {sentence(n)}"
            file.write(json.dumps({"query": sentence(n), "response": response, "contexts": chunks}) + "\n")
    return path


COMMAND: list[str | Path] = [
    "-m",
    "ragauge",
    "run",
    "data.jsonl",
    "-j",
    "lexical",
    "-m",
    "faithfulness,context_relevance",
]


def _document(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """`ragauge run` killed by SIGKILL half-way and run again asks only what the store does not hold.

    Its estimates and scores are those of a run that nothing interrupted.
    """
    _data(tmp_path)
    _finish([*COMMAND, "--store", "other", "-o", "whole.json"], tmp_path)
    whole = _document(tmp_path / "whole.json")

    store = tmp_path / "store"
    _stop(_start([*COMMAND, "--store", "store"], tmp_path), lambda: _kept(store) > 400, signal.SIGKILL)
    kept = _kept(store)
    assert 400 < kept < whole["run"]["asked"]
    part = rg.Run.open(store)
    assert part.record.status == "running"
    assert 0 < part.record.samples == part.estimates["faithfulness"].n < 96
    _finish([*COMMAND, "--store", "store", "-o", "resumed.json"], tmp_path)
    resumed = _document(tmp_path / "resumed.json")
    assert resumed["run"]["asked"] == whole["run"]["asked"] - kept
    assert resumed["estimates"] == whole["estimates"]
    assert resumed["samples"] == whole["samples"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "again", "code"),
    [
        pytest.param(signal.SIGINT, False, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, False, 143, id="SIGTERM"),
        pytest.param(signal.SIGINT, True, 130, id="Ctrl-C until it ends"),
        pytest.param(signal.SIGTERM, True, 143, id="SIGTERM until it ends"),
    ],
)
def test_a_stopped_run_says_how_to_go_on(tmp_path: Path, number: signal.Signals, again: bool, code: int) -> None:
    """Ctrl-C and SIGTERM end `ragauge run` with 130 and 143, once or until it ends, with a word on how to go on.

    The part can be reported, and the rest run.
    """
    _data(tmp_path)
    store = tmp_path / ".ragauge"
    child = _start(COMMAND, tmp_path)
    while _kept(store) <= 400:
        assert child.poll() is None, child.communicate()
        time.sleep(0.02)
    child.send_signal(number)
    while again and child.poll() is None:
        time.sleep(0.05)
        child.send_signal(number)
    output, complaint = child.communicate(timeout=60)
    assert (child.returncode, output) == (code, ""), complaint
    assert "Every judgment made so far is kept in .ragauge; run the same command again to resume" in complaint
    assert "Traceback" not in complaint

    shown = _finish(["-m", "ragauge", "report"], tmp_path)
    if not again:
        assert "The run is interrupted: these are the first" in shown
    assert "faithfulness" in shown
    kept = _kept(store)
    assert "faithfulness" in _finish(COMMAND, tmp_path)
    record = rg.Run.open(store).record
    assert (record.status, record.samples) == ("finished", 96)
    assert record.asked == _kept(store) - kept > 0


def test_a_terminated_run_leaves_no_temporary_folder(tmp_path: Path) -> None:
    """A run that keeps nothing and has outgrown memory removes its temporary folder when SIGTERM ends it."""
    (tmp_path / "rows.jsonl").write_text('{"response": "a b", "references": ["a"]}\n' * 100_000, encoding="utf-8")
    (tmp_path / "tmp").mkdir()
    command: list[str | Path] = ["-m", "ragauge", "run", "rows.jsonl", "-m", "token_f1", "--no-store"]
    child = _start(command, tmp_path, TMPDIR=str(tmp_path / "tmp"))
    _, complaint = _stop(child, lambda: any((tmp_path / "tmp").glob("ragauge-*/store.db")), signal.SIGTERM)
    assert (child.returncode, "Nothing was kept, because of --no-store." in complaint) == (143, True)
    assert list((tmp_path / "tmp").iterdir()) == []
