"""The front door of RAG Evals: what its metrics make of judgments, its edges, and what it does with wrong input."""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.rag_evals_judges import ANSWER, CONTEXT, QUESTION, RESPECTS, Row, score_of, scripted, sensible

import ragauge as rg

pytest.importorskip("pydantic")

from ragauge.compat.rag_evals import (
    AnswerRelevance,
    ChunkPrecision,
    ChunkUtility,
    Composite,
    ContextRecall,
    Faithfulness,
    FaithfulnessResult,
    Metric,
    UndefinedScore,
)


def test_each_result_shows_what_was_judged() -> None:
    """Statements with the chunks that support them, graded chunks, what is missing, grades; ids count from 0."""
    judge = sensible()
    found = Faithfulness.grade(question=QUESTION, answer=ANSWER, context=CONTEXT, client=judge)
    assert [(each.statement, each.is_supported, each.supporting_chunk_ids) for each in found.statements] == [
        ("Exercise helps the heart.", True, [0]),
        ("It makes people rich.", False, []),
    ]
    chunks = ChunkPrecision.grade(question=QUESTION, answer=None, context=CONTEXT, client=judge).graded_chunks
    assert [chunk.score for chunk in chunks] == [True, True, False]
    covered = ContextRecall.grade(QUESTION, ANSWER, CONTEXT, judge)
    assert covered.score == 0.5
    assert covered.missing_information == [{"chunk_id": 1, "missing_info": "It builds muscles."}]
    useful = ChunkUtility.grade(QUESTION, None, CONTEXT, judge)
    assert useful.most_useful_chunk == {"chunk_id": 0, "utility_score": 0.75, "justification": ""}
    assert useful.least_useful_chunk == {"chunk_id": 2, "utility_score": 0.25, "justification": ""}
    fits = AnswerRelevance.grade(QUESTION, ANSWER, CONTEXT, judge)
    assert fits.overall_score == 0.75


def test_chunks_that_support_a_claim_only_together_are_all_named() -> None:
    """Joint support has no single chunk to point at, and a supported statement must name one."""
    judge = scripted(supports=lambda text, claim: "entailed" if "\n" in text else "neutral")
    (statement,) = Faithfulness.grade("q", "a", ["c1", "c2"], judge).statements

    assert statement.supporting_chunk_ids == [0, 1]


def test_a_contradicted_claim_is_not_supported_and_says_by_which_chunk_it_would_be() -> None:
    """Where one chunk supports a claim and another contradicts it the claim counts against, and the id is kept."""
    reply = {"yes": "entailed", "no": "contradicted"}
    judge = scripted(supports=lambda text, claim: reply.get(text, "entailed"))
    found = Faithfulness.grade("q", "a", ["yes", "no"], judge)

    assert found.score == 0.0
    assert found.statements[0].supporting_chunk_ids == [0]


Table = list[list[str]]


@given(
    st.integers(1, 4).flatmap(
        lambda chunks: st.tuples(
            st.lists(st.lists(st.sampled_from(["entailed", "neutral"]), min_size=chunks, max_size=chunks), max_size=4),
            st.lists(st.booleans(), min_size=chunks, max_size=chunks),
        )
    )
)
def test_scores_are_those_of_ragauge(world: tuple[Table, list[bool]]) -> None:
    """On any judgments a result's score is ragauge's, and RAG Evals' own number where ragauge has none."""
    table, relevant = world
    names = [f"c{i}" for i in range(len(relevant))]

    def supports(text: str, claim: str) -> str:
        row = table[int(claim)]
        return row[names.index(text)] if text in names else "entailed" if "entailed" in row else "neutral"

    judge = scripted([str(i) for i in range(len(table))], supports, lambda text: relevant[names.index(text)])
    sample = {"query": "q", "response": "a", "contexts": names}
    scores = rg.evaluate([sample], ["faithfulness", "context_relevance", "context_coverage"], judge).scores[0]

    for metric, name, otherwise in (
        (Faithfulness, "faithfulness", 0.0),
        (ChunkPrecision, "context_relevance", None),
        (ContextRecall, "context_coverage", 1.0),
    ):
        result: Any = metric.grade("q", "a", names, judge)
        value = scores[name].value
        assert result.score == pytest.approx(otherwise if value is None else value)


@pytest.mark.parametrize(
    ("metric", "value"),
    [(Faithfulness, 0.0), (ContextRecall, 1.0), (ChunkUtility, 0.0), (ChunkPrecision, None), (Composite, None)],
)
def test_an_empty_context(metric: Metric[Any], value: float | None) -> None:
    """Without chunks the scores are RAG Evals' own, and where it divided by zero the error says what is missing."""
    judge = scripted(grades=dict.fromkeys(RESPECTS, 1.0))
    result = metric.grade("q", "a", [], judge)
    if value is not None:
        assert result.score == value
        return
    with pytest.raises(UndefinedScore, match="no chunk was graded") as caught:
        score_of(result)
    assert isinstance(caught.value, ZeroDivisionError)
    assert isinstance(caught.value, rg.errors.UsageError)


def test_an_empty_answer() -> None:
    """An answer without statements has the faithfulness 0, as in RAG Evals, where ragauge says that it is undefined."""
    assert Faithfulness.grade("q", "", ["c"], sensible()).score == 0.0


def test_chunks_may_be_records() -> None:
    """A chunk that is a dict is its text, under any of the names that data sets have for it."""
    judge = scripted(relevant=lambda chunk: chunk == "c")

    assert ChunkPrecision.grade("q", None, [{"text": "c"}, {"page_content": "d"}, "e"], judge).score == 1 / 3


def test_judgments_are_kept_in_a_store(tmp_path: Path) -> None:
    """What a store holds is not asked again, by whichever metric."""
    Composite.grade(QUESTION, ANSWER, CONTEXT, sensible(), store=tmp_path / "store")
    Faithfulness.grade(QUESTION, ANSWER, CONTEXT, sensible(), store=tmp_path / "store")

    assert rg.Run.open(tmp_path / "store").record.asked == 0


def test_under_a_running_loop() -> None:
    """grade works in a notebook, and agrade side by side."""

    async def notebook() -> list[FaithfulnessResult]:
        now = Faithfulness.grade(QUESTION, ANSWER, CONTEXT, sensible())
        later = [Faithfulness.agrade(QUESTION, answer, CONTEXT, sensible()) for answer in (ANSWER, ANSWER)]
        return [now, *await asyncio.gather(*later)]

    assert [found.score for found in asyncio.run(notebook())] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("error", "match", "given"),
    [
        (rg.errors.MissingField, "no sample has 'response'; an argument is None", {"answer": None}),
        (rg.errors.MissingField, "no sample has 'contexts'", {"context": None}),
        (rg.errors.BadRow, "'contexts': item 1 is null", {"context": [None]}),
        (rg.errors.BadRow, "'question'", {"question": b"what?"}),
        (rg.errors.BadRow, "'answer'", {"answer": {"is": "no text"}}),
        (rg.errors.BadParameter, "is not a judge", {"client": 5}),
        (rg.errors.UnanswerableNeed, "does not answer decompose", {"client": rg.judge_from(entail=lambda a, b: True)}),
    ],
)
def test_wrong_arguments(error: type[Exception], match: str, given: Row) -> None:
    """What cannot be graded is an error that names it, and never a number."""
    arguments = {"question": QUESTION, "answer": ANSWER, "context": CONTEXT, "client": sensible(), **given}
    with pytest.raises(error, match=match):
        Faithfulness.grade(**arguments)
    with pytest.raises(error, match=match):
        asyncio.run(Faithfulness.agrade(**arguments))


def test_a_judge_that_fails_gives_no_number() -> None:
    """A failed answer of the judge ends in an error that says for what and why."""
    judge = rg.judge_from(relevant=lambda query, text: 1 / len(text) > 0)
    with pytest.raises(rg.errors.RunFailed, match=r"context_relevance: judge_error: .* ZeroDivisionError"):
        ChunkPrecision.grade("q", None, ["c", ""], judge)


def test_without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing library is named with the command that installs it."""
    monkeypatch.setitem(sys.modules, "pydantic", None)
    monkeypatch.delitem(sys.modules, "ragauge.compat.rag_evals")
    with pytest.raises(rg.errors.MissingExtra, match=r"ragauge\[instructor\]"):
        importlib.import_module("ragauge.compat.rag_evals")
