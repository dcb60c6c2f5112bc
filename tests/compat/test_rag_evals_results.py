"""RAG Evals' result models, made of what a model wrote."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.rag_evals_judges import validated

pytest.importorskip("pydantic")

from pydantic import ValidationError

from ragauge.compat.rag_evals import (
    ChunkBinaryScore,
    ChunkGraded,
    ChunkGradedBinary,
    ChunkUtilityResult,
    CompositeResult,
    ContextRecallResult,
    FaithfulnessResult,
    RelevanceScore,
    StatementEvaluation,
)


@given(st.data())
def test_graded_chunks_are_completed_and_sorted(data: st.DataObject) -> None:
    """Any chunks of the context come out in its order, those left out with 0, and the score is the mean over all."""
    scores = data.draw(st.dictionaries(st.integers(0, 5), st.floats(0, 1), min_size=1))
    chunks = data.draw(st.permutations([{"id_chunk": i, "score": score} for i, score in scores.items()]))
    found = validated(ChunkGraded, {"graded_chunks": chunks}, 6)

    assert [(each.id_chunk, each.score) for each in found.graded_chunks] == [(i, scores.get(i, 0.0)) for i in range(6)]
    assert found.score == pytest.approx(sum(scores.values()) / 6)


def test_chunks_left_out_are_reported_and_have_the_type_of_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """A binary grade that is added is False, dumps without a warning, and is logged."""
    with caplog.at_level(logging.WARNING):
        found = validated(ChunkGradedBinary, {"graded_chunks": [{"id_chunk": 1, "score": True}]}, 3)

    assert found.graded_chunks[0] == ChunkBinaryScore(id_chunk=0, score=False)
    assert found.model_dump_json()
    assert "[0, 2] were not graded" in caplog.text


@pytest.mark.parametrize("ids", [["0"], [[0]], [None], [3], [-1], "0", 0])
def test_ids_that_are_no_chunks(ids: Any) -> None:
    """Whatever is no position in the context is refused, also for statements that are not supported."""
    with pytest.raises(ValidationError, match=r"no chunk|list"):
        validated(StatementEvaluation, {"statement": "s", "is_supported": False, "supporting_chunk_ids": ids}, 3)


@pytest.mark.parametrize("context", [None, {}, {"context": "abc"}, {"context": None}, ["c"]])
def test_ids_need_the_context(context: Any) -> None:
    """Without a list of chunks to check ids against there is no result, and the error says how to give one."""
    with pytest.raises(ValidationError, match="model_validate"):
        ChunkGraded.model_validate({"graded_chunks": [{"id_chunk": 0, "score": 1}]}, context=context)


@given(*[st.floats(0, 1)] * 3)
def test_the_overall_score_is_the_mean(topical: float, complete: float, concise: float) -> None:
    """Whatever a model writes as overall score, it is the mean of the three, and it is dumped with them."""
    written = {"topical_match": topical, "completeness": complete, "conciseness": concise, "overall_score": 0.5}
    found = RelevanceScore.model_validate({**written, "reasoning": "because"})

    assert found.overall_score == pytest.approx((topical + complete + concise) / 3)
    assert found.model_dump()["overall_score"] == found.overall_score


def test_empty_results() -> None:
    """Scores without anything to count are those that RAG Evals documents."""
    assert FaithfulnessResult(statements=[]).score == 0.0
    assert ContextRecallResult(evaluated_chunks=[]).score == 1.0
    useful = ChunkUtilityResult(evaluated_chunks=[])
    assert (useful.score, useful.most_useful_chunk, useful.least_useful_chunk) == (0.0, None, None)
    assert "composite_score" not in CompositeResult.model_json_schema()["properties"]
