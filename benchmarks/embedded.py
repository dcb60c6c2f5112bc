"""How much processor time 1,000 rows take with the embedded judge, compared with merely counting words.

    python benchmarks/embedded.py [--rows 50] [--data FILE]

The rows are of ordinary length: responses of some eighty words on three passages of 170 words each, put together from
`training/written`. With --data they are the first ones of a file that ragauge reads. Contexts repeat in no two rows.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
from pathlib import Path
from typing import Any

import ragauge as rg

DOCUMENTS = Path(__file__).resolve().parents[1] / "training" / "written" / "documents.jsonl.gz"
WAYS = {  # printed name: metrics (None: those that the columns allow) and judge
    "faithfulness": ("faithfulness", "embedded"),
    "all metrics of query, response and contexts": (None, "embedded"),
    "faithfulness by word overlap": ("faithfulness", "lexical"),
}


def ordinary_rows(count: int) -> list[dict[str, Any]]:
    """Rows of three documents as contexts, of which the response repeats, changes and extends the first."""
    with gzip.open(DOCUMENTS, "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in itertools.islice(file, 3 * count)]
    rows = []
    for first, second, third in zip(documents[::3], documents[1::3], documents[2::3], strict=False):
        claims = [claim["text"] for claim in first["claims"][::2]]
        contexts = [first["text"], second["text"], third["text"]]
        rows.append({"query": first["query"], "response": " ".join([first["answer"], *claims]), "contexts": contexts})
    return rows


def rows_of_file(path: str, count: int) -> list[dict[str, Any]]:
    """The query, response and contexts of the first rows of a file that have all three."""
    rows: list[dict[str, Any]] = []
    for sample in rg.read(path):
        contexts = [chunk.text for chunk in sample.contexts or ()]
        if sample.query and sample.response and contexts and len(rows) < count:
            rows.append({"query": sample.query, "response": sample.response, "contexts": contexts})
    return rows


def words(texts: list[str]) -> int:
    """The mean number of words of texts."""
    return round(sum(len(text.split()) for text in texts) / len(texts))


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=50, help="how many rows each way scores")
    options.add_argument("--data", metavar="FILE", help="take the rows of this file")
    chosen = options.parse_args()
    count = chosen.rows * len(WAYS)
    rows = rows_of_file(chosen.data, count) if chosen.data else ordinary_rows(count)
    contexts = [text for row in rows for text in row["contexts"]]
    print(
        f"{len(rows)} rows: responses of {words([row['response'] for row in rows])} words, "
        f"{len(contexts) / len(rows):.1f} contexts of {words(contexts)} words; processor seconds for 1,000 rows"
    )
    rg.evaluate([{"query": "Who?", "response": "Ada.", "contexts": ["Ada sang."]}])  # load the model
    for number, (name, (metrics, judge)) in enumerate(WAYS.items()):
        part = rows[number :: len(WAYS)]  # rows of its own: the judge remembers texts that it has read
        began = time.process_time()
        rg.evaluate(part, metrics, judge)
        print(f"{name:45}{1_000 * (time.process_time() - began) / len(part):8.0f}", flush=True)


if __name__ == "__main__":
    main()
