"""The front door of RAG Evals: its vectors, its document's programs, its edges, and what it does with wrong input."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.stub.process import StubServer

import ragauge as rg

pytest.importorskip("pydantic")

from pydantic import BaseModel, ValidationError

from ragauge.compat.rag_evals import (
    AnswerRelevance,
    ChunkBinaryScore,
    ChunkGraded,
    ChunkGradedBinary,
    ChunkPrecision,
    ChunkUtility,
    ChunkUtilityResult,
    Composite,
    CompositeResult,
    ContextEvaluation,
    ContextRecall,
    ContextRecallResult,
    Faithfulness,
    FaithfulnessResult,
    Metric,
    RelevanceScore,
    StatementEvaluation,
    UndefinedScore,
    base,
)

StubFactory = Callable[..., StubServer]
Row = dict[str, Any]

QUESTION = "What are the benefits of exercise?"
ANSWER = "Exercise helps the heart. It makes people rich."
RESPECTS: tuple[str, ...] = ("topical_match", "completeness", "conciseness")
CONTEXT = ["Exercise helps the heart.", "It builds muscles.", "Olympia lies in Greece."]


def scripted(
    claims: Sequence[str] = ("s",),
    supports: Callable[[str, str], str] = lambda chunk, claim: "neutral",
    relevant: Callable[[str], bool] = lambda chunk: True,
    grades: Mapping[str, float] = MappingProxyType({}),
) -> rg.Judge:
    """A judge of whom a test says what it answers. supports: what a chunk, or all of them, say of a claim."""
    return rg.judge_from(
        decompose=lambda text: list(claims),
        entail=supports,
        relevant=lambda query, text, reference=None: relevant(text),
        rate=lambda rubric, **texts: grades[rubric],
        name="scripted",
    )


def sensible() -> rg.Judge:
    """A judge who takes sentences apart, and finds in a chunk what it literally says."""
    return rg.judge_from(
        decompose=lambda text: [f"{sentence.strip()}." for sentence in text.split(".") if sentence.strip()],
        entail=lambda premise, hypothesis: "entailed" if hypothesis in premise else "neutral",
        relevant=lambda query, text: "Greece" not in text,
        rate=lambda rubric, query, response="", chunk="": 0.25 if "Greece" in chunk else 0.75,
        name="sensible",
    )


def validated(model: type[BaseModel], data: Any, chunks: int) -> Any:
    """A model made of data about so many chunks."""
    return model.model_validate(data, context={"context": [{"id": i, "chunk": str(i)} for i in range(chunks)]})


# The vectors


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


def score_of(result: Any) -> float:
    """The one number of a result."""
    names = ("composite_score", "overall_score", "score")
    return float(next(getattr(result, name) for name in names if hasattr(type(result), name)))


@pytest.mark.shared
def test_the_vectors(shared: Path) -> None:
    """Every row gives the number, the order, or the error that RAG Evals gives; batch summaries are what a run has."""
    rows = json.loads((shared / "vectors" / "valor_ragevals_dataworkz.json").read_text("utf-8"))
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


# The document's programs


def programs(shared: Path) -> list[str]:
    """The three code samples of the document, with one import changed."""
    text = (shared / "seeds" / "004_acd47446bd6a2507.txt").read_text("utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [code.replace("from rag_evals import", "from ragauge.compat.rag_evals import") for code in found]


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


@pytest.mark.shared
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_documents_programs_run(shared: Path, served: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    """The three code samples run as they are written, with instructor's clients, and print what they promise."""
    first, second, third = programs(shared)
    names: dict[str, Any] = {}
    exec(compile(first, "first", "exec"), names)
    (statement,) = names["result"].model_dump()["statements"]
    assert statement["supporting_chunk_ids"] == [0, 1, 2]
    exec(compile(second, "second", "exec"), names)
    assert [chunk["id_chunk"] for chunk in names["result"].model_dump()["graded_chunks"]] == [0, 1, 2, 3]
    told = capsys.readouterr().out
    assert "Faithfulness score: " in told
    assert "Precision score: " in told

    exec(compile(third, "third", "exec"), names)
    found = asyncio.run(names["evaluate_rag_system"](QUESTION, ANSWER, CONTEXT))
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


# What metrics make of judgments


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
    said = {"yes": "entailed", "no": "contradicted"}
    judge = scripted(supports=lambda text, claim: said.get(text, "entailed"))
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
    assert isinstance(caught.value, rg.UsageError)


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


# Wrong input


@pytest.mark.parametrize(
    ("error", "match", "given"),
    [
        (rg.MissingField, "no sample has 'response'; an argument is None", {"answer": None}),
        (rg.MissingField, "no sample has 'contexts'", {"context": None}),
        (rg.BadRow, "'contexts': item 1 is null", {"context": [None]}),
        (rg.BadRow, "'question'", {"question": b"what?"}),
        (rg.BadRow, "'answer'", {"answer": {"is": "no text"}}),
        (rg.BadParameter, "is not a judge", {"client": 5}),
        (rg.UnanswerableNeed, "does not answer decompose", {"client": rg.judge_from(entail=lambda a, b: True)}),
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
    with pytest.raises(rg.RunFailed, match=r"context_relevance: judge_error: .* ZeroDivisionError"):
        ChunkPrecision.grade("q", None, ["c", ""], judge)


def test_without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing library is named with the command that installs it."""
    monkeypatch.setitem(sys.modules, "pydantic", None)
    monkeypatch.delitem(sys.modules, "ragauge.compat.rag_evals")
    with pytest.raises(rg.MissingExtra, match=r"ragauge\[instructor\]"):
        importlib.import_module("ragauge.compat.rag_evals")


# Result models


@given(st.data())
def test_graded_chunks_are_completed_and_sorted(data: st.DataObject) -> None:
    """Any chunks of the context come out in its order, those left out with 0, and the score is the mean over all."""
    scores = data.draw(st.dictionaries(st.integers(0, 5), st.floats(0, 1), min_size=1))
    chunks = data.draw(st.permutations([{"id_chunk": i, "score": score} for i, score in scores.items()]))
    found = validated(ChunkGraded, {"graded_chunks": chunks}, 6)

    assert [(each.id_chunk, each.score) for each in found.graded_chunks] == [(i, scores.get(i, 0.0)) for i in range(6)]
    assert found.score == pytest.approx(sum(scores.values()) / 6)


def test_chunks_left_out_are_told_and_have_the_type_of_the_others(caplog: pytest.LogCaptureFixture) -> None:
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


# Evaluations with a prompt of one's own


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
    """A prompt cannot be put to other judges, which is said."""
    with pytest.raises(rg.BadParameter, match="needs a client of instructor"):
        TONE.grade("q", "a", ["c"], client)
