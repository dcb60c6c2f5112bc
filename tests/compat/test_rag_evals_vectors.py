"""RAG Evals' vectors: the number, the order or the error that it gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.compat.rag_evals_judges import RESPECTS, Row, score_of, scripted, validated

pytest.importorskip("pydantic")

from pydantic import BaseModel, ValidationError

from ragauge.compat.rag_evals import (
    AnswerRelevance,
    ChunkGraded,
    ChunkGradedBinary,
    ChunkPrecision,
    Composite,
    ContextRecall,
    Faithfulness,
    FaithfulnessResult,
)


def faithfulness(given: Row) -> Any:
    """The result for statements as a model wrote them, or for flags that a judge gives."""
    if "statements" in given:
        return validated(FaithfulnessResult, given, given["n_context"])
    flags = {f"s{i}": flag for i, flag in enumerate(given["is_supported"])}
    judge = scripted(list(flags), lambda chunk, claim: "entailed" if flags[claim] else "neutral")
    return Faithfulness.grade("q", "a", ["c"], judge)


def graded(model: type[BaseModel]) -> Callable[[Row], Any]:
    """The graded chunks as a model wrote them."""

    def made(given: Row) -> Any:
        if "n_context" not in given:
            return model.model_validate(given, context=given["validation_context"])
        return validated(model, given, given["n_context"])

    return made


def precision(given: Row) -> Any:
    """The result for chunks of which a judge finds some relevant."""
    context = [str(i) for i in range(len(given["relevant"]))]
    return ChunkPrecision.grade(
        "q", None, context, scripted(relevant=lambda chunk: bool(given["relevant"][int(chunk)]))
    )


def relevance(given: Row) -> Any:
    """The result for three grades."""
    return AnswerRelevance.grade("q", "a", [], scripted(grades=given))


def recall(given: Row) -> Any:
    """The result for chunks that are relevant, or used, or both."""
    chunks = {str(i): chunk for i, chunk in enumerate(given["chunks"])}
    judge = scripted(
        supports=lambda text, claim: "entailed" if text not in chunks or chunks[text]["is_included"] else "neutral",
        relevant=lambda text: bool(chunks[text]["is_relevant"]),
    )
    return ContextRecall.grade("q", "a", list(chunks), judge)


def composite(given: Row) -> Any:
    """The composite of these parts, of which the precision is that of one chunk in two."""
    assert (given["faithfulness"], given["precision"]) == (1.0, 0.5)
    grades = {respect: float(given["relevance"]) for respect in RESPECTS}
    judge = scripted(("s",), lambda text, claim: "entailed", lambda chunk: chunk == "c1", grades)
    return Composite.grade("q", "a", ["c1", "c2"], judge)


MAKERS: dict[str, Callable[[Row], Any]] = {
    "Faithfulness": faithfulness,
    "ChunkGraded": graded(ChunkGraded),
    "ChunkGradedBinary": graded(ChunkGradedBinary),
    "ChunkPrecision": precision,
    "AnswerRelevance": relevance,
    "ContextRecall (documented only)": recall,
    "composite (docs)": composite,
}


def test_the_vectors(golden: Path) -> None:
    """Every row gives the number, the order, or the error that RAG Evals gives; batch summaries are what a run has."""
    rows = json.loads((golden / "systems" / "valor_ragevals_dataworkz.json").read_text("utf-8"))
    rows = [row for row in rows if row["system"].startswith("rag_evals") and row["metric"] in MAKERS]
    for row in rows:
        expected, make = row["expected"], MAKERS[row["metric"]]
        if "raises" in expected:
            with pytest.raises(ValidationError):
                make(row["inputs"])
            continue
        result = make(row["inputs"])
        number = next(expected[key] for key in ("true_mean", "score", "composite") if key in expected)
        if isinstance(number, dict):
            with pytest.raises(ZeroDivisionError):
                score_of(result)
        else:
            assert score_of(result) == pytest.approx(number), row
        if "order" in expected:
            assert [chunk.id_chunk for chunk in result.graded_chunks] == expected["order"]

    assert len(rows) >= 20
