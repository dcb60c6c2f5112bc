"""What an LLM judge costs besides the model: calls, characters, CPU and waiting, for five metrics of a RAG data set.

    python benchmarks/llm_flow.py [--samples 500] [--faults] [--instructor PYTHON] [--peer PYTHON]

The model is the stub server of the tests, a process of its own, which replies after 50 ms; so is each system that is
measured (benchmarks/peers), after it was warmed up. Samples have five contexts of about 600 characters, a response of
four sentences and a reference of two, and no text twice. Printed by system and calls side by side, medians of three:

- calls and characters of the prompts a sample; "beyond" are those beyond twice the length of the contexts;
- CPU ms a call: of the whole process, for all that it does, reading rows and storing scores included;
- x floor: that CPU as a multiple of what a bare loop of aiohttp takes that posts the very same bodies;
- x ideal: the wall time as a multiple of calls x latency / calls side by side.

"no HTTP" is ragauge over a transport that gives back recorded replies after the same 50 ms; what the JSON of these
calls takes by itself is measured apart, and what is left is the framework: planning, prompts, checks, storing, and the
event loop. See benchmarks/peers/ragauge_flow.py.

--faults: 10 % of the calls get status 429, 5 % status 500, 5 % a reply that is cut off, and 0.2 % stall; the ideal is
that of a run without faults. "unscored" are samples that lack a score. Others are spared the stalls, which would hold
them for ten minutes.
--instructor: an interpreter with `instructor` and what ragauge depends on; this one, where that can import it. The same
judge asks through an instructor client. --peer: an interpreter with valor-lite 0.39 and openai.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.llm.stub.process import StubServer

HERE = Path(__file__).resolve().parent
LATENCY = 0.05
WIDTHS = (16, 64)
FAULTS = {"429": 0.10, "500": 0.05, "cut": 0.05}
STALLS = {"stall": 0.002}

Row = dict[str, Any]


class System(NamedTuple):
    """Something to measure. script: in benchmarks/peers. way: that the script should take."""

    name: str
    python: str
    script: str = "ragauge_flow.py"
    way: str = ""


OURS = System("ragauge", sys.executable, way="http")
NO_HTTP = System("ragauge, no HTTP", sys.executable, way="replay")
FLOOR = System("aiohttp loop, same bodies", sys.executable, way="bare")


class Took(NamedTuple):
    """What a system took: calls and prompt characters a sample, CPU in ms a call, the part of JSON alone if known."""

    calls: float
    characters: float
    cpu: float
    json: float
    seconds: float
    unscored: float


def rows(count: int) -> Iterator[Row]:
    """Samples in made-up words and a few English ones; its statements are in the contexts, but for one sentence."""
    chance = random.Random(0)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(3, 9))) for _ in range(5_000)]

    def sentence() -> str:
        halves = " ".join(chance.sample(words, 5)), " ".join(chance.sample(words, 5))
        return " and the ".join(halves).capitalize() + "."

    for _ in range(count):
        contexts = [[sentence() for _ in range(7)] for _ in range(5)]
        reply = [chance.choice(context) for context in contexts]
        yield {
            "query": " ".join(reply[0].split()[:8]) + "?",
            "response": " ".join([*reply[:3], sentence()]),
            "contexts": [" ".join(context) for context in contexts],
            "references": [f"{reply[0]} {reply[4]}"],
        }


class Bench:
    """The server and the data; starts a system's process, and measures."""

    def __init__(self, stub: StubServer, path: Path, samples: int) -> None:
        self._stub, self._path, self._samples = stub, path, samples

    def took(self, system: System, width: int, faults: Mapping[str, float]) -> Took:
        """One measurement."""
        self._stub.reset()
        command = [system.python, str(HERE / "peers" / system.script), str(self._path), f"--url={self._stub.url}"]
        command += [f"--width={width}", f"--way={system.way}"]
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
            assert process.stdin
            assert process.stdout
            if process.stdout.readline() != "ready\n":
                raise SystemExit(f"{system.name} did not get ready: {' '.join(command)}")
            self._stub.reset(latency=LATENCY, fault=faults)
            reply = json.loads(process.communicate("go\n")[0])
        return self._figures(reply)

    def _figures(self, reply: Mapping[str, float]) -> Took:
        stats = self._stub.stats()
        calls = reply.get("calls", stats["calls"])
        characters = stats["prompt_characters"] / self._samples
        per_call = 1000 / calls
        json_cpu = reply.get("json", 0.0) * per_call
        return Took(
            calls / self._samples, characters, reply["cpu"] * per_call, json_cpu, reply["seconds"], reply["unscored"]
        )


Measured = dict[tuple[System, int], Took]


def measured(bench: Bench, systems: Sequence[System], repetitions: int, *, faulty: bool = False) -> Measured:
    """The medians of each system at each width; rounds take turns, so that a busy moment hits all alike."""
    each: dict[tuple[System, int], list[Took]] = {}
    for _ in range(repetitions):
        for system, width in product(systems, WIDTHS):
            faults = {**FAULTS, **(STALLS if system == OURS else {})} if faulty else {}
            each.setdefault((system, width), []).append(bench.took(system, width, faults))
    return {what: Took(*map(statistics.median, zip(*took, strict=True))) for what, took in each.items()}


def show_plain(found: Measured, samples: int, contexts: float) -> None:
    """Print the run without faults."""
    print(f"\n{'':34}calls  characters (beyond)   CPU ms a call (x floor)        s (x ideal)")
    for (system, width), took in found.items():
        sent = f"{took.characters:10,.0f} ({took.characters - 2 * contexts:6,.0f})" if took.characters else " " * 19
        cpu = f"{took.cpu:9.3f} ({took.cpu / found[FLOOR, width].cpu:6.1f})"
        wall = f"{took.seconds:10.2f} ({took.seconds / ideal(took, samples, width):6.2f})"
        print(f"{system.name:27}{width:3} wide {took.calls:5.1f} {sent}      {cpu} {wall}")


def show_parts(found: Measured) -> None:
    """Print where the CPU of ragauge goes."""
    print("\nCPU ms a call of ragauge        in all   JSON alone   outside HTTP and JSON")
    for width in WIDTHS:
        all_of_it, parts = found[OURS, width], found[NO_HTTP, width]
        print(f"{width:30} wide {all_of_it.cpu:6.3f} {parts.json:12.3f} {parts.cpu - parts.json:20.3f}")


def show_beside(found: Measured, matched: Sequence[System]) -> None:
    """Print what others need as multiples of what ragauge needs."""
    for system, width in product(matched, WIDTHS):
        ours, theirs = found[OURS, width], found[system, width]
        per_sample = theirs.cpu * theirs.calls / (ours.cpu * ours.calls)
        print(
            f"{system.name}, {width} wide, beside ragauge: {theirs.calls / ours.calls:.1f} x the calls, "
            f"{theirs.characters / ours.characters:.1f} x the characters, {per_sample:.1f} x the CPU a sample, "
            f"{theirs.seconds / ours.seconds:.1f} x the time"
        )


def show_faults(found: Measured, plain: Measured, samples: int) -> None:
    """Print the run with faults."""
    print(f"\nwith faults{'':23}calls  unscored        s (x ideal)")
    for (system, width), took in found.items():
        wall = f"{took.seconds:8.2f} ({took.seconds / ideal(plain[system, width], samples, width):6.2f})"
        print(f"{system.name:27}{width:3} wide {took.calls:5.1f} {took.unscored:9.0f} {wall}")


def ideal(took: Took, samples: int, width: int) -> float:
    """Seconds that the calls take on the server's side, with a given concurrency."""
    return took.calls * samples * LATENCY / width


def others(instructor: str | None, peer: str | None) -> list[System]:
    """The other systems to measure."""
    if instructor is None and find_spec("instructor"):
        instructor = sys.executable
    found = [System("ragauge through instructor", instructor, way="instructor")] if instructor else []
    return found + ([System("valor-lite", peer, "valor_flow.py")] if peer else [])


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--samples", type=int, default=500)
    arguments.add_argument("--repetitions", type=int, default=3)
    arguments.add_argument("--faults", action="store_true")
    arguments.add_argument("--instructor", metavar="PYTHON")
    arguments.add_argument("--peer", metavar="PYTHON")
    given = arguments.parse_args()
    matched = others(given.instructor, given.peer)
    data = list(rows(given.samples))
    contexts = statistics.mean(sum(map(len, row["contexts"])) for row in data)
    with tempfile.TemporaryDirectory() as folder, StubServer() as stub:
        path = Path(folder, "rows.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
        bench = Bench(stub, path, given.samples)
        print(f"{given.samples} samples, contexts of {contexts:,.0f} characters, {LATENCY * 1000:.0f} ms, ", end="")
        print(f"median of {given.repetitions}")
        plain = measured(bench, [OURS, NO_HTTP, FLOOR, *matched], given.repetitions)
        show_plain(plain, given.samples, contexts)
        show_parts(plain)
        show_beside(plain, matched)
        if given.faults:
            found = measured(bench, [OURS, *matched], given.repetitions, faulty=True)
            show_faults(found, plain, given.samples)


if __name__ == "__main__":
    main()
