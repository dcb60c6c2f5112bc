"""Column names of the ecosystem."""

from __future__ import annotations

from typing import Any

import pytest

from ragauge.readers import read
from ragauge.readers.columns import ALIASES, folded
from ragauge.types import Chunk, Sample

C1, C2 = Chunk("c1", "1"), Chunk("c2", "2")
QARC: dict[str, Any] = {"query": "q", "response": "a", "references": ("r",), "contexts": (C1, C2)}

#: (the system or file whose shape it is, a row of it, the fields of the sample)
GOLDEN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "ragas 0.2 and later: SingleTurnSample",
        {
            "user_input": "q",
            "response": "a",
            "reference": "r",
            "retrieved_contexts": ["c1", "c2"],
            "reference_contexts": ["c3"],
            "retrieved_context_ids": ["x", 7],
        },
        {
            **QARC,
            "contexts": (Chunk("c1", "x"), Chunk("c2", "7")),
            "reference_contexts": (Chunk("c3", "1"),),
        },
    ),
    ("ragas 0.1", {"question": "q", "answer": "a", "ground_truth": "r", "contexts": ["c1", "c2"]}, QARC),
    (
        "ragas 0.1, before ground_truth",
        {"question": "q", "answer": "a", "ground_truths": ["r", "s"]},
        {"query": "q", "response": "a", "references": ("r", "s")},
    ),
    (
        "DeepEval: LLMTestCase",
        {
            "input": "q",
            "actual_output": "a",
            "expected_output": "r",
            "retrieval_context": ["c1", "c2"],
            "context": ["c3"],
        },
        {**QARC, "reference_contexts": (Chunk("c3", "1"),)},
    ),
    (
        "DeepEval without retrieval_context",
        {"input": "q", "actual_output": "a", "context": ["c1", "c2"]},
        {"query": "q", "response": "a", "contexts": (C1, C2)},
    ),
    (
        "RAGChecker: a result",
        {
            "query_id": "k1",
            "query": "q",
            "gt_answer": "r",
            "response": "a",
            "retrieved_context": [{"doc_id": "d1", "text": "c1"}, {"doc_id": "d2", "text": "c2"}],
        },
        {**QARC, "id": "k1", "contexts": (Chunk("c1", "d1"), Chunk("c2", "d2"))},
    ),
    (
        "Valor-lite: valor_rag_data.csv",
        {"query": "q", "groundtruth": "r", "prediction": "a", "context_list": '["c1", "c2"]'},
        QARC,
    ),
    (
        "Valor-lite: valor_summarization_data.csv",
        {"text": "t", "groundtruth": "r", "prediction": "a"},
        {"source": "t", "references": ("r",), "response": "a"},
    ),
    (
        "Dataworkz: apple10k_evaluation_result.csv",
        {"SNo.": "18", "Question": "q", "Golden Context": "c3", "Golden Response": "r", "Candidate Response": "a"},
        {
            "id": "18",
            "query": "q",
            "response": "a",
            "references": ("r",),
            "reference_contexts": (Chunk("c3", "1"),),
        },
    ),
    (
        "Trust-Eval: an item of the evaluation file",
        {
            "question": "q",
            "output": "a",
            "answers": [["r", "s"]],
            "docs": [
                {"title": "T", "text": "c1", "answers_found": [0]},
                {"title": "U", "text": "c2", "answers_found": [1]},
            ],
        },
        {
            "query": "q",
            "response": "a",
            "answers": (("r", "s"),),
            "contexts": (
                Chunk("c1", "1", "T", {"answers_found": [0]}),
                Chunk("c2", "2", "U", {"answers_found": [1]}),
            ),
        },
    ),
    (
        "Trust-Eval: an item of the user's own, before its documents are labelled",
        {"question": "q", "output": "a", "answers": ["r"], "docs": [{"title": "T", "text": "c"}]},
        {"query": "q", "response": "a", "answers": (("r",),), "contexts": (Chunk("c", "1", "T"),)},
    ),
    (
        "Trust-Eval: the same with a text for its answers",
        {"question": "q", "output": "a", "answers": "r", "docs": [{"text": "c"}]},
        {"query": "q", "response": "a", "answers": (("r",),), "contexts": (Chunk("c", "1"),)},
    ),
    (
        "ALCE: ASQA with its long gold answer",
        {
            "question": "q",
            "answer": "r",
            "output": "a",
            "qa_pairs": [{"question": "q1", "short_answers": ["x", "y"]}, {"question": "q2", "short_answers": ["z"]}],
            "docs": [{"title": "T", "text": "c1"}],
        },
        {
            "query": "q",
            "response": "a",
            "references": ("r",),
            "answers": (("x", "y"), ("z",)),
            "contexts": (Chunk("c1", "1", "T"),),
        },
    ),
    (
        "ALCE: ELI5 with claims",
        {"question": "q", "answer": "r", "output": "a", "claims": ["x", "y"]},
        {"query": "q", "response": "a", "references": ("r",), "answers": (("x",), ("y",))},
    ),
    (
        "openevals",
        {"inputs": "q", "outputs": "a", "reference_outputs": "r", "context": ["c1", "c2"]},
        QARC,
    ),
    (
        "openevals with objects",
        {
            "inputs": {"question": "q"},
            "outputs": {"answer": "a", "documents": ["c1", "c2"]},
            "reference_outputs": {"answer": "r"},
        },
        QARC,
    ),
    ("autoevals", {"input": "q", "output": "a", "expected": "r", "context": ["c1", "c2"]}, QARC),
    (
        "MLflow",
        {
            "inputs": {"question": "q"},
            "outputs": "a",
            "expectations": {"expected_response": "r", "expected_facts": ["x", "y"]},
        },
        {"query": "q", "response": "a", "references": ("r",), "answers": (("x",), ("y",))},
    ),
    (
        "MLflow, flat",
        {"inputs.question": "q", "outputs": "a", "expectations.expected_response": "r"},
        {"query": "q", "response": "a", "references": ("r",)},
    ),
    (
        "Azure AI evaluation",
        {"query": "q", "response": "a", "ground_truth": "r", "context": "c1"},
        {**QARC, "contexts": (C1,)},
    ),
    ("Phoenix", {"input": "q", "output": "a", "context": "c1"}, {"query": "q", "response": "a", "contexts": (C1,)}),
    (
        "Haystack, singular rows",
        {"questions": "q", "predicted_answers": "a", "ground_truth_answers": "r", "contexts": ["c1", "c2"]},
        QARC,
    ),
    (
        "LangChain: RetrievalQA",
        {"query": "q", "result": "a", "source_documents": [{"page_content": "c1", "metadata": {"p": 3}}]},
        {"query": "q", "response": "a", "contexts": (Chunk("c1", "1", metadata={"p": 3}),)},
    ),
    (
        "SQuAD",
        {"id": "s1", "question": "q", "context": "c1", "answers": {"text": ["r", "s"], "answer_start": [1, 5]}},
        {"id": "s1", "query": "q", "contexts": (C1,), "references": ("r", "s")},
    ),
    (
        "Natural Questions, open",
        {"question": "q", "answers": ["r", "s"], "prediction": "a"},
        {"query": "q", "response": "a", "references": ("r", "s")},
    ),
    (
        "GSM8K and such with a prediction",
        {"question": "q", "answer": "r", "prediction": "a"},
        {"query": "q", "response": "a", "references": ("r",)},
    ),
    (
        "CNN/DailyMail with a summary",
        {"article": "t", "highlights": "r", "summary": "a"},
        {"source": "t", "response": "a", "references": ("r",)},
    ),
    (
        "XSum with a prediction",
        {"document": "t", "summary": "r", "prediction": "a"},
        {"source": "t", "response": "a", "references": ("r",)},
    ),
]


@pytest.mark.parametrize(("row", "fields"), [golden[1:] for golden in GOLDEN], ids=[golden[0] for golden in GOLDEN])
def test_each_known_shape_becomes_the_same_sample(row: dict[str, Any], fields: dict[str, Any]) -> None:
    """A row of each system of the ecosystem is read into the fields that its documentation gives them."""
    (sample,) = read([row])
    assert sample == Sample(**{"id": "1", **fields, "metadata": sample.metadata})
    assert not sample.metadata.keys() & set(row), "no known column is left over"


@pytest.mark.parametrize("spelling", ["Golden Response", "golden_response", "GOLDEN-RESPONSE", "goldenResponse"])
def test_spelling_of_a_name_does_not_matter(spelling: str) -> None:
    """Case, spaces, hyphens and underscores make no difference in a column name."""
    (sample,) = read([{"Query": "q", spelling: "r"}])
    assert (sample.query, sample.references) == ("q", ("r",))


def test_the_exact_name_wins_over_another_spelling() -> None:
    """Of two spellings of one name the canonical one serves the field, wherever it stands; the other is metadata."""
    (sample,) = read([{"QUERY": "loud", "query": "plain"}])
    assert (sample.query, sample.metadata) == ("plain", {"QUERY": "loud"})


def test_names_in_other_scripts_stay_apart() -> None:
    """Folding keeps the letters of every script, so that two foreign columns are not taken for one."""
    assert folded("质量 A") == "质量a"
    (sample,) = read([{"query": "q", "质量": 1, "来源": 2}])
    assert sample.metadata == {"质量": 1, "来源": 2}


@pytest.mark.parametrize(("field", "name"), [(field, name) for field, names in ALIASES.items() for name in names])
def test_every_name_in_the_table_serves_its_field(field: str, name: str) -> None:
    """Each name of the table, when the names before it are taken, serves the field it is listed under."""
    row: dict[str, Any] = {"response": "a", "contexts": ["c"], "reference_contexts": ["d"], "references": ["r"]}
    values = {
        "answers": [["x"]],
        "answer_weights": [1.0],
        "answerable": True,
        "metadata": {"k": 1},
        "turns": [{"role": "user", "text": "x"}] * 2,
    }
    by_name = {"annotations": [{"long_answer": "x"}], "rubrics": [{"criterion": "x", "points": 1}]}
    row = {column: value for column, value in row.items() if column != field}
    row[name] = by_name.get(name, values.get(field, ["x"] if field.endswith("ids") else "x"))
    assert read([row]).columns[field] == name
    assert len(list(read([row]))) == 1
