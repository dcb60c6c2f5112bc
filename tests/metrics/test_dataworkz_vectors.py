"""Dataworkz' vectors: its claim counts, read as judgments, give its recall, precision and F1, by row and over all."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from ragauge.metrics.base import DatasetMetric
from ragauge.metrics.registry import parse_metric
from ragauge.questions import Decompose, Entail, Question
from ragauge.scores import PrecisionRecall, Score
from ragauge.types import Answer, Decomposition, Label, Statement, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Drive, Row, Rule, Sampling, Scoring

CLAIM_F1 = "claim_f1(counting=common)"
COLUMNS = {"LLM Recall": "recall", "LLM Precision": "precision", "LLM F1": "f1"}
COUNTS = ("Golden Response Claim Count", "Candidate Response Claim Count", "Common Claim Count")

RULES: list[Rule] = [
    (
        "more common claims than golden ones is a model's unchecked count; ours counts verdicts, with recall at most 1",
        lambda row: row["inputs"].get("common_count", 0) > row["inputs"].get("golden_count", 0),
        None,
    ),
    (
        "Dataworkz divides by zero without golden claims; ours has no recall there",
        lambda row: row["inputs"].get("golden_count") == 0,
        "undefined: no reference makes a claim beyond the query",
    ),
]


def judged(question: Question) -> Answer:
    """Answers on texts that say their counts: "r 3" makes three claims, "g 4 2" four, two of them in the response."""
    match question:
        case Decompose(text):
            kind, count, *_ = text.split()
            return Decomposition(tuple(Statement(f"{text} {kind}{i}") for i in range(int(count))))
        case Entail((premise,), hypothesis) if premise.startswith("r") and hypothesis.startswith("g"):
            _, _, common, claim = hypothesis.split()
            return Verdict(Label.ENTAILED if int(claim[1:]) < int(common) else Label.NEUTRAL)
        case _:
            return Verdict(Label.NEUTRAL)


def counted(golden: int, candidate: int, common: int) -> dict[str, object]:
    """A sample of these claim counts."""
    return {"query": "q", "response": f"r {candidate}", "references": [f"g {golden} {common}"]}


def read(score: Score) -> dict[str, float | None]:
    """Recall, precision and F1 of a score of claim F1."""
    counts = PrecisionRecall(*score.counts)
    return {"recall": counts.recall, "precision": counts.precision, "f1": score.value}


def rows_in(folder: Path) -> list[Row]:
    """The rows of Dataworkz."""
    everything = json.loads((folder / "valor_ragevals_dataworkz.json").read_text("utf-8"))
    return [row for row in everything if row["system"] == "dataworkz-eval"]


@pytest.fixture
def results(shared: Path) -> list[dict[str, str]]:
    """The result file: a hundred questions with claim counts and scores."""
    path = shared / "data" / "dataworkz" / "apple10k_evaluation_result.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_rows_of_counts(golden: Path, scores: Scoring, sample: Sampling, compared: Callable[..., Counter[str]]) -> None:
    """Each row's counts give its recall, precision and F1 with common claims counted once."""
    rows = rows_in(golden / "systems")
    wanted = {"row": ("llm_recall", "llm_precision", "llm_f1"), "claim P/R/F1": ("recall", "precision", "f1")}
    for metric, names in wanted.items():
        for name, ours in zip(names, ("recall", "precision", "f1"), strict=True):

            def value(row: Row, name: str = ours) -> float | str:
                counts = (row["inputs"][f"{part}_count"] for part in ("golden", "candidate", "common"))
                one = sample(**counted(*counts))
                recall = scores(one, "claim_recall", judged)["claim_recall"]
                if recall.value is None:
                    return f"undefined: {recall.undefined}"
                got = read(scores(one, CLAIM_F1, judged)["claim_f1"])
                assert got["recall"] == recall.value
                return got[name] if got[name] is not None else "undefined"  # type: ignore[return-value]

            chosen = [row for row in rows if row["metric"] == metric]
            held = [{**row, "expected": row["expected"].get(name, row["expected"])} for row in chosen]
            tally = compared(held, value, RULES)
            assert tally["equal"] >= {"row": 65, "claim P/R/F1": 2}[metric]


@pytest.mark.shared
def test_columns_of_the_result_file(
    shared: Path, results: list[dict[str, str]], drive: type[Drive], sample: Sampling
) -> None:
    """All hundred rows reproduce to the digits shown, and so do their means.

    The columns of BERTScore and of embedding similarity have no metric here; those of shared wording are tested with
    the measures of text.
    """
    samples = [sample(id=row["SNo."], **counted(*(int(float(row[name])) for name in COUNTS))) for row in results]
    got = [read(one["claim_f1"]) for one in drive(samples, [parse_metric(CLAIM_F1)], judged).scores]
    for column, name in COLUMNS.items():
        values = [one[name] for one in got]
        assert [float(row[column]) for row in results] == pytest.approx(values, abs=5.1e-5)
        (means,) = [row["expected"] for row in rows_in(shared / "vectors") if row["metric"] == "column means"]
        assert fmean(value for value in values if value is not None) == pytest.approx(means[column], abs=5e-6)


@pytest.mark.shared
def test_micro_average(shared: Path, results: list[dict[str, str]], drive: type[Drive], sample: Sampling) -> None:
    """Pooled claim F1 over the file has the micro recall and the micro precision of all its claims."""
    (expected,) = [row["expected"] for row in rows_in(shared / "vectors") if row["metric"] == "micro-average"]
    samples = [sample(id=row["SNo."], **counted(*(int(float(row[name])) for name in COUNTS))) for row in results]
    pooled = parse_metric(f"pooled({CLAIM_F1})")
    assert isinstance(pooled, DatasetMetric)
    done = drive(samples, [pooled], judged)
    sums = [sum(column) for column in zip(*(one[pooled.key].counts for one in done.scores), strict=True)]
    whole = PrecisionRecall(*sums)
    assert (whole.expected, whole.responded, whole.recalled) == tuple(
        expected[name] for name in ("golden", "candidate", "common")
    )
    assert (whole.recall, whole.precision) == (expected["recall"], expected["precision"])
    assert pooled.total(sums) == whole.value
