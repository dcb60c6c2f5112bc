"""How fast ragauge indexes and searches passages, beside bm25s and rank_bm25, and how well it finds.

Run `python benchmarks/retrieval.py` for 100,000 generated passages of 100 words whose frequencies follow Zipf's law;
`--passages N` for another number, `--judged FILE` also for the quality on judged passages (.jsonl.gz with question,
passage and label). Libraries that are not installed are left out: `pip install bm25s rank_bm25`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragauge.datasets.retrieval import BM25

QUERIES = 200
TOP = 5
SLOW = 20_000  # passages beyond which rank_bm25 is not waited for

Search = Callable[[str], Sequence[int]]


def generated(count: int, words: int = 100) -> tuple[list[str], list[str]]:
    """Passages, and queries of eight words of a passage each."""
    import numpy as np

    chance = random.Random(1)
    vocabulary = ["".join(chance.choices("etaoinshrdlucmfwypvbgk", k=chance.randint(2, 10))) for _ in range(200_000)]
    share = 1 / np.arange(1, len(vocabulary) + 1)
    drawn = np.random.default_rng(1).choice(len(vocabulary), (count, words), p=share / share.sum())
    passages = [" ".join(vocabulary[number] for number in row).capitalize() + "." for row in drawn]
    return passages, [" ".join(chance.sample(chance.choice(passages).split(), 8)) for _ in range(QUERIES)]


def ours(passages: list[str]) -> Search:
    """Our index."""
    index = BM25.of(passages)
    return lambda query: [hit.position for hit in index.search(query, TOP)]


def bm25s_index(passages: list[str]) -> Search:
    """The index of bm25s, with its own tokenizer and English stop words; it stems only with another library."""
    bm25s = import_module("bm25s")
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index(bm25s.tokenize(passages, show_progress=False), show_progress=False)

    def search(query: str) -> list[int]:
        words = bm25s.tokenize([query], show_progress=False)
        return [int(number) for number in index.retrieve(words, k=TOP, show_progress=False)[0][0]]

    return search


def rank_bm25_index(passages: list[str]) -> Search:
    """The index of rank_bm25, on lower-case words."""
    import numpy as np

    index = import_module("rank_bm25").BM25Okapi([passage.lower().split() for passage in passages], k1=1.2)
    return lambda query: [int(n) for n in np.argsort(index.get_scores(query.lower().split()))[::-1][:TOP]]


def contestants(count: int) -> dict[str, Callable[[list[str]], Search]]:
    """Who takes part."""
    found: dict[str, Callable[[list[str]], Search]] = {"ragauge": ours}
    if find_spec("bm25s"):
        found["bm25s"] = bm25s_index
    if find_spec("rank_bm25") and count <= SLOW:
        found["rank_bm25"] = rank_bm25_index
    return found


def timed(make: Callable[[list[str]], Search], passages: list[str], queries: list[str]) -> tuple[float, float, float]:
    """Seconds to index; the median and the 95th percentile of the milliseconds of a search."""
    began = time.perf_counter()
    search = make(passages)
    indexed = time.perf_counter() - began
    spent = []
    for query in queries:
        began = time.perf_counter()
        search(query)
        spent.append(1000 * (time.perf_counter() - began))
    return indexed, statistics.median(spent), statistics.quantiles(spent, n=20)[-1]


def speed(count: int) -> None:
    """Print seconds and milliseconds, and how many times those of ours the others need."""
    passages, queries = generated(count)
    print(f"{count:,} passages of 100 words, {QUERIES} queries")
    print(f"{'':12}{'index s':>10}{'search ms':>11}{'p95 ms':>9}{'index ratio':>13}{'search ratio':>14}")
    first: tuple[float, float, float] | None = None
    for name, make in contestants(count).items():
        taken = timed(make, passages, queries)
        first = first or taken
        print(
            f"{name:12}{taken[0]:10.1f}{taken[1]:11.2f}{taken[2]:9.2f}{taken[0] / first[0]:13.2f}"
            f"{taken[1] / first[1]:14.2f}"
        )
    _reading(passages)


def _reading(passages: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.npz"
        BM25.of(passages).save(path)
        began = time.perf_counter()
        BM25.load(path)
        print(f"a kept index of {path.stat().st_size / 1e6:.0f} MB is read in {time.perf_counter() - began:.2f} s")


def quality(path: Path) -> None:
    """Print nDCG and recall of the first five, over the questions that have a relevant passage."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    passages = list(dict.fromkeys(row["passage"] for row in rows))
    place = {passage: number for number, passage in enumerate(passages)}
    relevant: dict[str, set[int]] = {}
    for row in rows:
        if row["label"]:
            relevant.setdefault(row["question"], set()).add(place[row["passage"]])
    print(f"\n{path.name}: {len(relevant)} questions, {len(passages)} passages")
    print(f"{'':12}{'nDCG@5':>9}{'recall@5':>10}")
    for name, make in contestants(len(passages)).items():
        search = make(passages)
        found = [(search(question), right) for question, right in relevant.items()]
        gain = statistics.mean(_ndcg(hits, right) for hits, right in found)
        recall = statistics.mean(len(right.intersection(hits)) / min(TOP, len(right)) for hits, right in found)
        print(f"{name:12}{gain:9.3f}{recall:10.3f}")


def _ndcg(hits: Sequence[int], right: set[int]) -> float:
    best = sum(1 / math.log2(rank + 2) for rank in range(min(TOP, len(right))))
    return sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits) if hit in right) / best


def main() -> None:
    """Read the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--judged", type=Path)
    given = parser.parse_args()
    speed(given.passages)
    if given.judged:
        quality(given.judged)


if __name__ == "__main__":
    main()
