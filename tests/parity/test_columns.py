"""The names of other systems' columns, and what is measured for them."""

from __future__ import annotations

import pytest

from ragauge.analysis.parity import SYSTEMS, Column, choose, metric_of, metrics_for, not_compared, read_sheet
from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.registry import select_metrics
from ragauge.readers.columns import folded

COLUMNS = [(name, theirs, column) for name, system in SYSTEMS.items() for theirs, column in system.items()]


@pytest.mark.parametrize(
    ("system", "theirs", "column"), COLUMNS, ids=[f"{system}-{theirs}" for system, theirs, _ in COLUMNS]
)
def test_each_column_has_a_counterpart(system: str, theirs: str, column: Column) -> None:
    """Every entry of the table has a folded name and a value that its metric gives."""
    assert folded(theirs) == theirs
    values = {value for metric in select_metrics(column.metric or metric_of(column.ours)) for value in metric.values}
    assert column.ours in values


def test_metrics_to_measure() -> None:
    """Each metric is listed once, in the form closest to theirs, with its variants."""
    row = {"context_precision": 1, "context_utilization": 1, "rouge_score(mode=fmeasure)": 1, "faithfulness": "nan"}
    kept = choose(read_sheet([row, {**row, "faithfulness": 0.5}], {}), "ragas")
    expected = ["context_precision", "context_precision(against=response)", "rouge(types=rougeL,stemmer=true)"]
    assert metrics_for(kept) == [*expected, "faithfulness"]


def test_columns_of_the_caller_take_precedence() -> None:
    """A column that the caller names takes precedence over known names."""
    kept = choose(
        read_sheet([{"faithfulness": 0.8, "a": 1.0}], {}), "ragas", {"faithfulness": "claim_recall", "a": "bleu"}
    )
    assert (kept["faithfulness"].ours, kept["a"].ours) == ("claim_recall", "bleu")


def test_columns_within_objects() -> None:
    """RAGChecker's metrics of a row are known in their object, unless there is a column of their own."""
    sheet = read_sheet([{"metrics": {"hallucination": 0.25, "precision": 1}, "precision": 0.5}], {})
    kept = choose(sheet, "ragchecker", {"metrics.hallucination": "faithfulness"})
    assert {name: column.ours for name, column in kept.items()} == {
        "metrics.hallucination": "faithfulness",
        "precision": "claim_precision",
    }
    assert choose(sheet, "ragchecker")["metrics.hallucination"].ours == "claim_hallucination"


def test_a_known_column_without_numbers_is_named() -> None:
    """A column whose cells cannot be read is an error, or a reason, that shows the first of them."""
    sheet = read_sheet([{"faithfulness": "high", "bleu_score": 1}], {})
    fault = r"row 1 holds 'high'"
    kept = choose(sheet, "ragas")
    assert not_compared(sheet, "ragas", kept) == {"faithfulness": f"no number in it ({fault})"}
    with pytest.raises(UsageError, match=rf"'faithfulness' holds no number \({fault}\); name one"):
        choose(sheet, "ragas", only=["faithfulness"])
    with pytest.raises(UsageError, match=rf"column 'faithfulness' holds no number \({fault}\)"):
        choose(sheet, "ragas", {"faithfulness": "faithfulness"})


def test_columns_left_out() -> None:
    """Other numeric columns have a reason; ids, texts and sparse columns are not taken for scores."""
    row = {"id": 1, "question": "2", "faithfulness": 1, "Context Recall": 1, "mine": 1, "comment": "good"}
    sheet = read_sheet([row, {**row, "comment": 5}, {**row, "comment": "bad"}], {})
    kept = choose(sheet, "ragas", only=["faithfulness"])
    assert list(kept) == ["faithfulness"]
    assert not_compared(sheet, "ragas", kept) == {
        "Context Recall": "not requested, or another is compared with ours",
        "mine": "no known counterpart among ours",
    }


def test_what_cannot_be_compared() -> None:
    """An unknown system or column, and a file without a known column, are errors that list what there is."""
    sheet = read_sheet([{"score": 1}], {})
    with pytest.raises(UnknownName, match="unknown system 'raga'; did you mean 'ragas'"):
        choose(sheet, "raga")
    with pytest.raises(UnknownName, match="unknown column 'scor'"):
        choose(sheet, "ragas", {"scor": "bleu"})
    with pytest.raises(UsageError, match=r"no column of ragas has a counterpart; found: 'score'; name one with"):
        choose(sheet, "ragas")


def test_a_column_of_the_caller_stands_in_for_a_known_one() -> None:
    """Of two columns with the same counterpart the caller's is compared, and the other is said to be left out."""
    sheet = read_sheet([{"mine": 0.5, "faithfulness": 0.1}], {})
    kept = choose(sheet, "ragas", {"mine": "faithfulness"})
    assert list(kept) == ["mine"]
    assert not_compared(sheet, "ragas", kept) == {"faithfulness": "not requested, or another is compared with ours"}
    both = read_sheet([{"nv_response_groundedness": 0.5, "faithfulness": 0.1}], {})
    assert list(choose(both, "ragas")) == ["faithfulness"], "whose definition is ours"
