"""What a run makes of a server that misbehaves: every fault by itself, and four mixes, at a share of the replies.

    python benchmarks/faults.py [--only NAME ...] [--share 0.2] [--samples 40] [--seed 1]

The server is the stub of the tests, a process of its own that speaks OpenAI's protocol over loopback HTTP and answers
after 20 ms; its faults are drawn by a seed. Each run evaluates seven metrics into a new store on disk, in a process of
its own, and is compared with a run without faults. Printed by fault:

- faulted: replies with the fault;
- unscored: scores that failed;
- wrong: scores with another value than without faults;
- repeated: calls beyond those of the run without faults;
- time: as a ratio to the run without faults; MB: the most memory that the process held.

The exit code is 1 where a score is wrong or the price absurd, where a score is missing that a retry would have got,
where a process held more than 16 MB beyond the usual for each call, where prompts went to an origin that nobody named,
and where a run raised or did not end. A server that asks to be left alone for a year, or that moved to another origin,
ends a run on purpose: it must say why, and running again, by then without faults, must complete it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.llm.stub.process import StubServer

import ragauge as rg
from ragauge.errors import RunFailed

METRICS = (
    "faithfulness",
    "hallucination",
    "answer_relevance",
    "context_precision",
    "context_recall",
    "answer_correctness",
    "chunk_utility",
)
LATENCY = 0.02
WIDTH = 16
TIMEOUT = 1.0  # seconds that a call may take
MOST_SECONDS = 20.0  # that a run may take, or as many times the run without faults
MOST_MEGABYTES = 16.0 * WIDTH  # that a run may hold beyond those of the run without faults
MOST_DEARER = 10  # times the price of the run without faults that a run may cost
HEADER = "fault              faulted  unscored  wrong  repeated   time    MB"

STATUSES = (
    *("429", "500", "502", "503", "529", "408", "204", "418", "451"),
    *("429-seconds", "429-date", "429-absurd", "429-negative", "429-overflow", "429-latin1", "429-page"),
    *("307-same", "308-elsewhere", "limits-absurd", "limits-negative", "limits-huge"),
)
BODIES = (
    *("garbled", "blank", "halved", "gzip", "gzip-broken", "gzip-bomb", "bad-utf8", "nul", "bom", "deep"),
    *("member-twice", "drop", "severed", "reset", "stalled", "stall", "drip", "trickle", "endless"),
    *(
        "chunk-garbage",
        "chunk-unended",
        "no-http",
        "continues",
        "switched",
        "followed",
        "doubled",
        "doubled-late",
        "long-header",
    ),
)
COMPLETIONS = (
    *("choices-empty", "choices-null", "choices-missing", "choices-disagree"),
    *("content-null", "content-parts", "tool-call", "error-200"),
    *("usage-missing", "usage-null", "usage-small", "usage-cached", "usage-negative", "usage-huge", "usage-text"),
)
TEXTS = (
    *("cut", "length", "malformed", "invalid", "fenced", "empty", "prose-before", "prose-after", "thought"),
    *("wrapped", "declined", "twice-equal", "twice-wrong-last", "twice-wrong-first", "missing-item", "extra-item"),
    *("unknown-id", "duplicate-id", "field-twice", "wrong-word", "capital", "nul-text"),
)

#: Faults that end a run on purpose, and what it must then say.
ENDING = {"429-absurd": "asks to wait", "limits-absurd": "asks to wait", "308-elsewhere": "HTTP 308"}

MIXES = {
    "mix-statuses": tuple(name for name in STATUSES if name not in ENDING),
    "mix-bodies": BODIES,
    "mix-replies": (*COMPLETIONS, *TEXTS),
    "mix-all": tuple(name for name in (*STATUSES, *BODIES, *COMPLETIONS, *TEXTS) if name not in ENDING),
}
FAULTS = {**{name: (name,) for name in (*STATUSES, *BODIES, *COMPLETIONS, *TEXTS)}, **MIXES}

Scores = dict[tuple[str, str], tuple[float | str | None, str]]


class Done(NamedTuple):
    """A run: its scores by sample and metric (a value or "undefined", and why it failed), seconds, memory and price.

    stopped: why it ended before the data did, where it said so.
    """

    scores: Scores
    seconds: float
    megabytes: float
    price: float
    stopped: str = ""

    @property
    def failures(self) -> list[str]:
        """Why scores are missing: once for each that failed, and why there are no more samples."""
        failed = [why for _, why in self.scores.values() if why]
        return [*failed, self.stopped] if self.stopped else failed


class Found(NamedTuple):
    """What a fault did to a run; None where it raised or did not end. ended: a run before it that ended on purpose."""

    faulted: int
    calls: int
    elsewhere: int
    done: Done | None
    ended: Done | None = None


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Samples in made-up words, of which none is like another; some claims hold, some do not, and some have numbers."""
    chance = random.Random(0)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(4, 9))) for _ in range(3_000)]

    def sentence() -> str:
        return " ".join([*chance.sample(words, 8), str(chance.randint(10, 99))]).capitalize() + "."

    for _ in range(count):
        contexts = [[sentence() for _ in range(3)] for _ in range(4)]
        known = [one for context in contexts for one in context]
        reply = chance.sample(known, 4)
        altered = f"{reply[3][:-3]}{chance.randint(100, 999)}."
        response = [*reply[: chance.randint(1, 3)], *(sentence() for _ in range(chance.randint(0, 2))), altered]
        yield {
            "query": " ".join(reply[0].split()[:6]) + "?",
            "response": " ".join(response),
            "contexts": [" ".join(context) for context in contexts],
            "references": [" ".join([reply[0], *([sentence()] if chance.random() < 0.5 else []), known[-1]])],
        }


def evaluate(data: Sequence[Mapping[str, Any]], url: str, folder: str, results: Connection) -> None:
    """One run, in the process that this is called in."""
    os.environ["OPENAI_API_KEY"] = "none"
    judge = rg.llm("openai/gpt-4o-mini", base_url=url, concurrency=WIDTH, timeout=TIMEOUT)
    began = time.perf_counter()
    try:
        run = rg.evaluate(data, METRICS, judge, folder)
    except RunFailed as failed:
        return results.send(Done({}, time.perf_counter() - began, _most_memory(), 0.0, str(failed)))
    seconds = time.perf_counter() - began
    scores = {(one.sample.id, name): _plain(one.score(name)) for one in run.records() for name in one.scores}
    return results.send(Done(scores, seconds, _most_memory(), run.record.spent.cost, run.record.stopped))


def _plain(score: rg.scores.Score) -> tuple[float | str | None, str]:
    return ("undefined" if score.undefined else score.value), score.failed or ""


def _most_memory() -> float:
    """The most that this process held, in MB, without that of the one that started it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


class Bench:
    """The server and the data."""

    def __init__(self, stub: StubServer, samples: int, share: float, seed: int) -> None:
        self._stub, self._share, self._seed = stub, share, seed
        self._data = list(rows(samples))

    def clean(self) -> Found:
        """A run without faults, after one that warms up the caches of this machine."""
        with tempfile.TemporaryDirectory() as folder:
            self._run({}, folder, MOST_SECONDS)
        with tempfile.TemporaryDirectory() as folder:
            return self._run({}, folder, MOST_SECONDS)

    def found(self, name: str, seconds: float) -> Found:
        """What faults of this name do to a run, with equal shares; one that ends on purpose is run again."""
        with tempfile.TemporaryDirectory() as folder:
            found = self._run(dict.fromkeys(FAULTS[name], self._share / len(FAULTS[name])), folder, seconds)
            if name not in ENDING or found.done is None:
                return found
            again = self._run({}, folder, seconds)
        calls, elsewhere = found.calls + again.calls, found.elsewhere + again.elsewhere
        return Found(found.faulted, calls, elsewhere, again.done, found.done)

    def _run(self, faults: Mapping[str, float], folder: str, seconds: float) -> Found:
        """A run in a new process, which is killed where it does not end in time."""
        self._stub.reset(latency=LATENCY, fault=faults, seed=self._seed)
        spawn = multiprocessing.get_context("spawn")
        results, sender = spawn.Pipe(duplex=False)
        process = spawn.Process(target=evaluate, args=(self._data, self._stub.url, folder, sender), daemon=True)
        process.start()
        sender.close()
        try:
            done: Done | None = results.recv() if results.poll(seconds) else None
        except EOFError:
            done = None
        process.kill()
        process.join()
        stats = self._stub.stats()
        return Found(sum(stats["faults"].values()), stats["calls"], _elsewhere(stats["paths"]), done)


def _elsewhere(paths: Mapping[str, int]) -> int:
    return sum(number for path, number in paths.items() if path.startswith("/elsewhere"))


class Verdict(NamedTuple):
    """The line on a fault. bad: why it is wrong; "" where all is well."""

    unscored: int
    wrong: int
    bad: str


def judged(name: str, found: Found, clean: Done) -> Verdict:
    """Compare a run with the one without faults."""
    done = found.done
    if done is None:
        return Verdict(len(clean.scores), 0, "it raised, or did not end in time")
    wrong = sum(value != clean.scores[key][0] and not why for key, (value, why) in done.scores.items())
    unscored = len(clean.scores) - sum(not why for _, why in done.scores.values())
    unexplained = [why for why in found.ended.failures if ENDING[name] not in why] if found.ended else []
    reasons = [
        "" if 0 <= done.price <= MOST_DEARER * clean.price else f"a price of {done.price:g} dollars",
        "wrong scores" if wrong else "",
        *[f"unscored: {why}" for why in (done.failures + unexplained)[:1]],
        f"{done.megabytes:.0f} MB held" if done.megabytes > clean.megabytes + MOST_MEGABYTES else "",
        f"{found.elsewhere} prompts sent to another origin" if found.elsewhere else "",
    ]
    return Verdict(unscored, wrong, "; ".join(filter(None, reasons)))


def show(name: str, found: Found, clean: Found, verdict: Verdict) -> None:
    """Print a row of the table."""
    assert clean.done
    took = "     -     -"
    if found.done:
        took = f"{found.done.seconds / clean.done.seconds:6.1f} {found.done.megabytes:5.0f}"
    numbers = f"{found.faulted:9} {verdict.unscored:9} {verdict.wrong:6} {found.calls - clean.calls:9}"
    note = verdict.bad or (f"ended on purpose ({ENDING[name]}), complete when run again" if found.ended else "")
    print(f"{name:17}{numbers} {took}  {note[:150]}".rstrip(), flush=True)


def measure(names: Sequence[str], samples: int, share: float, seed: int) -> int:
    """Measure and print; how many runs came out as they must not."""
    began = time.perf_counter()
    with StubServer() as stub:
        bench = Bench(stub, samples, share, seed)
        clean = bench.clean()
        if clean.done is None or clean.done.failures:
            raise SystemExit("the run without faults failed")
        print(f"{samples} samples, {len(clean.done.scores)} scores, {clean.calls} calls, ", end="")
        print(f"{clean.done.seconds:.2f} s, {clean.done.megabytes:.0f} MB without faults; share {share:g}\n\n{HEADER}")
        verdicts, faulted = [], 0
        for name in names:
            found = bench.found(name, MOST_SECONDS * max(1.0, clean.done.seconds))
            verdicts.append(judged(name, found, clean.done))
            faulted += found.faulted
            show(name, found, clean, verdicts[-1])
    bad = sum(bool(verdict.bad) for verdict in verdicts)
    unscored, wrong = (sum(column) for column in list(zip(*verdicts, strict=True))[:2])
    print(f"\n{len(names)} runs in {time.perf_counter() - began:.0f} s, {faulted} replies faulted: ", end="")
    print(f"{unscored} unscored, {wrong} wrong, {bad} runs bad")
    return bad


def main() -> None:
    """Measure what the arguments say."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--only", action="append", metavar="NAME", choices=FAULTS, help="may be given several times")
    arguments.add_argument("--share", type=float, default=0.2)
    arguments.add_argument("--samples", type=int, default=40)
    arguments.add_argument("--seed", type=int, default=1, help="of the faults")
    given = arguments.parse_args()
    raise SystemExit(bool(measure(given.only or list(FAULTS), given.samples, given.share, given.seed)))


if __name__ == "__main__":
    main()
