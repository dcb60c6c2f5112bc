"""How far nugget recall agrees with people on completeness.

    python benchmarks/completeness.py SHARED [JUDGE]

SHARED: the folder with data/eval. RAGChecker's pairs: Pearson's and Spearman's correlation of the differences in recall
and by raters; mtRAG's answers: Spearman's with their mean grade, 95 % intervals by conversation. The reference is the
one nugget of a question, which `nugget_recall` takes apart.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conversations import mean, measured, rows_of, show
from preference import pearson

import ragauge as rg
from ragauge.statistics.agreement import spearman

METRIC = "nugget_recall"


def samples_of(rows: Sequence[dict[str, Any]]) -> list[rg.Sample]:
    """Rows with the reference as a gold claim."""
    return list(rg.read([{**row, "answers": [[text] for text in row["references"]]} for row in rows]))


def gained(pairs: Sequence[dict[str, Any]], judge: Any) -> list[float | None]:
    """The difference in recall of the two answers of each pair."""
    common = [{"id": pair["id"], "query": pair["query"], "references": [pair["reference"]]} for pair in pairs]
    sides = [
        samples_of([{**row, "response": pair[side]} for row, pair in zip(common, pairs, strict=True)]) for side in "ab"
    ]
    first, second = (measured(side, METRIC, judge)[METRIC] for side in sides)
    scores = [(first[pair["id"]], second[pair["id"]]) for pair in pairs]
    return [None if a is None or b is None else b - a for a, b in scores]


def ragchecker(pairs: Sequence[dict[str, Any]], judges: Mapping[str, Any]) -> None:
    """Differences of the two answers of a pair, by judges with their names."""
    people = [sum(pair["completeness"]) for pair in pairs]
    print(f"RAGChecker, {len(pairs)} pairs: Pearson and Spearman with the raters' completeness")
    differences: dict[str, list[float]] = {
        f"{METRIC}, {name}": [difference or 0.0 for difference in gained(pairs, judge)]
        for name, judge in judges.items()
    }
    differences["RAGChecker"] = [
        pair["ragchecker_b"]["completeness"] - pair["ragchecker_a"]["completeness"] for pair in pairs
    ]
    differences["length"] = [len(pair["b"].split()) - len(pair["a"].split()) for pair in pairs]
    for name, values in differences.items():
        print(f"  {name:32} {pearson(values, people):.3f} {spearman(values, people):.3f}")
    one, other = zip(*(pair["completeness"] for pair in pairs), strict=True)
    print(f"  {'one rater with the other':32} {pearson(one, other):.3f} {spearman(one, other):.3f}")


def answers_to_grade(path: Path) -> list[dict[str, Any]]:
    """mtRAG's answers that have a reference and are not the reference itself."""
    return [row for row in rows_of(path) if row["references"] and row["model"] != "reference"]


def mtrag(rows: Sequence[dict[str, Any]], judges: Mapping[str, Any]) -> None:
    """Answers and their mean grade, by judges with their names."""
    people = {row["id"]: mean(row["completeness"]) for row in rows}
    scores: dict[str, Any] = {
        f"{METRIC}, {name}": measured(samples_of(rows), METRIC, judge)[METRIC] for name, judge in judges.items()
    }
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
    ragchecker(rows_of(folder / "pair_ragchecker.jsonl.gz"), {chosen: chosen})
    mtrag(answers_to_grade(folder / "conv_mtrag_human.jsonl.gz"), {chosen: chosen})
