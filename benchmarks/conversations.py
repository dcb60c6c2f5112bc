"""Answers of conversations judged with and without the turns before them, compared with people's labels.

    python benchmarks/conversations.py SHARED [JUDGE]

SHARED: the folder with data/eval. Prints Spearman's correlation with mean human faithfulness on mtRAG's turns after the
first, of the judge, of RL_F (the LLM metric of its authors) and of one rater with the others, with 95 % intervals that
resample conversations; and for conv_sense the precision and recall of each label.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import ragauge as rg
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.statistics.agreement import group_interval, spearman

Scores = Mapping[str, float | None]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class AnyTopic(EmbeddedJudge):
    """The embedded judge, asked what it is no judge of as well."""

    unable = frozenset()


def measured(samples: Sequence[rg.Sample], metrics: str, judge: str) -> dict[str, Scores]:
    """Metric -> the score of each sample, by id; None where it is undefined."""
    run = rg.evaluate(samples, metrics, AnyTopic() if judge == "embedded" else judge)
    return {key: {record.sample.id: record.score(key).value for record in run.records()} for key in run.estimates}


def without_history(samples: Sequence[rg.Sample]) -> list[rg.Sample]:
    """The samples as if nothing had been said before."""
    return [msgspec.structs.replace(sample, turns=None) for sample in samples]


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return sum(values) / len(values)


def mtrag(path: Path, judge: str) -> None:
    """Faithfulness on turns after the first."""
    rows = {row["id"]: row for row in rows_of(path) if row["turn"] > 1}
    samples = [sample for sample in rg.read(path) if sample.id in rows]
    scores = {
        f"{judge}, with history": measured(samples, "faithfulness", judge)["faithfulness"],
        f"{judge}, without history": measured(without_history(samples), "faithfulness", judge)["faithfulness"],
        "RL_F": {id: row["automatic"]["rl_f"] for id, row in rows.items()},
    }
    kept = [id for id in rows if all(by_id.get(id) is not None for by_id in scores.values())]
    print(f"mtRAG, turns after the first: {len(kept)} of {len(rows)} responses; Spearman with mean human faithfulness")
    groups = [rows[id]["group"] for id in kept]
    people = [mean(rows[id]["faithfulness"]) for id in kept]
    for name, by_id in scores.items():
        show(name, [by_id[id] or 0.0 for id in kept], people, groups)
    raters = [id for id in kept if len(rows[id]["faithfulness"]) == 3]
    pairs = [(rows[id]["faithfulness"], place, rows[id]["group"]) for id in raters for place in range(3)]
    own = [grades[place] for grades, place, _ in pairs]
    others = [mean([grade for other, grade in enumerate(grades) if other != place]) for grades, place, _ in pairs]
    show("one rater with the others", own, others, [group for *_, group in pairs])


def show(name: str, ours: Sequence[float], theirs: Sequence[float], groups: Sequence[str]) -> None:
    """Print a correlation with its interval."""
    value = spearman(ours, theirs)
    interval = group_interval(ours, theirs, groups, spearman)
    shown = "no interval" if interval is None else f"[{interval[0]:.3f}, {interval[1]:.3f}]"
    print(f"  {name:32} {value or 0:.3f} {shown}")


#: Metric -> the label that a score below 1 stands for.
LABELS = {
    "faithfulness": "unfaithful",
    "faithfulness(memory=all)": "unfaithful",
    "self_consistency": "contradicts_earlier_answer",
    "retention": "forgets_user",
    "answered_requests": "unanswered",
}


def sense(path: Path, judge: str) -> None:
    """Precision and recall of what is wrong with answers, by label."""
    labels: dict[str, dict[str, bool]] = {}
    for row in rows_of(path):
        answers = [turn for turn in row["turns"] if turn["role"] == "assistant"]
        for number, turn in enumerate(answers, start=1):
            own = dict(turn["labels"])
            own["unfaithful"] = any(sentence["faithful"] is False for sentence in turn["sentences"])
            own["unanswered"] = own["answers_request"] == "no"
            labels[f"{row['id']}#{number}"] = own
    samples = list(rg.read(path, per="turn"))
    print(f"conv_sense: {len(samples)} answers")
    metrics = ",".join(LABELS)
    variants = {"with history": measured(samples, metrics, judge)}
    plain = measured(without_history(samples), "faithfulness,answered_requests", judge)
    variants["without history"] = plain
    for variant, scores in variants.items():
        for metric, by_id in scores.items():
            label = LABELS[metric]
            flagged = {id for id, value in by_id.items() if value is not None and value < 1}
            wrong = {id for id, own in labels.items() if own[label]}
            hits = len(flagged & wrong)
            precision, recall = hits / max(1, len(flagged)), hits / max(1, len(wrong))
            counts = f"{hits} of {len(flagged)} flagged, of {len(wrong)} labelled"
            print(f"  {label:27} {metric:26} {variant:16} precision {precision:.2f} recall {recall:.2f} ({counts})")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) / "data/eval"
    chosen = sys.argv[2] if len(sys.argv) > 2 else "embedded"
    sense(folder / "conv_sense.jsonl.gz", chosen)
    mtrag(folder / "conv_mtrag_human.jsonl.gz", chosen)
