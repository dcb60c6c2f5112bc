"""RAG Evals' front door with clients of instructor: its document's programs."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.compat.rag_evals_judges import ANSWER, CONTEXT, QUESTION, score_of
from tests.llm.stub.process import StubServer

import ragauge as rg

pytest.importorskip("pydantic")

from ragauge.compat.rag_evals import (
    AnswerRelevance,
    ChunkPrecision,
    Faithfulness,
)

StubFactory = Callable[..., StubServer]


#: Programs of the three forms that RAG Evals documents, with one import changed.
FAITHFULNESS = """
from ragauge.compat.rag_evals import Faithfulness
import instructor

context = [
    "Regular swimming makes the heart and the lungs stronger.",
    "Swimming in cold water makes the heart work harder.",
    "Swimming makes many people sleep better.",
]
result = Faithfulness.grade(
    question="What does swimming do?",
    answer="Swimming makes people sleep better.",
    context=context,
    client=instructor.from_provider("openai/gpt-4o-mini"),
)
for statement in result.statements:
    print(statement.statement, statement.is_supported, statement.supporting_chunk_ids)
print(f"Faithfulness score: {result.score}")
"""
PRECISION = """
from ragauge.compat.rag_evals import ChunkPrecision
import instructor

context = ["Swimming helps the heart.", "Swimming helps sleep.", "The pool opened in 1931.", "Swimming is cheap."]
result = ChunkPrecision.grade(
    question="What does swimming do?",
    answer=None,
    context=context,
    client=instructor.from_provider("openai/gpt-4o-mini"),
)
for i, chunk in enumerate(result.graded_chunks):
    print(context[i], chunk.score)
print(f"Precision score: {result.score}")
"""
ALL_AT_ONCE = """
import asyncio
from ragauge.compat.rag_evals import AnswerRelevance, ChunkPrecision, Faithfulness
import instructor

async def evaluate(question, answer, context):
    given = {
        "question": question,
        "context": context,
        "client": instructor.from_provider("openai/gpt-4o-mini", async_client=True),
    }
    faithfulness, precision, relevance = await asyncio.gather(
        Faithfulness.agrade(answer=answer, **given),
        ChunkPrecision.agrade(answer=None, **given),
        AnswerRelevance.agrade(answer=answer, **given),
    )
    scores = {
        "faithfulness": faithfulness.score,
        "precision": precision.score,
        "relevance": relevance.overall_score,
    }
    weights = {"faithfulness": 0.4, "precision": 0.3, "relevance": 0.3}
    return scores | {"composite_score": sum(weights[name] * score for name, score in scores.items())}
"""


@pytest.fixture
def served(stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    """A stub server that clients of OpenAI's library find by themselves; those that nobody closes are collected."""
    pytest.importorskip("openai")
    server = stub_server()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    yield server
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def instructors(**options: Any) -> Any:
    """A client of the instructor library, as the document makes it."""
    return instructor().from_provider("openai/gpt-4o-mini", **options)


def instructor() -> Any:
    """The library."""
    return pytest.importorskip("instructor", minversion="1.7")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_programs_as_documented(served: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs of the three documented forms run with instructor's clients and print what they promise."""
    names: dict[str, Any] = {}
    exec(compile(FAITHFULNESS, "faithfulness", "exec"), names)
    (statement,) = names["result"].model_dump()["statements"]
    assert statement["supporting_chunk_ids"] == [2]
    exec(compile(PRECISION, "precision", "exec"), names)
    assert [chunk["id_chunk"] for chunk in names["result"].model_dump()["graded_chunks"]] == [0, 1, 2, 3]
    reported = capsys.readouterr().out
    assert "Faithfulness score: " in reported
    assert "Precision score: " in reported

    exec(compile(ALL_AT_ONCE, "all at once", "exec"), names)
    found = asyncio.run(names["evaluate"](QUESTION, ANSWER, CONTEXT))
    parts = 0.4 * found["faithfulness"] + 0.3 * found["precision"] + 0.3 * found["relevance"]
    assert found["composite_score"] == pytest.approx(parts)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_metrics_in_one_share_their_calls(served: StubServer) -> None:
    """Three metrics in one take two calls, and give what they give alone; sync clients and async, graded either way."""
    client = instructors()
    row = {"question": QUESTION, "answer": ANSWER, "contexts": CONTEXT}
    together = rg.score(row, "faithfulness,chunk_precision,relevance_rubric", client)
    assert served.stats()["calls"] == 2

    apart = (Faithfulness, ChunkPrecision, AnswerRelevance)
    waiting = instructors(async_client=True)

    async def both() -> list[Any]:
        return [
            score_of(await metric.agrade(QUESTION, ANSWER, CONTEXT, client))
            for client in (client, waiting)
            for metric in apart
        ]

    values = [together[key].value for key in ("faithfulness", "chunk_precision", "relevance_rubric.overall")]
    assert asyncio.run(both()) == [*values, *values]
