"""`ragauge batch` on the command line."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.llm.batching import answered, errored, lines, results
from tests.llm.stub.fixture import StubFactory

Call = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]

EXPORT = ("batch", "export", "data.jsonl", "-j", "openai/gpt-4o-mini", "-m", "faithfulness", "-o", "out")


def test_a_batch_by_hand(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Export, import, import: each step prints what was done, the usage, and what comes next."""
    shown = call(*EXPORT).stdout
    assert "round 1: 6 questions in 6 requests" in shown
    assert "prompt and " in shown
    assert "price $0.00" in shown
    assert "wrote out/wave-01-1.jsonl" in shown
    assert "ragauge batch submit out" in shown

    shown = call("batch", "import", "out", _answers(folder, "wave-01-1")).stdout
    assert "6 lines of results: 6 answers\n" in shown
    assert "6 calls, 6,000 prompt and 600 completion tokens, price $0.0006" in shown
    assert "round 2: 6 questions in 6 requests" in shown

    shown = call("batch", "import", "out", _answers(folder, "wave-02-1")).stdout
    command = "ragauge run data.jsonl -m faithfulness -j openai/gpt-4o-mini --store .ragauge"
    assert shown.splitlines()[-1] == f"all is answered; the scores: {command}"

    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setattr(socket.socket, "connect", _refused)
    run = call("run", "data.jsonl", "-m", "faithfulness", "-j", "openai/gpt-4o-mini", "-o", "run.json")
    assert run.exit_code == 0
    kept = json.loads((folder / "run.json").read_text(encoding="utf-8"))["run"]
    assert (kept["asked"], kept["reused"]) == (0, 12)


def test_a_batch_through_the_provider(call: Call, folder: Path, stub_server: StubFactory) -> None:
    """Export, submit, status, fetch, until everything is answered; each says what is next."""
    server = stub_server(batch_seconds=0.3)
    spec = f"openai/gpt-4o-mini?base_url={server.url}"
    call("batch", "export", "data.jsonl", "-j", spec, "-m", "faithfulness", "-o", "out")
    shown = call("batch", "fetch", "out").stdout
    assert "waiting for the results of 6 requests\nnot sent: wave-01-1.jsonl; next: ragauge batch submit out," in shown
    fetch = "next: ragauge batch fetch out\n"
    assert call("batch", "submit", "out").stdout == f"wave-01-1.jsonl: sent, as batch_1\n{fetch}"
    assert call("batch", "submit", "out").stdout == f"nothing to send\n{fetch}"
    shown = call("batch", "status", "out").stdout
    assert "6 requests to openai/gpt-4o-mini" in shown
    assert "sent as batch_1: in_progress, 0 of 6 done, 0 failed" in shown
    assert "not ended yet\nwaiting for the results of 6 requests" in call("batch", "fetch", "out").stdout
    time.sleep(0.35)
    assert "round 2: 6 questions" in call("batch", "fetch", "out").stdout
    call("batch", "submit", "out")
    time.sleep(0.35)
    assert "all is answered; the scores: ragauge run data.jsonl" in call("batch", "fetch", "out").stdout
    assert call("batch", "status", "out").stdout.count("done\n") == 2


def test_an_import_states_the_outcome_of_every_line(call: Call, folder: Path) -> None:
    """Errors, repeated, foreign and unreadable lines are counted, and so is what was lost or given up."""
    call(*EXPORT)
    found = lines(folder / "out" / "wave-01-1.jsonl")
    made = [
        answered(found[0]),
        answered(found[0]),
        errored(found[1], 500, "oops"),
        answered(found[2], lambda body: "no"),
        answered({**found[3], "custom_id": "other"}),
        _refusal(answered(found[4])),
    ]
    path = results(folder, made)
    path.write_text(path.read_text() + "scrap\n", encoding="utf-8")
    shown = call("batch", "import", "out", path).stdout
    assert "7 lines of results: 1 answer, 2 questions without a usable one" in shown
    assert "errors: 1 server_error, the first because the batch says: oops" in shown
    assert "imported before: 1 line\n" in shown
    assert "of other batches: 1 line\n" in shown
    assert "not results: 1 line, the first results.jsonl, line 7: " in shown.replace(f"{folder}/", "")
    assert "waiting for the results of 2 requests" in shown
    assert "given up: 1 question, the first because: refused: the model would not answer" in shown
    assert "given up as lost: 5 requests" in call("batch", "import", "out", "--lost").stdout
    assert "is not sent, since results" not in call("batch", "status", "out").stdout


def test_a_partly_imported_file_is_not_submitted(call: Call, folder: Path, stub_server: StubFactory) -> None:
    """A file that was sent to the provider by hand is not submitted, with a message."""
    spec = f"openai/gpt-4o-mini?base_url={stub_server().url}"
    call("batch", "export", "data.jsonl", "-j", spec, "-m", "faithfulness", "-o", "out")
    path = results(folder, map(answered, lines(folder / "out" / "wave-01-1.jsonl")[:2]))
    call("batch", "import", "out", path)
    shown = call("batch", "submit", "out").stdout.splitlines()
    assert shown[0] == "wave-02-1.jsonl: sent, as batch_1"
    assert shown[1].startswith("wave-01-1.jsonl is not sent, since results of it were imported")


def test_export_continues(call: Call, folder: Path) -> None:
    """The same command writes nothing twice; with other options it is refused."""
    call(*EXPORT)
    assert call(*EXPORT).stdout.startswith("waiting for the results of 6 requests\nnot sent: wave-01-1.jsonl; next: ")
    other = call(*EXPORT, "--limit", "2")
    assert other.exit_code == 2
    assert "out holds a batch with another limit (None, not 2); export into another folder" in other.stderr
    assert "6 requests to openai/gpt-4o-mini, not sent, 6 without a result" in call("batch", "status", "out").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "data.jsonl", "-o", "out"], "no judge of embedded can be asked in a batch"),
        (["export", "data.jsonl", "-j", "openai/x"], "Missing option '-o'"),
        (["export", "-", "-j", "openai/x", "-o", "out"], "not standard input"),
        (["export", "none.jsonl", "-j", "openai/x", "-o", "out"], "none.jsonl"),
        (["export", "data.jsonl", "-j", "openai/x", "-m", "nonsense", "-o", "out"], "unknown metric"),
        (["export", "data.jsonl", "-j", "nobody/x", "-o", "out"], "unknown provider"),
        (["export", "data.jsonl", "-j", "openai/x", "-o", "data.jsonl"], "holds other things"),
        (["import", "nowhere", "data.jsonl"], "nowhere holds no batch"),
        (["status", "nowhere"], "ragauge batch export DATA"),
        (["submit", "nowhere"], "nowhere holds no batch"),
        (["fetch", "nowhere"], "nowhere holds no batch"),
    ],
)
def test_wrong_calls_end_with_2(call: Call, arguments: list[str], message: str) -> None:
    """An error is one line with the fix, and the exit code is 2."""
    result = call("batch", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_nothing_leaves_the_machine_before_submit(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Export, status and import open no connection and resolve no name."""
    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, _refused)
    monkeypatch.setattr(socket, "getaddrinfo", _refused)
    assert call(*EXPORT).exit_code == 0
    assert call("batch", "status", "out").exit_code == 0
    assert call("batch", "import", "out", _answers(folder, "wave-01-1")).exit_code == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_export_is_done_again(call: Call, start: Start, folder: Path) -> None:
    """After SIGKILL while it writes, an export is repeated and writes every question once."""
    row = json.loads((folder / "data.jsonl").read_text(encoding="utf-8").splitlines()[0])
    with (folder / "data.jsonl").open("w", encoding="utf-8") as file:
        for n in range(3000):
            file.write(json.dumps({**row, "id": str(n), "response": f"Ada Bell wrote book {n}."}) + "\n")
    child = start(*EXPORT)
    part = folder / "out" / "wave-01-1.part"
    while not (part.exists() and part.stat().st_size):
        assert child.poll() is None, child.communicate()
        time.sleep(0.005)
    child.kill()
    child.communicate()
    assert not (folder / "out" / "wave-01-1.jsonl").exists()
    assert "round 1: 3000 questions in 3000 requests" in call(*EXPORT).stdout
    assert len({line["custom_id"] for line in lines(folder / "out" / "wave-01-1.jsonl")}) == 3000


def _answers(folder: Path, wave: str) -> Path:
    return results(folder, map(answered, lines(folder / "out" / f"{wave}.jsonl")))


def _refusal(line: dict[str, Any]) -> dict[str, Any]:
    line["response"]["body"]["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "No."}
    return line


def _refused(*arguments: object) -> None:
    raise OSError("the test lets nothing out")


def test_a_folder_of_somebody_else_runs_no_code_and_sends_no_key(
    call: Call, folder: Path, stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another user exported names neither Python code nor a server that is not allowed."""
    server = stub_server()
    spec = f"openai/gpt-4o-mini?base_url={server.url}"
    (folder / "theirs.py").write_text("open('ran', 'w').close()\n", encoding="utf-8")
    options = ("-j", spec, "-j", "classify=embedded", "-m", "faithfulness", "-o", "out")
    call("batch", "export", "data.jsonl", *options)

    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "another user"))
    refused = call("batch", "submit", "out")
    assert refused.exit_code == 2
    assert "--allow-host 127.0.0.1" in refused.stderr
    assert not server.stats()["paths"]
    sent = call("batch", "submit", "out", "--allow-host", "127.0.0.1").stdout
    assert sent.startswith("wave-01-1.jsonl: sent, as batch_1\n")

    _edit_settings(folder / "out", '"embedded"', '"python:theirs:judge"')
    for command in ("submit", "status", "fetch", "import"):
        refused = call("batch", command, "out", "--allow-host", "127.0.0.1")
        assert refused.exit_code == 2
        assert "python:theirs:judge is code" in refused.stderr
    assert not (folder / "ran").exists()


def _edit_settings(folder: Path, old: str, new: str) -> None:
    with closing(sqlite3.connect(folder / "batch.db")) as ledger, ledger:
        ledger.execute("UPDATE facts SET value = replace(value, ?, ?) WHERE name = 'manifest'", (old, new))
