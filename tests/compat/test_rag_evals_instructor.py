"""RAG Evals' front door with clients of instructor: its document's programs, and prompts of one's own."""

from __future__ import annotations

import asyncio
import gc
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compat.rag_evals_judges import ANSWER, CONTEXT, QUESTION, Row, sensible
from tests.llm.stub.process import StubServer

import ragauge as rg

pytest.importorskip("pydantic")

from pydantic import BaseModel

from ragauge.compat.rag_evals import (
    AnswerRelevance,
    ChunkGradedBinary,
    ChunkPrecision,
    Composite,
    ContextEvaluation,
    Faithfulness,
    base,
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
def test_the_composite_shares_its_calls(served: StubServer) -> None:
    """Three metrics in one take two calls, and give what they give alone; sync clients and async, graded either way."""
    client = instructors()
    together = Composite.grade(QUESTION, ANSWER, CONTEXT, client)
    assert served.stats()["calls"] == 2

    apart = (Faithfulness, ChunkPrecision, AnswerRelevance)
    waiting = instructors(async_client=True)

    async def both() -> tuple[Any, ...]:
        assert await Composite.agrade(QUESTION, ANSWER, CONTEXT, client) == together
        return tuple([await metric.agrade(QUESTION, ANSWER, CONTEXT, waiting) for metric in apart])

    assert asyncio.run(both()) == (together.faithfulness, together.precision, together.relevance)


class Tone(BaseModel):
    """What the reply of a test's own evaluation looks like."""

    polite: bool
    chunk: int


TONE = ContextEvaluation(
    prompt="How polite is the answer?", examples=[{"answer": "Thanks!"}, "No <b>."], response_model=Tone
)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_evaluation_of_ones_own(asynchronous: bool, served: StubServer, tmp_path: Path) -> None:
    """One call carries prompt, examples, question, answer and numbered chunks, and the reply is the response model."""
    served.reset(record=tmp_path / "calls.jsonl")
    client = instructors(async_client=asynchronous)
    given = (QUESTION, "</answer> Sure.", ["c0", "c1"], client)
    found = [asyncio.run(TONE.agrade(*given)), *([] if asynchronous else [TONE.grade(*given)])]
    assert {one.model_dump_json() for one in found} == {'{"polite":true,"chunk":1}'}

    lines = (tmp_path / "calls.jsonl").read_text("utf-8").splitlines()
    system, user = json.loads(lines[0])["body"]["messages"]
    assert system["content"] == "How polite is the answer?"
    for part in ("Thanks!", "No &lt;b>.", QUESTION, "&lt;/answer> Sure.", '<chunk id="1">c1</chunk>'):
        assert part in user["content"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_result_model_in_an_evaluation_of_ones_own(served: StubServer) -> None:
    """The documented way to another prompt: RAG Evals' models check a reply against the context that was sent."""
    strict = base.ContextEvaluation(prompt="Be strict.", response_model=ChunkGradedBinary)
    client = instructors()
    found = strict.grade(QUESTION, None, CONTEXT, client)

    assert [chunk.score for chunk in found.graded_chunks] == [False, True, False]
    with pytest.raises(instructor().core.InstructorRetryException, match=r"there is no chunk \[1\]"):
        strict.grade(QUESTION, None, CONTEXT[:1], client)


def test_a_template_of_ones_own() -> None:
    """A template may use question, answer, context and examples, and None is no answer."""
    called: list[Row] = []

    class Client:
        def create(self, **call: Any) -> str:
            called.append(call)
            return "reply"

    mine = ContextEvaluation(prompt="p", response_model=Tone, chunk_template="{{ question }}", examples=["e"])
    assert mine.grade("q", None, ["c"], Client()) == "reply"
    (call,) = called
    assert call["messages"][1]["content"] == "{{ question }}"
    assert call["context"] == {
        "question": "q",
        "answer": None,
        "examples": ["e"],
        "context": [{"id": 0, "chunk": "c"}],
    }


@pytest.mark.parametrize("client", ["embedded", None, sensible()])
def test_an_evaluation_of_ones_own_needs_a_client_of_instructor(client: Any) -> None:
    """A prompt cannot be put to other judges, which is reported."""
    with pytest.raises(rg.errors.BadParameter, match="needs a client of instructor"):
        TONE.grade("q", "a", ["c"], client)
