"""How fast and how small the store is: python benchmarks/store.py

Judgments: 1,000 samples with six claims each, held against five chunks of 600 characters. The yardstick is plain
sqlite3 with the same settings, one INSERT or SELECT of the whole judgment as JSON at a time.
Runs: samples with the same chunks and three scores.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from ragauge.questions import Entail, Identity, Judgment, judgment_key
from ragauge.scores import RunRecord, SampleRecord, ScoreRecord
from ragauge.store import Store
from ragauge.types import Chunk, ChunkVerdict, Label, Sample, Verdict

SAMPLES, CLAIMS, CHUNKS, LENGTH = 1000, 6, 5, 600
RUN = 50_000
JUDGE = Identity("stub", (("revision", "2026-11-20"), ("sha256", "ab" * 32)))


def made_up_chunks(chance: random.Random) -> list[tuple[str, ...]]:
    """The chunks of each sample, in words whose frequencies fall off as those of a language do."""
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 10))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return [
        tuple(" ".join(chance.choices(words, weights, k=LENGTH // 3))[:LENGTH] for _ in range(CHUNKS))
        for _ in range(SAMPLES)
    ]


def made_up_judgments(chunks: list[tuple[str, ...]], chance: random.Random) -> list[Judgment]:
    """Six claims against the chunks of each sample."""
    made = []
    for number, premise in enumerate(chunks):
        for start in chance.sample(range(LENGTH - 90), CLAIMS):
            question = Entail(premise, premise[0][start : start + 90], f"what is known of number {number}?")
            verdicts = tuple(ChunkVerdict(Label.NEUTRAL, round(chance.random(), 4)) for _ in premise)
            answer = Verdict(Label.NEUTRAL, round(chance.random(), 4), verdicts)
            made.append(Judgment(question, answer, JUDGE, judgment_key(question, JUDGE)))
    return made


def rate(count: int, work: Callable[[], object]) -> float:
    """How many a second."""
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


def plain(path: Path, judgments: list[Judgment]) -> tuple[float, float]:
    """Judgments kept and found a second, one at a time, in a table of JSON."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE judgments (key TEXT PRIMARY KEY, judgment TEXT)")

        def keep() -> None:
            for each in judgments:
                db.execute("INSERT INTO judgments VALUES (?, ?)", (each.key, msgspec.json.encode(each).decode()))

        def find() -> None:
            for each in judgments:
                (text,) = db.execute("SELECT judgment FROM judgments WHERE key = ?", (each.key,)).fetchone()
                assert msgspec.json.decode(text, type=Judgment) == each

        return rate(len(judgments), keep), rate(len(judgments), find)


def ours(path: Path, judgments: list[Judgment], size: int) -> tuple[float, float]:
    """Judgments kept and found a second in batches of `size`."""
    batches = [judgments[start : start + size] for start in range(0, len(judgments), size)]
    with Store.open(path) as store:

        def keep() -> None:
            for batch in batches:
                store.keep(batch)

        def find() -> None:
            for batch in batches:
                assert len(store.find([each.key for each in batch])) == len(batch)

        return rate(len(judgments), keep), rate(len(judgments), find)


def runs(path: Path, chunks: list[tuple[str, ...]]) -> None:
    """Samples kept and read a second, their size, and the time that the values of one metric take."""
    metrics = ("faithfulness", "hallucination", "context_precision")
    scores = {name: ScoreRecord(0.5, counts=(3.0, 6.0)) for name in metrics}
    records = [
        SampleRecord(
            Sample(str(n), "what?", texts[0], tuple(Chunk(text, str(k)) for k, text in enumerate(texts))), scores
        )
        for n, texts in enumerate(chunks[:500])
    ]
    with Store.open(path) as store:

        def keep() -> None:
            for first in range(0, RUN, len(records)):
                store.keep_samples("r", first, records)

        store.begin(RunRecord("r", "", "made up", metrics, {}, ""))
        kept = rate(RUN, keep)
        read = rate(RUN, lambda: sum(1 for _ in store.samples("r")))
        values = 1000 / rate(1, lambda: store.values("r", metrics[0]))
    size = (path / "store.db").stat().st_size / RUN
    written_out = sum(len(msgspec.json.encode(each)) for each in records) / len(records)
    print(f"run of {RUN:,}: {kept:,.0f} samples kept/s, {read:,.0f} read/s, values of a metric in {values:.0f} ms")
    print(f"  {size:,.0f} bytes a sample, {written_out:,.0f} as JSON")


def main() -> None:
    """Print the figures."""
    chance = random.Random(0)
    chunks = made_up_chunks(chance)
    judgments = made_up_judgments(chunks, chance)
    with tempfile.TemporaryDirectory() as folder:
        kept, found = plain(Path(folder, "plain.db"), judgments)
        print(f"plain sqlite3        {kept:9,.0f} kept/s {found:9,.0f} found/s")
        for size in (1, 16, 256):
            k, f = ours(Path(folder, str(size)), judgments, size)
            print(f"store, batches of {size:3}{k:9,.0f} kept/s {f:9,.0f} found/s  ({k / kept:.2f}x, {f / found:.2f}x)")
        small, large = Path(folder, "256", "store.db").stat().st_size, Path(folder, "plain.db").stat().st_size
        print(f"size: {small / 1e6:.1f} MB, plain {large / 1e6:.1f} MB ({large / small:.1f}x)")
        runs(Path(folder, "run"), chunks)


if __name__ == "__main__":
    main()
