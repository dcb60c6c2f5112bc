"""How fast ragauge indexes and searches passages, and how well, compared with bm25s as it is and with rank_bm25.

Run `python benchmarks/retrieval.py` for 100,000 generated passages of 100 words whose frequencies follow Zipf's law;
`--passages N` for another number, `--judged FILE` also for the quality on judged passages (.jsonl.gz with question,
passage and label). ragauge indexes with bm25s (`pip install 'ragauge[retrieval]'`), on its own tokens and stems; bm25s
itself runs with its defaults. rank_bm25 takes part where it is installed and the passages are few.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragauge.datasets.retrieval import BM25

QUERIES = 200
TOP = 5
RANK_BM25_LIMIT = 20_000  # passages beyond which rank_bm25 takes too long

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
    index = BM25(passages)
    return lambda query: [hit[0] for hit in index.search(query, TOP)]


def bm25s_index(passages: list[str]) -> Search:
    """The index of bm25s with its own tokenizer and English stop words, without stems."""
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


def systems(count: int) -> dict[str, Callable[[list[str]], Search]]:
    """The systems that are compared."""
    found: dict[str, Callable[[list[str]], Search]] = {"ragauge": ours, "bm25s": bm25s_index}
    if find_spec("rank_bm25") and count <= RANK_BM25_LIMIT:
        found["rank_bm25"] = rank_bm25_index
    return found


def timed(make: Callable[[list[str]], Search], passages: list[str], queries: list[str]) -> tuple[float, float, float]:
    """Seconds to index; the median and the 95th percentile of the milliseconds of a search."""
    began = time.perf_counter()
    search = make(passages)
    indexed = time.perf_counter() - began
    times = []
    for query in queries:
        began = time.perf_counter()
        search(query)
        times.append(1000 * (time.perf_counter() - began))
    return indexed, statistics.median(times), statistics.quantiles(times, n=20)[-1]


def speed(count: int) -> None:
    """Print the times of each system, and their ratios to those of ragauge."""
    passages, queries = generated(count)
    print(f"{count:,} passages of 100 words, {QUERIES} queries")
    print(f"{'':12}{'index s':>10}{'search ms':>11}{'p95 ms':>9}{'index ratio':>13}{'search ratio':>14}")
    first: tuple[float, float, float] | None = None
    for name, make in systems(count).items():
        taken = timed(make, passages, queries)
        first = first or taken
        print(
            f"{name:12}{taken[0]:10.1f}{taken[1]:11.2f}{taken[2]:9.2f}{taken[0] / first[0]:13.2f}"
            f"{taken[1] / first[1]:14.2f}"
        )


def quality(path: Path) -> None:
    """Print nDCG@5 and recall@5 over the questions that have a relevant passage."""
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
    for name, make in systems(len(passages)).items():
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
