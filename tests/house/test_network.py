from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ragauge

#: Runs a module as `python -m` does, with every way out of the machine recorded and closed.
WATCHED = """
import json, runpy, socket, sys

tried = []

def refusing(name):
    def refuse(*args, **options):
        tried.append([name, repr(args[-1:])])
        raise OSError("the test lets nothing out")
    return refuse

for name in ("connect", "connect_ex", "sendto", "sendmsg", "bind"):
    setattr(socket.socket, name, refusing(name))
for name in ("getaddrinfo", "gethostbyname", "create_connection"):
    setattr(socket, name, refusing(name))
report, *sys.argv = sys.argv[1:]
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
finally:
    with open(report, "w") as file:
        json.dump(tried, file)
"""

ROWS = [
    {"query": "who", "response": "Ada wrote it. Bob did not.", "contexts": ["Ada wrote it."], "references": ["Ada"]}
]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(ragauge.__file__).parents[1])}


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a file of data."""
    (tmp_path / "data.json").write_text(json.dumps(ROWS), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "arguments", [["demo"], ["run", "data.json", "-o", "out.json"], ["plan", "data.json"], ["metrics"], ["judges"]]
)
def test_nothing_is_sent(data: Path, arguments: list[str]) -> None:
    """No command opens a connection, sends a packet or looks up a name, asked or unasked."""
    _run([sys.executable, "-c", WATCHED, str(data / "tried"), "ragauge", *arguments], data)
    assert json.loads((data / "tried").read_text()) == []


def test_the_watch_sees_an_attempt(tmp_path: Path) -> None:
    """The watch itself works: a module that opens a connection is seen."""
    (tmp_path / "caller.py").write_text(
        "import socket\ntry: socket.socket().connect(('127.0.0.1', 9))\nexcept OSError: 0"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", WATCHED, str(tmp_path / "tried"), "caller"], env=environment, check=True)
    assert json.loads((tmp_path / "tried").read_text()) == [["connect", "(('127.0.0.1', 9),)"]]


def test_it_works_where_there_is_no_network(data: Path) -> None:
    """In a network namespace with no device the demo and a run end well, where the system has such namespaces."""
    alone = ["unshare", "--net", "--map-root-user"] if shutil.which("unshare") else []
    if alone and subprocess.run([*alone, "true"], capture_output=True).returncode:
        alone = []
    for arguments in (["demo"], ["run", "data.json"]):
        done = _run([*alone, sys.executable, "-m", "ragauge", *arguments], data)
        assert "faithfulness" in done.stdout


def test_the_kernel_sees_no_address(data: Path) -> None:
    """Traced at the system calls, a run makes no call with an internet address, where strace can be had."""
    trace = ["strace", "-f", "-e", "trace=network", "-o", "trace"] if shutil.which("strace") else []
    if trace and subprocess.run([*trace, "true"], cwd=data, capture_output=True).returncode:
        trace = []
    done = _run([*trace, sys.executable, "-m", "ragauge", "run", "data.json"], data)
    calls = (data / "trace").read_text() if trace else ""
    assert "faithfulness" in done.stdout
    assert not re.findall(r".*AF_INET.*", calls)
