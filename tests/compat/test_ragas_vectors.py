"""What ragas 0.4.3 came to when it was run, against its front door."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.judges.saying import Saying
from tests.metrics.test_ragas_vectors import MEASURES

from ragauge.compat.ragas import EvaluationDataset, EvaluationResult, evaluate
from ragauge.compat.ragas.metrics import (
    AnswerCorrectness,
    FactualCorrectness,
    FaithulnesswithHHEM,
    Metric,
    NoiseSensitivity,
    context_precision,
    context_recall,
    faithfulness,
)
from ragauge.questions import Decompose, Entail, Question
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Label, Statement, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Row

pytestmark = pytest.mark.filterwarnings("ignore:.* is NaN for some samples")

#: The metric of a row.
METRICS: dict[str, Callable[[dict[str, Any], Any], Metric]] = {
    "faithfulness": lambda given, judge: faithfulness,
    "faithfulness_with_hhem": lambda given, judge: FaithulnesswithHHEM(judge=judge),
    "context_precision(LLM)": lambda given, judge: context_precision,
    "context_recall": lambda given, judge: context_recall,
    "noise_sensitivity": lambda given, judge: NoiseSensitivity(mode=given["mode"]),
    "factual_correctness": lambda given, judge: FactualCorrectness(mode=given["mode"], beta=given["beta"]),
}

#: Rows whose value is a defect of ragas, and what is here in its place; None for what a judge sees to before.
DEFECTS: dict[str, float | None] = {"fewer verdicts": math.nan, "verdict -1": 0.0, "garbage then fixed": None}


@pytest.fixture
def vectors(golden: Path) -> list[Row]:
    """The rows of ragas."""
    everything = json.loads((golden / "systems" / "trust_eval_and_ragas.json").read_text("utf-8"))
    return [row for row in everything if row["system"].startswith("ragas")]


def number(expected: Any) -> float:
    """The value of a row; NaN is written as a text."""
    return float(expected["score"] if isinstance(expected, dict) else expected)


def measured(row: Row) -> float:
    """What `evaluate` gives on the verdicts of a row."""

    def value(_: str, *, answering: Answering, **fields: Any) -> float:
        judge = Saying("scripted", answering)
        metric = METRICS[row["metric"]](row["inputs"], judge)
        sample = {
            "user_input": fields.get("query"),
            "response": fields.get("response"),
            "retrieved_contexts": fields.get("contexts"),
            "reference": next(iter(fields.get("references", ())), None),
        }
        return evaluate([sample], [metric], judge)[metric.key][0]

    found = MEASURES[row["metric"]](row["inputs"], value)
    assert isinstance(found, float)
    return found


def test_metrics_have_the_values_of_ragas(vectors: list[Row]) -> None:
    """On the same verdicts every metric has ragas' value, its NaN and its 0 included, but for its defects."""
    seen: Counter[str] = Counter()
    for row in vectors:
        expected = DEFECTS.get(row["inputs"].get("case"), number(row["expected"]) if row["metric"] in METRICS else None)
        if row["metric"] in METRICS and expected is not None:
            assert measured(row) == pytest.approx(expected, rel=1e-9, nan_ok=True), row
            seen[row["metric"]] += 1
    assert set(seen) == set(METRICS)
    assert seen.total() >= 25


def test_f_scores(vectors: list[Row]) -> None:
    """The F-score of counts is ragas' for every beta, to the two decimals of factual correctness."""
    rows = [row["inputs"] | {"expected": row["expected"]} for row in vectors if row["metric"] == "fbeta_score"]
    for row in rows:
        found = FactualCorrectness(beta=row["beta"]).counted(0.0, (row["tp"], row["fp"], row["fn"]))
        assert found == pytest.approx(round(row["expected"], 2)), row
    assert len(rows) >= 5


def test_answer_correctness_without_similarity(vectors: list[Row]) -> None:
    """Where similarity weighs nothing, answer correctness is the F-score, and is ragas' number."""
    rows = [row for row in vectors if row["metric"] == "answer_correctness.weighted"]
    alone = [row for row in rows if row["inputs"]["weights"] == [1, 0]]
    for row in alone:
        metric = AnswerCorrectness(weights=row["inputs"]["weights"])
        assert not metric.differs
        assert metric.counted(row["inputs"]["factuality_f1"], ()) == row["expected"]
    assert alone


def test_means_leave_nan_out(vectors: list[Row]) -> None:
    """The means of a result are ragas' means, which leave NaN out and are NaN where nothing else is there."""
    rows = [row for row in vectors if row["metric"] == "aggregate.safe_nanmean" and row["inputs"]["values"]]
    for row in rows:
        scores = [{"m": float(value)} for value in row["inputs"]["values"]]
        run: Any = None
        result = EvaluationResult(scores, EvaluationDataset([{"user_input": "q"}]), {"m": run})
        assert result.means["m"] == pytest.approx(float(row["expected"]), nan_ok=True)
    assert len(rows) >= 3


def half(question: Question) -> Answer | Failure:
    """A judge who supports the first of two statements, and has no answer about what is bad."""
    match question:
        case Decompose(text):
            bad = Failure("invalid_answer", "no JSON")
            return bad if text == "BAD" else Decomposition((Statement("s0"), Statement("s1")))
        case Entail(premise, hypothesis):
            label = Label.ENTAILED if hypothesis == "s0" else Label.NEUTRAL
            return Verdict(label, chunks=(ChunkVerdict(label),) * len(premise))
    raise AssertionError(question)


def test_evaluate_as_it_was_run(vectors: list[Row]) -> None:
    """A run on the columns of 0.1, one row of which gets no answer, has ragas' text, lists, rows and columns."""
    (row,) = (row for row in vectors if row["metric"] == "evaluate(v1 columns)")
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({name: row["inputs"][name] for name in ("question", "answer", "contexts")})
    result = evaluate(data, [faithfulness], Saying("half", half))
    assert repr(result) == row["expected"]["repr"]
    assert result["faithfulness"] == pytest.approx([float(one) for one in row["expected"]["getitem"]], nan_ok=True)
    assert list(result.to_pandas().columns) == row["expected"]["columns"]
    assert [list(scores) for scores in result.scores] == [list(scores) for scores in row["expected"]["scores"]]


def test_column_map_as_it_was_run(vectors: list[Row]) -> None:
    """A map of columns is written as for ragas."""
    (row,) = (row for row in vectors if row["metric"] == "evaluate.column_map")
    data = [dict(zip(row["inputs"]["columns"], ("q", "a", ["c"]), strict=True))]
    result = evaluate(data, [faithfulness], Saying("half", half), column_map=row["inputs"]["column_map"])
    assert repr(result) == row["expected"]


def test_validation_as_it_was_run(vectors: list[Row]) -> None:
    """A missing column is a ValueError that names metric and column; a text for a list of contexts is one context."""
    missing, text = (row["inputs"] for row in vectors if row["metric"] == "evaluate.validation")
    with pytest.raises(ValueError, match="faithfulness needs retrieved_contexts"):
        evaluate(missing, [faithfulness], Saying("half", half))
    assert EvaluationDataset(text)[0].retrieved_contexts == ["notalist"]
