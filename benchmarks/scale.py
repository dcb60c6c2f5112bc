"""What a store does for several writers: python benchmarks/scale.py [--store URL] [--writers 4] [--seconds 5]

Each writer is a process that keeps batches of 32 judgments of its own (a claim against five chunks of 600 characters,
six claims a sample, as benchmarks/store.py makes them) and then finds the keys that it kept, in batches of 256.

Without --store, a file. Give an empty schema of a database that does not matter: what is written stays there.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.store import CHUNKS, CLAIMS, JUDGE, LENGTH

from ragauge.questions import Entail, Judgment, judgment_key
from ragauge.store import Store
from ragauge.types import ChunkVerdict, Label, Verdict

BATCH, FIND = 32, 256


def made_up(sample: int, chance: random.Random) -> list[Judgment]:
    """The judgments of one sample; equal for equal numbers and chances."""
    words = [f"{chance.getrandbits(24):x}" for _ in range(CHUNKS * LENGTH // 7)]
    size = len(words) // CHUNKS
    chunks = tuple(" ".join(words[n * size : (n + 1) * size]) for n in range(CHUNKS))
    verdicts = tuple(ChunkVerdict(Label.NEUTRAL, round(chance.random(), 4)) for _ in chunks)
    made = []
    for claim in range(CLAIMS):
        question = Entail(chunks, chunks[0][claim * 10 : claim * 10 + 90], f"what is known of {sample}?")
        made.append(Judgment(question, Verdict(Label.NEUTRAL, 0.5, verdicts), JUDGE, judgment_key(question, JUDGE)))
    return made


def write(place: str, writer: int, seconds: float) -> None:
    """Print how many judgments were kept and found a second, after a line of input for each."""
    prepared = int(seconds * 4000)  # more than one writer keeps; made before the clock starts
    judgments = [one for n in range(prepared // CLAIMS) for one in made_up(n, random.Random(f"{writer} {n}"))]
    with Store.open(place) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        began, kept = time.perf_counter(), 0
        while kept < len(judgments) and time.perf_counter() - began < seconds:
            store.keep(judgments[kept : kept + BATCH])
            kept += BATCH
        print(kept / (time.perf_counter() - began), flush=True)
        sys.stdin.readline()
        keys, began, found = [one.key for one in judgments[:kept]], time.perf_counter(), 0
        for start in range(0, len(keys), FIND):
            found += len(store.find(keys[start : start + FIND]))
        assert found == len(keys)
        print(found / (time.perf_counter() - began), flush=True)


def main() -> None:
    """Start the writers and print their figures."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--store", default="")
    arguments.add_argument("--writers", type=int, default=4)
    arguments.add_argument("--seconds", type=float, default=5.0)
    arguments.add_argument("--writer", type=int, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.writer is not None:
        write(given.store, given.writer, given.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = given.store or folder
        Store.open(place).close()
        pipe = subprocess.PIPE
        command = [sys.executable, __file__, "--store", place, "--seconds", str(given.seconds), "--writer"]
        writers = [
            subprocess.Popen([*command, str(n)], stdin=pipe, stdout=pipe, text=True) for n in range(given.writers)
        ]

        def step() -> float:
            """The sum of what all writers print, after a line to each."""
            replies = [writer.stdout.readline() for writer in writers if writer.stdout]
            for writer in writers:
                if writer.stdin and writer.poll() is None:
                    writer.stdin.write("go\n")
                    writer.stdin.flush()
            return sum(float(reply) for reply in replies if reply != "ready\n")

        step()
        kept, found = step(), step()
        for writer in writers:
            writer.wait()
        print(f"{given.writers} writers: {kept:,.0f} judgments kept/s, {found:,.0f} keys found/s")


if __name__ == "__main__":
    main()
