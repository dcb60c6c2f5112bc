"""How far nugget recall agrees with people on completeness.

    python benchmarks/completeness.py SHARED [JUDGE]

SHARED: the folder with data/eval. RAGChecker's pairs: Pearson's correlation of the differences in recall and by raters;
mtRAG's answers: Spearman's with their mean grade, 95 % intervals by conversation. The reference is the one
nugget of a question, which `nugget_recall` takes apart.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conversations import mean, measured, rows_of, show
from preference import pearson

import ragauge as rg

METRIC = "nugget_recall"


def samples_of(rows: Sequence[dict[str, Any]]) -> list[rg.Sample]:
    """Rows with the reference as a gold claim."""
    return list(rg.read([{**row, "answers": [[text] for text in row["references"]]} for row in rows]))


def ragchecker(path: Path, judge: str) -> None:
    """Differences of the two answers of a pair."""
    pairs = rows_of(path)
    people = [sum(pair["completeness"]) for pair in pairs]
    common = [{"id": pair["id"], "query": pair["query"], "references": [pair["reference"]]} for pair in pairs]
    sides = [
        samples_of([{**row, "response": pair[side]} for row, pair in zip(common, pairs, strict=True)]) for side in "ab"
    ]
    print(f"RAGChecker, {len(pairs)} pairs: Pearson with the raters' completeness")
    first, second = (measured(side, METRIC, judge)[METRIC] for side in sides)
    gained = [(second[pair["id"]] or 0.0) - (first[pair["id"]] or 0.0) for pair in pairs]
    print(f"  {METRIC}, {judge:20} {pearson(gained, people):.3f}")
    own = [pair["ragchecker_b"]["completeness"] - pair["ragchecker_a"]["completeness"] for pair in pairs]
    lengths = [len(pair["b"].split()) - len(pair["a"].split()) for pair in pairs]
    raters = pearson(*zip(*(pair["completeness"] for pair in pairs), strict=True))
    print(f"  RAGChecker {pearson(own, people):.3f}, length {pearson(lengths, people):.3f}, ", end="")
    print(f"one rater with the other {raters:.3f}")


def mtrag(path: Path, judge: str) -> None:
    """Grades of answers that are not the reference itself."""
    rows = [row for row in rows_of(path) if row["references"] and row["model"] != "reference"]
    samples = samples_of(rows)
    people = {row["id"]: mean(row["completeness"]) for row in rows}
    scores: dict[str, Any] = {f"{METRIC}, {judge}": measured(samples, METRIC, judge)[METRIC]}
    scores["RL_F"] = {row["id"]: row["automatic"]["rl_f"] for row in rows}
    scores["length"] = {row["id"]: float(len(row["response"].split())) for row in rows}
    kept = [row for row in rows if all(by_id.get(row["id"]) is not None for by_id in scores.values())]
    groups = [row["group"] for row in kept]
    print(f"mtRAG, {len(kept)} of {len(rows)} answers that are not the reference: Spearman with mean completeness")
    for name, by_id in scores.items():
        show(name, [by_id[row["id"]] for row in kept], [people[row["id"]] for row in kept], groups)
    pairs = [
        (grades[place], mean(grades[:place] + grades[place + 1 :]), row["group"])
        for row in kept
        if len(grades := row["completeness"]) == 3
        for place in range(3)
    ]
    show("one rater with the others", *map(list, zip(*pairs, strict=True)))


if __name__ == "__main__":
    folder = Path(sys.argv[1]) / "data/eval"
    chosen = sys.argv[2] if len(sys.argv) > 2 else "embedded"
    ragchecker(folder / "pair_ragchecker.jsonl.gz", chosen)
    mtrag(folder / "conv_mtrag_human.jsonl.gz", chosen)
