"""What hostile files, servers and cluster events make of ragauge: each attack by itself, and whether it was held.

    python benchmarks/attack.py [NAME ...]

Each attack runs the commands of a user in a folder of its own, with a key in the environment and a home of its own.
Printed is a line for each: its name, `held` or `NOT HELD`, and what was tried. The exit code is 1 where one was not
held. docs/reliability.md says what is promised.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow
from pyarrow import parquet

SOURCES = Path(__file__).resolve().parents[1] / "src"
KEY = "sk-attack-0123456789abcdefghijklmnop"
ROW = {"query": "Who wrote it?", "response": "Ada wrote it.", "contexts": ["Ada wrote it."], "references": ["Ada"]}


class Attack(NamedTuple):
    """An attack. succeeds: runs it in a folder, and returns what got through, "" where it was held."""

    name: str
    what: str
    succeeds: Callable[[Path], str]


ATTACKS: list[Attack] = []


def attack(name: str, what: str) -> Callable[[Callable[[Path], str]], Callable[[Path], str]]:
    """Adds an attack to the list."""

    def add(function: Callable[[Path], str]) -> Callable[[Path], str]:
        ATTACKS.append(Attack(name, what, function))
        return function

    return add


def ragauge(folder: Path, *arguments: str, timeout: float = 120, **options: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder, with the key of OpenAI in the environment."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCES),
        "OPENAI_API_KEY": KEY,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        **options,
    }
    return subprocess.run(
        [sys.executable, "-m", "ragauge", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )


def data(folder: Path, **fields: object) -> str:
    """A file of one sample."""
    (folder / "data.jsonl").write_text(json.dumps({**ROW, **fields}) + "\n", encoding="utf-8")
    return "data.jsonl"


def judge_file(folder: Path, judge: str) -> str:
    """A judge file that somebody sent."""
    (folder / "judge.json").write_text(json.dumps({"schema": "ragauge.judge/1", "judge": judge}), encoding="utf-8")
    return "judge.json"


@contextmanager
def server(reply: Callable[[], tuple[int, bytes]]) -> Iterator[tuple[str, list[str]]]:
    """A server; yields its address, and the Authorization header or path of each request that it receives."""
    received: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            received.append(self.headers.get("Authorization") or self.path)
            status, body = reply()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}", received
    finally:
        listening.shutdown()
        listening.server_close()


@attack("E1", "a judge file that names Python code, by itself and in a panel, in run and in plan")
def judge_file_with_code(folder: Path) -> str:
    """The module leaves a file where it is imported."""
    (folder / "evil.py").write_text("open('ran', 'w').close()\nx = None\n", encoding="utf-8")
    for judge in ("python:evil:x", "panel(embedded,python:evil:x)", "repeat(cascade(embedded,python:evil:x),2)"):
        for command in ("run", "plan"):
            ragauge(folder, command, data(folder), "-j", judge_file(folder, judge))
            if (folder / "ran").exists():
                return f"{command} with {judge} ran code"
    ragauge(folder, "plan", data(folder), "-j", "python:evil:x")
    return "plan imported a module" if (folder / "ran").exists() else ""


@attack("E2", "a judge file that names another server, which gets the key")
def judge_file_with_server(folder: Path) -> str:
    """The server answers nothing useful, and keeps what it is sent."""
    with server(lambda: (200, b"{}")) as (address, received):
        for judge in (f"openai/gpt-4o-mini?base_url={address}", f"panel(embedded,openai/gpt-4o?base_url={address})"):
            ragauge(folder, "run", data(folder), "-j", judge_file(folder, judge))
    return f"{len(received)} requests with {received[0]}" if received else ""


@attack("E3", "a JSON Schema that refers to a server, and to a file")
def schema_that_refers(folder: Path) -> str:
    """The server has the rest of the schema, and keeps the paths that it is asked for."""
    with server(lambda: (200, b"{}")) as (address, received):
        (folder / "schema.json").write_text(json.dumps({"$ref": f"{address}/schema.json"}), encoding="utf-8")
        ragauge(folder, "run", data(folder, response="{}"), "-m", "json_schema(schema.json)")
    (folder / "other.json").write_text("{}", encoding="utf-8")
    (folder / "schema.json").write_text(json.dumps({"$ref": (folder / "other.json").as_uri()}), encoding="utf-8")
    opened = ragauge(folder, "run", data(folder, response="{}"), "-m", "json_schema(schema.json)").returncode == 0
    return f"asked the server for {received[0]}" if received else "opened the file" if opened else ""


@attack("E3b", "JSON Schemas whose patterns and references take for ever, in unevaluatedProperties and allOf")
def schema_without_end(folder: Path) -> str:
    """Each must end within seconds, without a pass."""
    endless, commas = "(.*?,){20}P", "," * 60
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schemas = [
        {"pattern": endless},
        {"additionalProperties": {"pattern": endless}},
        {"patternProperties": {endless: True}, "unevaluatedProperties": False},
        {"$ref": "#/$defs/d0", "$defs": {**twice, "d60": {}}},
    ]
    for schema, value in zip(schemas, (commas, {"a": commas}, {commas: 1}, 1), strict=True):
        (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
        try:
            done = ragauge(folder, "run", data(folder, response=json.dumps(value)), "-m", "json_schema(schema.json)")
        except subprocess.TimeoutExpired:
            return f"{str(schema)[:40]} took two minutes"
        if done.returncode == 0:
            return f"{str(schema)[:40]} passed"
    return ""


def completion(content: str) -> bytes:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({"model": "m", "choices": [choice]}).encode()


@attack("E7", "a server that repeats the key: in errors that are cut, URL-encoded, in base64, and in a rationale")
def server_that_repeats_the_key(folder: Path) -> str:
    """The key is looked for in what the command prints and writes, and in the store."""
    statement = {"s": 1, "text": "Ada wrote it.", "kind": "claim"}
    verdicts = {"T1": [statement], "1": {"why": KEY, "label": "entailed"}}
    forms = (KEY, f"{'x' * 485} {KEY}", b64encode(f"Bearer {KEY}".encode()).decode(), KEY.replace("-", "%2D"))
    replies = [(400, json.dumps({"error": {"message": form}}).encode()) for form in forms]
    replies += [(200, completion(f"I cannot, {KEY}")), (200, completion(json.dumps(verdicts)))]
    for number, reply in enumerate(replies):
        store, report = f"store{number}", f"report{number}.jsonl"
        with server(lambda reply=reply: reply) as (address, _):
            judge = f"openai/gpt-4o-mini?base_url={address}"
            done = ragauge(folder, "run", data(folder), "-j", judge, "--store", store, "-o", report)
        again = ragauge(folder, "report", "latest", "--store", store, "--show", "1")
        left = [done.stdout, done.stderr, again.stdout, *(path.read_text("utf-8") for path in folder.glob(report))]
        left += [path.read_bytes().decode("latin-1") for path in (folder / store).rglob("*") if path.is_file()]
        begun = {piece[start : start + 10] for piece in (KEY, b64encode(KEY.encode()).decode()) for start in (0, 9, 18)}
        if any(piece in text for piece in begun for text in left):
            return f"it is left after reply {number + 1}"
    return ""


@attack("E8", "a column whose name is a formula, in the CSV of a run")
def formula_as_header(folder: Path) -> str:
    """The header is read as a spreadsheet would read it."""
    ragauge(folder, "run", data(folder, **{"=1+1": "x", "@SUM(A1)": "y"}), "-m", "token_f1", "-o", "run.csv")
    with (folder / "run.csv").open(encoding="utf-8", newline="") as file:
        formulas = [name for name in next(csv.reader(file)) if name[0] in "=+-@"]
    return f"the header has {', '.join(formulas)}" if formulas else ""


@attack("E11", "a row with two responses, NaN for JSON, and NaN for a latency")
def values_that_are_none(folder: Path) -> str:
    """The row must be refused; the checks must not pass."""
    (folder / "twice.jsonl").write_text('{"query": "a", "response": "b", "response": "c"}\n', encoding="utf-8")
    if ragauge(folder, "run", "twice.jsonl", "-m", "max_words(5)").returncode != 2:
        return "the last of two responses was taken"
    data(folder, response="NaN", latency="nan")
    ragauge(folder, "run", "data.jsonl", "-m", "json_valid,latency_below(5)", "-o", "run.json")
    scores = json.loads((folder / "run.json").read_text("utf-8"))["samples"][0]["scores"]
    passed = [name for name in ("json_valid", "latency_below(5)") if scores.get(name, {}).get("value") == 1]
    return f"passed: {', '.join(passed)}" if passed else ""


@attack("E12s", "escapes, bidirectional controls and tags of a response in SARIF")
def signs_in_sarif(folder: Path) -> str:
    """The log must have none of them, escaped or not."""
    signs = "\x1b[31m\u202e\U000e0041"
    ragauge(folder, "run", data(folder, response=f"Bob {signs} sang it."), "-m", "faithfulness", "-o", "run.sarif")
    log = json.dumps(json.loads((folder / "run.sarif").read_text("utf-8")), ensure_ascii=False)
    return "they are in the log" if any(sign in log for sign in "\u202e\U000e0041") or "u001b" in log else ""


#: What a command may hold that is given a bomb, and the seconds that it may take.
MOST_MEGABYTES, MOST_SECONDS = 700, 30


def _bombs(folder: Path) -> Iterator[str]:
    """Files that are small, or no files, and that fill the memory or never end."""
    with gzip.open(folder / "blanks.jsonl.gz", "wb") as file:
        for _ in range(500):
            file.write(b" " * 1_000_000)
    yield "blanks.jsonl.gz"
    (folder / "endless.jsonl").symlink_to("/dev/zero")
    yield "endless.jsonl"
    with ZipFile(folder / "sheet.xlsx", "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/sharedStrings.xml", b" " * 600_000_000)
    yield "sheet.xlsx"
    cells = "<row><c/><c/></row>" * 950_000
    with ZipFile(folder / "cells.xlsx", "w", ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{cells}</sheetData></worksheet>")
    yield "cells.xlsx"
    names = [f"column {number}" for number in range(50_000)]
    (folder / "wide.csv").write_text(f"{','.join(names)}\n{','.join('1' for _ in names)}\n", encoding="utf-8")
    yield "wide.csv"
    with (folder / "quote.csv").open("w", encoding="utf-8") as file:
        file.write('query,response\nq,"open\n')
        file.writelines("a question,the response to it in some words\n" for _ in range(6_000_000))
    yield "quote.csv"
    text, indices = "word " * 10_000_000, pyarrow.array([0] * 2_000, pyarrow.int32())
    repeated = pyarrow.DictionaryArray.from_arrays(indices, [text[:15_000_000]])
    within = pyarrow.ListArray.from_arrays(pyarrow.array([0, 2_000], pyarrow.int32()), repeated)
    whole = pyarrow.DictionaryArray.from_arrays(indices, [text])
    for name, column in {"rows": repeated, "list": within, "whole": whole}.items():
        table = pyarrow.table({"contexts": column})
        parquet.write_table(table, folder / f"{name}.parquet", compression="zstd", dictionary_pagesize_limit=1 << 30)
        yield f"{name}.parquet"


@attack("E9", "small .gz, .xlsx and .parquet bombs, an open quote, a device, 50,000 columns, silent FIFOs")
def files_without_bounds(folder: Path) -> str:
    """Each must be refused soon, with little memory; the FIFO must be announced."""
    for name in _bombs(folder):
        started = time.monotonic()
        limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({4 * MOST_MEGABYTES}000000,) * 2); "
        program = f"{limited}import sys; sys.argv[0] = 'ragauge'; from ragauge.cli import main; main()"
        command = [sys.executable, "-c", program, "run", name, "-m", "max_words(5)"]
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"}
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return f"{name} was read for two minutes"
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
        seconds = time.monotonic() - started
        if done.returncode != 2 or "Traceback" in done.stderr:
            return f"{name} ended with {done.returncode}: {done.stderr[-200:].strip()}"
        if most > MOST_MEGABYTES or seconds > MOST_SECONDS:
            return f"{name} took {seconds:.0f} s and {most:.0f} MB"
    os.mkfifo(folder / "silent.jsonl")
    labelled = [data(folder), "-m", "faithfulness", "--labels", "silent.jsonl"]
    for command in (["silent.jsonl"], labelled, [*labelled[:3], "-j", "recording:silent.jsonl"]):
        try:
            ragauge(folder, "run", *command, timeout=12)
        except subprocess.TimeoutExpired as ended:
            if "waiting for silent.jsonl" not in (ended.stderr or b"").decode():
                return f"nothing was said of the silent FIFO: {' '.join(command)}"
        else:
            return f"the silent FIFO ended the run: {' '.join(command)}"
    return ""


@attack("E10", "a stranger's store in the working folder, whose judgments decide scores")
def store_of_a_stranger(folder: Path) -> str:
    """The run must say that they are not the user's, and --only-own must not use them."""
    (folder / "kind.py").write_text(
        "import ragauge as rg\nkind = rg.judge_from(entail=lambda premise, hypothesis: True, name='kind')\n",
        encoding="utf-8",
    )
    data(folder, response="Bob sang it.")
    command = ("run", "data.jsonl", "-m", "faithfulness", "-j", "entail=python:kind:kind")
    ragauge(folder, *command, XDG_CONFIG_HOME=str(folder / "stranger"))
    reused = ragauge(folder, *command)
    anew = ragauge(folder, *command, "--only-own", "-o", "run.json")
    if "not made by you" not in " ".join(reused.stdout.split()):
        return "the run says nothing of it"
    record = json.loads((folder / "run.json").read_text("utf-8"))["run"]
    return "" if anew.returncode == 0 and not record.get("reused") else "--only-own used them"


@attack("D2", "a watched log that is renamed, copied and cut, and a restart")
def log_that_rotates(folder: Path) -> str:
    """Each line must come once."""
    logs = folder / "logs"
    logs.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "XDG_CONFIG_HOME": str(folder / "config")}
    command = [sys.executable, "-m", "ragauge", "score", "--watch", "logs", "-m", "max_words(5)"]
    number = 0

    def write(count: int) -> None:
        nonlocal number
        with (logs / "a.jsonl").open("a", encoding="utf-8") as file:
            for _ in range(count):
                file.write(json.dumps({"id": f"row {number}", "response": "x"}) + "\n")
                number += 1

    for start in range(2):
        with (folder / f"out{start}").open("w") as output:
            watching = subprocess.Popen(command, cwd=folder, env=environment, stdout=output)
            for turn in range(4):
                write(10)
                while not (folder / f"out{start}").stat().st_size:
                    time.sleep(0.1)
                time.sleep(0.7)
                write(5)
                old = logs / f"a.jsonl.{start}{turn}"
                if turn % 2:
                    (logs / "a.jsonl").rename(old)
                else:
                    shutil.copy(logs / "a.jsonl", old)
                    os.truncate(logs / "a.jsonl", 0)
                write(20)  # more than before the cut
            time.sleep(2)
            watching.send_signal(signal.SIGINT)
            watching.wait(timeout=30)
    lines = [line for start in range(2) for line in (folder / f"out{start}").read_text("utf-8").splitlines()]
    came = Counter(json.loads(line).get("id", "error") for line in lines)
    lost = number - len(came.keys() - {"error"})
    more = came.total() - len(came)
    missing = [n for n in range(number) if f"row {n}" not in came]
    return f"{lost} of {number} lost {missing}, {more} more than once, {came['error']} errors" if lost or more else ""


def main() -> int:
    """Run the attacks that are named, or all."""
    wanted = sys.argv[1:]
    through = 0
    for one in ATTACKS:
        if wanted and one.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            got = one.succeeds(Path(folder))
        through += bool(got)
        print(f"{one.name:<6}{'NOT HELD' if got else 'held':<10}{one.what}{got and f': {got}'}", flush=True)
    return min(through, 1)


if __name__ == "__main__":
    sys.exit(main())
