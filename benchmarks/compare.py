"""What it takes to compare two large runs.

Run `python benchmarks/compare.py [SAMPLES]` (10,000 by default). The samples of the demo are measured with the default
metrics and repeated under queries of their own, half of their values moved by chance, so that differences are many.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

import ragauge as rg
from ragauge.scores import SampleRecord, ScoreRecord
from ragauge.store import Store

AT_ONCE = 500


def moved(score: ScoreRecord, chance: random.Random) -> ScoreRecord:
    """The score, or in half of the cases one close by."""
    if score.value is None or chance.random() < 0.5:
        return score
    return msgspec.structs.replace(score, value=min(1.0, max(0.0, score.value + chance.uniform(-0.1, 0.1))))


def repeated(records: list[SampleRecord], count: int, chance: random.Random) -> Iterator[SampleRecord]:
    """Any number of samples like those of `records`."""
    for at in range(count):
        record = records[at % len(records)]
        sample = msgspec.structs.replace(record.sample, id=str(at), query=f"{record.sample.query} {at}")
        scores = {key: moved(score, chance) for key, score in record.scores.items()}
        yield msgspec.structs.replace(record, sample=sample, scores=scores)


def fill(path: Path, system: str, count: int) -> None:
    """Keep a large run of a system of the demo in a store, under the system's name."""
    with as_file(files("ragauge.demo") / f"{system}.jsonl") as data:
        run = rg.evaluate(data)
    samples = list(repeated(list(run.records()), count, random.Random(system)))
    with Store.open(path) as store:
        store.begin(record := msgspec.structs.replace(run.record, id=system, name=system, samples=count))
        for start in range(0, count, AT_ONCE):
            store.keep_samples(system, start, samples[start : start + AT_ONCE])
        store.finish(record)


def compare(path: Path) -> None:
    """Compare the two runs, and print how long it took and how much memory the process needed."""
    runs = rg.Run.open(path, "baseline"), rg.Run.open(path, "candidate")
    started = time.perf_counter()
    found = rg.compare(*runs, "all")
    seconds, peak = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{found.samples} samples, {len(found.differences)} metrics: {seconds:.1f} s, {peak:.0f} MB")


def main(count: int) -> None:
    """Fill a store in processes of their own, whose memory does not count, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        for system in ("baseline", "candidate"):
            process = multiprocessing.get_context("spawn").Process(target=fill, args=(path, system, count))
            process.start()
            process.join()
        compare(path)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
