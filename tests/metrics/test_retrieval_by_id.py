"""Retrieval of known chunks: the formulas against ir-measures, and how chunks are recognised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.metrics.registry import parse_metric
from ragauge.needs.base import Rounds

#: Our metric with a cutoff -> the measure of ir-measures.
ORACLE = {
    "retrieval_precision": "P",
    "retrieval_recall": "R",
    "hit_rate": "Success",
    "mrr": "RR",
    "map": "AP",
    "ndcg": "nDCG",
}
IDS = [f"d{i}" for i in range(12)]


def value_of(spec: str, row: dict[str, Any]) -> float | str | None:
    """The value of a metric on one row, or the reason there is none."""
    metric = parse_metric(spec)
    (sample,) = rg.read([row])
    (score,) = metric.scores(Rounds(sample, metric.needs).outcomes).values()
    return score.undefined or score.failed or score.value


@given(
    st.lists(st.sampled_from(IDS), unique=True, min_size=1),
    st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1).filter(lambda grades: any(grades.values())),
    st.integers(1, 14),
)
def test_the_formulas_are_those_of_ir_measures(retrieved: list[str], grades: dict[str, int], k: int) -> None:
    """For any ranking, grades and cutoff each metric is the number of ir-measures, that is of trec_eval."""
    ir_measures = pytest.importorskip("ir_measures")
    measures = {name: ir_measures.parse_measure(f"{theirs}@{k}") for name, theirs in ORACLE.items()}
    run = {"q": {one: float(len(retrieved) - rank) for rank, one in enumerate(retrieved)}}
    expected = ir_measures.calc_aggregate(measures.values(), {"q": grades}, run)
    row = {"response": "r", "retrieved_context_ids": retrieved, "reference_context_ids": grades}
    got = {name: value_of(f"{name}(k={k})", row) for name in ORACLE}
    assert got == {name: pytest.approx(expected[measure], abs=1e-9) for name, measure in measures.items()}


@pytest.mark.parametrize(
    ("columns", "recall"),
    [
        ({"contexts": ["one", "two"], "reference_contexts": ["two", "three"]}, 0.5),
        ({"contexts": [{"id": "d1", "text": "x"}], "reference_contexts": [{"id": "d1", "text": "changed since"}]}, 1.0),
        ({"contexts": [{"id": "d1", "text": "x"}], "reference_contexts": ["d1", "d2"]}, 0.5),
        ({"contexts": [{"id": "d1", "text": "x"}], "reference_context_ids": ["d2", "d1"]}, 0.5),
        ({"contexts": [{"id": "d1", "text": "x"}], "reference_context_ids": '["d2", "d1"]'}, 0.5),
        ({"retrieved_context_ids": [7, 8], "reference_context_ids": [8]}, 1.0),
        ({"retrieved_context_ids": ["a"], "reference_context_ids": "a"}, 1.0),
        ({"contexts": [{"id": "1", "text": "x"}, {"id": "2", "text": "y"}], "reference_context_ids": ["2"]}, 1.0),
        ({"contexts": ["x", "y"], "retrieved_context_ids": ["1", "2"], "reference_context_ids": ["2"]}, 1.0),
        ({"retrieved_context_ids": "d1,d2, d3", "reference_context_ids": "d3;d4"}, 0.5),
        ({"retrieved_context_ids": "['d1', 'd2']", "reference_context_ids": "d2"}, 1.0),
        ({"retrieved_context_ids": "[1, 2]", "reference_context_ids": 2.0}, 1.0),
        ({"contexts": ["x"], "retrieved_context_ids": "a,b.pdf", "reference_context_ids": ["a,b.pdf"]}, 1.0),
        ({"contexts": ["x"], "retrieved_context_ids": "a.pdf|3", "reference_context_ids": "a.pdf|3"}, 1.0),
        ({"retrieved_context_ids": [None, {"_id": "d1"}], "reference_context_ids": [{"id": "d1"}, "d2"]}, 0.5),
        ({"retrieved_context_ids": ["Old Paris, France"], "reference_context_ids": "Old Paris, France"}, 1.0),
        ({"contexts": ["unlike", "also"], "reference_contexts": ["other", "texts"]}, 0.0),
        ({"contexts": ["one", "one"], "reference_contexts": ["one", "two"]}, 0.5),
        ({"contexts": [], "reference_contexts": ["one"]}, 0.0),
    ],
)
def test_chunks_are_known_by_id_or_text(columns: dict[str, Any], recall: float) -> None:
    """Ids, texts, texts that are ids, and ids in columns of their own are recognised; positions as ids by ids alone."""
    assert value_of("retrieval_recall", {"response": "r", **columns}) == recall


@pytest.mark.parametrize(
    "columns",
    [
        {"contexts": ["x", "y"], "reference_context_ids": ["d2"]},
        {"retrieved_context_ids": ["d1", "d2"], "reference_contexts": ["x", "y"]},
    ],
)
def test_ids_alone_and_texts_alone_are_not_compared(columns: dict[str, Any]) -> None:
    """Where one side has ids without texts and the other texts without ids, nothing is known and the reason is said."""
    assert "texts without ids" in str(value_of("retrieval_recall", {"response": "r", **columns}))
    assert "mrr" not in rg.evaluate([{"query": "q", "response": "Yes.", **columns}]).estimates


def test_chunks_without_any_id_are_known_by_their_texts() -> None:
    """Chunks of one's own that have no id are not taken for one document."""
    chunks = [rg.types.Chunk(text) for text in ("x", "y", "z")]
    sample = rg.Sample("1", contexts=(chunks[0], chunks[1]), reference_contexts=(chunks[1], chunks[2]))
    assert rg.score(sample, "retrieval_recall")["retrieval_recall"].value == 0.5


def test_a_blank_cell_of_ids_is_missing_and_a_broken_one_names_its_column() -> None:
    """An empty cell is no id but undefined, and a list that is cut off is a bad row of its column."""
    blank = {"response": "r", "retrieved_context_ids": "d1", "reference_context_ids": ""}
    assert "the sample has no reference_contexts" in str(value_of("retrieval_recall", blank))
    with pytest.raises(rg.errors.BadRow, match="'reference_context_ids': a broken list of ids"):
        value_of("retrieval_recall", {**blank, "reference_context_ids": "['d1', 'd"})


def test_nothing_to_find_is_undefined_and_a_broken_grade_fails() -> None:
    """Without a relevant context a score is undefined, and a grade that is no number fails its sample alone."""
    row = {"query": "q", "retrieved_context_ids": ["a"], "reference_context_ids": {"a": 0}}
    assert value_of("ndcg", row) == "the sample has no relevant context"
    assert value_of("retrieval_precision", {"contexts": [], "reference_contexts": ["x"]}) == "there are no contexts"
    broken = {"contexts": ["x"], "reference_contexts": [{"text": "x", "id": "d9", "grade": "high"}]}
    assert "the grade of the reference context 'd9' is 'high'; give a number" in str(value_of("ndcg", broken))
    run = rg.evaluate([{"contexts": ["x"], "reference_contexts": ["x"]}, broken], "ndcg")
    assert (run.estimates["ndcg"].n, run.estimates["ndcg"].failed, run.estimates["ndcg"].value) == (1, 1, 1.0)


def test_estimates_have_intervals_and_evidence(tmp_path: Path) -> None:
    """Over a file of ids each metric has a mean with an interval, and each score says which ranks are relevant."""
    rows = [
        {"query": "q", "retrieved_context_ids": ["a", "b"], "reference_context_ids": [relevant]} for relevant in "abx"
    ]
    path = tmp_path / "ids.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    run = rg.evaluate(path, "mrr,hit_rate(k=1),pooled(retrieval_recall)")
    estimate = run.estimates["mrr"]
    assert (estimate.value, estimate.n) == (0.5, 3)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low < 0.5 < estimate.high <= 1
    assert run.estimates["pooled(retrieval_recall)"].value == pytest.approx(2 / 3)
    pieces = run.scores[1]["mrr"].evidence
    assert [(piece.text, piece.field, piece.label) for piece in pieces] == [
        ("a", "retrieved_context_ids[0]", rg.Label.NO),
        ("b", "retrieved_context_ids[1]", rg.Label.YES),
    ]


def test_measured_by_default_where_a_retrieved_chunk_is_known() -> None:
    """Without -m they are measured where some retrieved chunk is relevant, and not where nothing can be compared."""
    row = {"query": "q", "response": "An answer.", "contexts": ["one", "two"]}
    known = rg.evaluate([{**row, "reference_contexts": ["two"]}]).estimates
    assert known["mrr"].value == 0.5
    assert "mrr" not in rg.evaluate([{**row, "reference_contexts": ["a text of its own"]}]).estimates


def test_a_missing_column_is_named() -> None:
    """Asked for without known chunks, the message names both forms of the missing field, each for what it holds."""
    with pytest.raises(rg.errors.MissingField, match="'reference_contexts' or 'reference_context_ids'") as refused:
        rg.evaluate([{"response": "r", "contexts": ["c"], "relevant_ids": ["d1"]}], "ndcg")
    assert "--map reference_context_ids=COLUMN if it holds ids" in str(refused.value)


def test_columns_of_ids_may_have_any_name() -> None:
    """Ids in columns that the caller's map names are compared as those in columns of the known names."""
    rows = [{"got": ["d1", "d2"], "relevant ids": ["d1", "d9"], "response": "r"}]
    names = {"retrieved_context_ids": "got", "reference_context_ids": "relevant_ids"}
    run = rg.evaluate(rows, "retrieval_recall", map=names)
    assert run.estimates["retrieval_recall"].value == 0.5
    chunks = [{"contexts": [{"id": "d1", "text": "x"}], "relevant ids": ["d1", "d9"]}]
    run = rg.evaluate(chunks, "retrieval_recall", map={"reference_context_ids": "relevant ids"})
    assert run.estimates["retrieval_recall"].value == 0.5
