from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
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
    "arguments",
    [
        pytest.param(["demo"], marks=pytest.mark.slow),
        ["run", "data.json", "-o", "out.json"],
        ["plan", "data.json"],
        ["metrics"],
        ["judges"],
    ],
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


@pytest.mark.parametrize("command", [pytest.param(["demo"], marks=pytest.mark.slow), ["run", "data.json"]])
def test_it_works_where_there_is_no_network(data: Path, command: list[str]) -> None:
    """In a network namespace with no device the demo and a run end well, where the system has such namespaces."""
    alone = ["unshare", "--net", "--map-root-user"] if shutil.which("unshare") else []
    if alone and subprocess.run([*alone, "true"], capture_output=True).returncode:
        alone = []
    done = _run([*alone, sys.executable, "-m", "ragauge", *command], data)
    assert "faithfulness" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not (find_spec("torch") and find_spec("transformers")), reason="needs ragauge[hf]")
@pytest.mark.parametrize(("environment", "printed"), [({}, "True 1"), ({"ORT_DISABLE_TELEMETRY": "0"}, "True 0")])
def test_a_model_of_the_hub_is_opened_with_telemetry_off(environment: dict[str, str], printed: str) -> None:
    """The hub client is imported with its telemetry off, unless the environment sets the switch."""
    script = (
        "import os\nimport ragauge as rg\n"
        "try: rg.load_judge('hf/no/such')\nexcept rg.errors.BadData: pass\n"
        "from huggingface_hub import constants\n"
        "print(constants.HF_HUB_DISABLE_TELEMETRY, os.environ['ORT_DISABLE_TELEMETRY'])"
    )
    alone = {name: value for name, value in _environment().items() if "TELEMETRY" not in name}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**alone, "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == printed, done.stderr


#: System calls that reach a network, open a file or make one; each line names the folder of a relative path.
TRACED = "trace=%network,open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat"

#: An address of the internet, the name service cache, or a file that only a name look-up reads.
LOOKS_OUT = re.compile(r"sa_family=AF_INET|/nscd/|/etc/(?:resolv\.conf|hosts|nsswitch\.conf)\"")

#: A call that makes or writes to a file; `path` is the last path named in it, `folder` what a relative one starts from.
WRITES = re.compile(
    r"(?:\w*(?:mkdir|rename|link|creat)\w*|open(?:at)?(?=\(.*O_(?:WRONLY|RDWR|CREAT)))\("
    r"(?:.*, )??(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?\"(?P<path>[^\"]*)\"[^\"]*\) = (?!-1)"
)

HOLDING = """
import time
import ragauge as rg
run = rg.evaluate("data.json", metrics=["faithfulness", "context_relevance"], store="store")
print("scored", run.estimates["faithfulness"].n)
time.sleep(15)
"""

PRYING = """
import socket
from pathlib import Path
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 53))
Path.home().joinpath("seen").mkdir()
"""


class Watch:
    """Runs commands under strace, in a folder, with a new home and a new folder for temporary files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._trace = folder / "here", folder / "trace"
        self._outside = (folder / "home", folder / "temporary")
        for made in (self.folder, *self._outside):
            made.mkdir()

    def calls(self, *command: str) -> list[str]:
        """The traced system calls of a command that must end well, of all its processes and threads."""
        home, temporary = map(str, self._outside)
        environment = {**_environment(), "HOME": home, "TMPDIR": temporary, "PYTHONDONTWRITEBYTECODE": "1"}
        for switch in [name for name in environment if "TELEMETRY" in name or name.startswith("XDG_")]:
            del environment[switch]
        trace = ["strace", "-ff", "-y", "-s", "4096", "-e", TRACED, "-o", str(self._trace)]
        done = subprocess.run(
            [*trace, *command], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        return [line for part in self._trace.parent.glob("trace.*") for line in part.read_text().splitlines()]

    def written_elsewhere(self, calls: list[str]) -> list[str]:
        """What was written outside the working folder, but for temporary files that are gone, and the user's secret."""
        written = [Path(match["folder"] or self.folder, match["path"]) for match in map(WRITES.match, calls) if match]
        settings = self._outside[0] / ".config"
        allowed = (self.folder, self._outside[1], Path("/dev"), Path("/proc/self"), settings)
        left = [str(path) for folder in self._outside for path in folder.rglob("*") if path.is_file()]
        left = [path for path in left if path != str(settings / "ragauge" / "secret")]
        return left + [str(path) for path in written if not any(map(path.is_relative_to, allowed))]


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    """A watch with data in its folder; the test is skipped where system calls cannot be traced."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed; apt-get install strace")
    tried = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"the system does not let strace trace: {tried.stderr.strip()}")
    watch = Watch(tmp_path)
    (watch.folder / "data.json").write_text(json.dumps(ROWS), encoding="utf-8")
    (watch.folder / "sets").mkdir()
    pairs = [
        {"premise": "Ada wrote it.", "claim": f"{name} wrote it.", "label": name == "Ada"} for name in ("Ada", "Bob")
    ]
    (watch.folder / "sets" / "ent_books.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    return watch


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["-m", "ragauge", "demo"],
        ["-m", "ragauge", "run", "data.json", "-o", "report.html"],
        ["-m", "ragauge", "judges", "measure", "embedded", "--data", "sets"],
        ["-c", HOLDING],
    ],
    ids=["demo", "run", "measure", "held for 15 seconds"],
)
def test_the_kernel_sees_nothing_leave(watch: Watch, command: list[str]) -> None:
    """No library below Python reaches for a network, looks up a name, or leaves a file outside the working folder."""
    calls = watch.calls(sys.executable, *command)
    assert [call for call in calls if LOOKS_OUT.search(call)] == []
    assert watch.written_elsewhere(calls) == []


@pytest.mark.slow
def test_the_trace_shows_an_attempt(watch: Watch) -> None:
    """The trace itself works: a connection and a folder made in the home are seen."""
    calls = watch.calls(sys.executable, "-c", PRYING)
    assert any(call.startswith("connect(") and LOOKS_OUT.search(call) for call in calls)
    assert {Path(path).name for path in watch.written_elsewhere(calls)} == {"seen"}
