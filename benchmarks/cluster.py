"""Many processes compared with one: python benchmarks/cluster.py [reading] [overhead] [embedded] [memory] [disturbed]
[duplicates]

reading: what the process that reads can pass on, in samples per second of its CPU. overhead: 20,000 samples of cheap
metrics in one process and by one and two workers. embedded: the embedded judge, likewise. memory: the peak of the
process that reads, as its data grows. disturbed: two nodes, each started with `ray start`, on one PostgreSQL and the
stub server of the tests; a worker is killed and PostgreSQL restarted half-way, and scores and calls are compared with
those of one process. duplicates: 16 processes score the same samples at once, each in an order of its own, on one
PostgreSQL and the stub server, with locks and without; a duplicate is a call that another process made too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.memory import drawn
from tests.llm.stub.process import StubServer
from tests.postgres import PostgresServer, programs

import ragauge as rg
from ragauge.store import Store

CHEAP = "rouge,bleu,token_f1,exact_match"
SIZES = (10_000, 100_000, 1_000_000)


def measured(data: str, metrics: str, judge: str, workers: int) -> dict[str, float]:
    """Seconds of a run from a file into a store, those until its first sample was done, and the peak in megabytes."""
    first: list[float] = []
    with TemporaryDirectory() as folder:
        begun = time.perf_counter()
        engine = rg.ray(workers=workers) if workers else None
        run = rg.evaluate(
            data,
            metrics,
            judge,
            Path(folder) / "store",
            engine=engine,
            progress=lambda _: first.append(time.perf_counter()) if not first else None,
        )
        ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "seconds": ended - begun,
        "first": first[0] - begun,
        "peak": peak,
        "value": next(iter(run.estimates.values())).value or 0.0,
    }


def alone(*arguments: Any) -> dict[str, float]:
    """What `measured` gives in a process of its own."""
    command = [sys.executable, __file__, "--measure", json.dumps(arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def written(samples: int) -> Iterator[str]:
    """A file of this many samples."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in drawn(samples))
        yield str(path)


def compare(samples: int, metrics: str, judge: str) -> None:
    """Print the seconds and rate of one process, one worker and two."""
    print(f"{samples:,} samples, {metrics}, {judge}")
    with written(samples) as data:
        base = 0.0
        for workers in (0, 1, 2):
            found = alone(data, metrics, judge, workers)
            base = base or found["seconds"]
            name = f"{workers} worker{'s' if workers > 1 else ''}" if workers else "one process"
            print(
                f"  {name:12} {found['seconds']:8.1f} s, first after {found['first']:6.1f} s, "
                f"{samples / found['seconds']:8.1f} samples/s, {found['seconds'] / base:5.2f} of one process, "
                f"value {found['value']:.6f}",
                flush=True,
            )


def reading(samples: int) -> None:
    """Print how many samples a second of CPU are read and encoded."""
    with written(samples) as data:
        begun, size = time.process_time(), 0
        for sample in rg.read(data):
            size += len(msgspec.json.encode(sample))
        seconds = time.process_time() - begun
    print(f"{samples / seconds:,.0f} samples read and encoded per second of CPU, {size / samples:.0f} bytes each")


def memory(sizes: list[int]) -> None:
    """Print the peak of the driver by the number of rows."""
    for size in sizes:
        with written(size) as data:
            for workers in (0, 1):
                found = alone(data, "token_f1", "lexical", workers)
                name = "driver" if workers else "one process"
                print(f"  {size:10,} rows, {name:11} {found['peak']:8.1f} MB, {found['seconds']:7.1f} s", flush=True)


@contextmanager
def two_nodes(environment: dict[str, str]) -> Iterator[str]:
    """The address of a cluster of two nodes on this machine, each of two CPUs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"{socket.gethostbyname(socket.gethostname())}:{port}"
    common = ["--num-cpus=2", "--block", "--disable-usage-stats"]
    ray = [str(Path(sys.executable).with_name("ray")), "start"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    nodes = [subprocess.Popen([*ray, "--head", f"--port={port}", "--include-dashboard=false", *common], **quiet)]
    try:
        _wait_for(port)
        nodes.append(subprocess.Popen([*ray, f"--address={address}", *common], **quiet))
        time.sleep(20)
        yield address
    finally:
        for node in reversed(nodes):
            node.terminate()
            node.wait(timeout=60)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((socket.gethostbyname(socket.gethostname()), port)) == 0:
                return
        time.sleep(0.5)
    raise TimeoutError("the head did not start")


def workers_of(parent: int) -> list[int]:
    """The processes of Ray that score, among all that a process has started."""
    rows = [
        line.split(None, 2)
        for line in subprocess.check_output(["ps", "-eo", "pid=,ppid=,args="], text=True).splitlines()
    ]
    parents = {int(pid): int(above) for pid, above, _ in rows}

    def ours(pid: int) -> bool:
        return pid == parent or (pid in parents and ours(parents[pid]))

    return [int(pid) for pid, _, name in rows if name.startswith("ray::Worker") and ours(int(pid))]


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of its own."""
    place = programs()
    if place is None:
        raise SystemExit("PostgreSQL is not installed")
    server = PostgresServer(place)
    try:
        yield server
    finally:
        server.remove()


def disturbed(samples: int) -> None:
    """Print how a run on two nodes that is disturbed compares with one in this process."""
    rows = list(drawn(samples))
    os.environ |= {"OPENAI_API_KEY": "none", "RAY_AUTH_MODE": "disabled"}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RAY_USAGE_STATS_ENABLED": "0"}
    with postgres_server() as postgres, StubServer(latency=0.05) as stub, TemporaryDirectory() as folder:
        judge = f"openai/gpt-4o-mini?base_url={stub.url}&concurrency=16"
        plain = rg.evaluate(rows, "faithfulness", judge, Path(folder))
        once = stub.stats()["calls"]
        stub.reset(latency=0.05)
        with two_nodes(environment) as address:
            trouble = Thread(target=disturb, args=(stub, postgres, once // 2))
            trouble.start()
            begun = time.perf_counter()
            engine = rg.ray(address, workers=3)
            spread = rg.evaluate(rows, "faithfulness", judge, postgres.new(), engine=engine)
            seconds = time.perf_counter() - begun
            trouble.join()
        again = stub.stats()
        equal = spread.estimates == plain.estimates and all(
            one.scores == other.scores for one, other in zip(plain.records(), spread.records(), strict=True)
        )
        print(f"{samples:,} samples on two nodes, a worker killed, PostgreSQL restarted: {seconds:.0f} s")
        print(f"  scores and estimates equal to one process: {equal}")
        print(f"  calls: {once:,} in one process, {again['calls']:,} here; most in flight {again['widest']}")


def disturb(stub: StubServer, postgres: PostgresServer, after: int) -> None:
    """Kill a worker after this number of calls, and then restart PostgreSQL."""
    while stub.stats()["calls"] < after:
        time.sleep(0.1)
    os.kill(workers_of(os.getpid())[0], signal.SIGKILL)
    time.sleep(2)
    postgres.stop()
    postgres.start()


def duplicates(samples: int) -> None:
    """Print how many calls 16 processes make that another has made."""
    os.environ["OPENAI_API_KEY"] = "none"
    needed = 2 * samples
    with postgres_server() as postgres, StubServer(latency=0.5, jitter=0.5) as stub:
        for locks in (True, False):
            stub.reset(latency=0.5, jitter=0.5)
            store, begun = postgres.new(), time.perf_counter()
            shared = [json.dumps([samples, seed, stub.url, store, locks]) for seed in range(16)]
            for one in [subprocess.Popen([sys.executable, __file__, "--share", given]) for given in shared]:
                if one.wait():
                    raise SystemExit("a process failed")
            seconds, calls = time.perf_counter() - begun, stub.stats()["calls"]
            print(
                f"{'with' if locks else 'without'} locks: {seconds:.0f} s, {calls:,} calls, {needed:,} needed:",
                end=" ",
            )
            print(f"{(calls - needed) / needed * 10_000:,.0f} duplicates per 10,000")


def share(samples: int, seed: int, url: str, place: str, locks: bool) -> None:
    """Score all samples in an order of one's own."""
    rows = list(drawn(samples))
    random.Random(seed).shuffle(rows)
    with Store.open(place) as store:
        if not locks:
            store.lock = set  # type: ignore[method-assign,assignment]
        rg.evaluate(rows, "faithfulness", f"openai/gpt-4o-mini?base_url={url}&concurrency=8", store)


def main() -> None:
    """Measure what is named, or everything."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument(
        "what", nargs="*", choices=["reading", "overhead", "embedded", "memory", "disturbed", "duplicates", []]
    )
    arguments.add_argument(
        "--samples", type=int, help="of overhead and disturbed 20,000, of embedded 400, of duplicates 1,000"
    )
    arguments.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="of memory")
    arguments.add_argument("--measure", help=argparse.SUPPRESS)
    arguments.add_argument("--share", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.measure:
        print(json.dumps(measured(*json.loads(given.measure))))
        return
    if given.share:
        share(*json.loads(given.share))
        return
    what = given.what or ["reading", "overhead", "embedded", "memory", "disturbed", "duplicates"]
    if "reading" in what:
        reading(given.samples or 20_000)
    if "overhead" in what:
        compare(given.samples or 20_000, CHEAP, "lexical")
    if "embedded" in what:
        compare(given.samples or 400, "faithfulness", "embedded")
    if "memory" in what:
        memory(given.sizes)
    if "disturbed" in what:
        disturbed(given.samples or 20_000)
    if "duplicates" in what:
        duplicates(given.samples or 1_000)


if __name__ == "__main__":
    main()
