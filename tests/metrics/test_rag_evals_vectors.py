"""RAG Evals' vectors: its statements and graded chunks, read as judgments, give its values; a rule says why not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragauge.questions import Decompose, Entail, Question, Rate, Relevant
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Label, Statement, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Row, Rule, Valuing

FOREIGN = ("ChunkGraded", "batch summary (branch pr3)")


def chunks_of(row: Row) -> list[Any] | None:
    """The graded chunks of a row, None where it is about something else."""
    graded: list[Any] | None = row["inputs"].get("graded_chunks")
    return graded


def ids(row: Row) -> list[int]:
    """Which chunks a row grades, in its order."""
    return [chunk["id_chunk"] for chunk in chunks_of(row) or ()]


RULES: list[Rule] = [
    (
        "about the validation of a model's reply, which is the business of a judge that reads replies",
        lambda row: isinstance(row["expected"], dict) and "ValidationError" in row["expected"].get("raises", ""),
        None,
    ),
    (
        "continuous grades and batch summaries are not metrics of a sample here",
        lambda row: row["metric"] in FOREIGN,
        None,
    ),
    (
        "RAG Evals divides by zero where no chunk was graded, and takes a chunk that the model left out for no; "
        "ours is a failure that names what is missing",
        lambda row: chunks_of(row) is not None and set(ids(row)) != set(range(row["inputs"]["n_context"])),
        "failed: not_recorded",
    ),
    (
        "RAG Evals counts a chunk twice that was graded twice; ours is asked about each chunk once",
        lambda row: len(ids(row)) > len(set(ids(row))),
        1 / 3,
    ),
    (
        "RAG Evals gives 0 to a response without statements; 0/0 is undefined here",
        lambda row: row["inputs"].get("statements") == [],
        "undefined: the response makes no claim",
    ),
]


def ours(row: Row, value: Valuing) -> float | str:
    """Our metric on the row's judgments."""
    return _MEASURES[row["metric"]](row["inputs"], value)


def supported(flags: Sequence[bool], value: Valuing) -> float | str:
    """Faithfulness of a response of which some claims are supported."""
    table: dict[Question, Answer] = {
        Decompose("r"): Decomposition(tuple(Statement(f"s{i}") for i in range(len(flags))))
    }
    for i, flag in enumerate(flags):
        table[Entail(("c",), f"s{i}")] = Verdict(Label.ENTAILED if flag else Label.NEUTRAL)
    return value("faithfulness", answering=table.__getitem__, response="r", contexts=["c"])


def relevant(flags: dict[int, bool], count: int, value: Valuing) -> float | str:
    """Chunk precision where the judge knows of some chunks whether they are relevant."""

    def answer(question: Question) -> Answer | Failure:
        assert isinstance(question, Relevant)
        i = int(question.text)
        return Verdict(Label.YES if flags[i] else Label.NO) if i in flags else Failure("not_recorded")

    got = value("chunk_precision", answering=answer, query="q", contexts=[str(i) for i in range(count)])
    return str(got).partition(" (")[0] if isinstance(got, str) else got


def faithfulness(given: dict[str, Any], value: Valuing) -> float | str:
    """The share of statements that are supported."""
    flags = given["is_supported"] if "is_supported" in given else [s["is_supported"] for s in given["statements"]]
    return supported(flags, value)


def graded(given: dict[str, Any], value: Valuing) -> float | str:
    """The share of chunks that are relevant."""
    flags = {chunk["id_chunk"]: chunk["score"] for chunk in reversed(given["graded_chunks"])}
    return relevant(flags, given["n_context"], value)


def precision(given: dict[str, Any], value: Valuing) -> float | str:
    """The share of chunks that are relevant, by position."""
    return relevant({i: bool(yes) for i, yes in enumerate(given["relevant"])}, len(given["relevant"]), value)


def relevance(given: dict[str, Any], value: Valuing) -> float | str:
    """The overall of the relevance rubric."""

    def answer(question: Question) -> Answer:
        assert isinstance(question, Rate)
        return Grade(float(given[question.rubric.name]))

    return value("composite(relevance_rubric.overall=1)", answering=answer, query="q", response="r")


def coverage(given: dict[str, Any], value: Valuing) -> float | str:
    """The share of relevant chunks that the response uses."""
    chunks = given["chunks"]

    def answer(question: Question) -> Answer:
        if isinstance(question, Relevant):
            return Verdict(Label.YES if chunks[int(question.text)]["is_relevant"] else Label.NO)
        if isinstance(question, Decompose):
            return Decomposition((Statement("s"),))
        labels = [Label.ENTAILED if chunk["is_included"] else Label.NEUTRAL for chunk in chunks]
        return Verdict(Label.ENTAILED, chunks=tuple(map(ChunkVerdict, labels)))

    contexts = [str(i) for i in range(len(chunks))]
    return value("context_coverage", answering=answer, query="q", response="r", contexts=contexts)


def composite(given: dict[str, Any], value: Valuing) -> float | str:
    """The preset composite of one supported claim, one relevant chunk of two, and three equal grades."""
    assert (given["faithfulness"], given["precision"]) == (1.0, 0.5)

    def answer(question: Question) -> Answer:
        match question:
            case Decompose():
                return Decomposition((Statement("s"),))
            case Entail():
                return Verdict(Label.ENTAILED, chunks=(ChunkVerdict(Label.ENTAILED), ChunkVerdict(Label.NEUTRAL)))
            case Rate():
                return Grade(given["relevance"])
            case _:
                return Verdict(Label.YES if getattr(question, "text", "") == "c1" else Label.NO)

    return value("composite", answering=answer, query="q", response="r", contexts=["c1", "c2"])


_MEASURES: dict[str, Callable[[dict[str, Any], Valuing], float | str]] = {
    "Faithfulness": faithfulness,
    "ChunkGradedBinary": graded,
    "ChunkPrecision": precision,
    "AnswerRelevance": relevance,
    "ContextRecall (documented only)": coverage,
    "composite (docs)": composite,
}


def expected(row: Row) -> Row:
    """The row with the one number that is compared; the overall relevance is the mean, not what a model wrote."""
    result = row["expected"]
    number = next((result[key] for key in ("true_mean", "score", "composite") if key in result), result)
    return {**row, "expected": number if isinstance(number, float) else result}


@pytest.fixture
def rows(golden: Path) -> list[Row]:
    """The rows of RAG Evals."""
    everything = json.loads((golden / "systems" / "valor_ragevals_dataworkz.json").read_text("utf-8"))
    return [expected(row) for row in everything if row["system"].startswith("rag_evals")]


def test_rag_evals_rows(rows: list[Row], value: Valuing, compared: Callable[..., Counter[str]]) -> None:
    """On RAG Evals' statements and grades our metrics have its values, but for what the rules list."""
    tally = compared(rows, lambda row: ours(row, value), RULES)
    assert tally["equal"] >= 8


def test_no_relevant_chunk_is_undefined_where_rag_evals_documents_one(rows: list[Row], value: Valuing) -> None:
    """Its documented recall is 1 where no chunk is relevant; 0/0 is undefined here."""
    (row,) = [row for row in rows if row["metric"].startswith("ContextRecall")]
    chunks = [{**chunk, "is_relevant": False} for chunk in row["inputs"]["chunks"]]
    assert coverage({"chunks": chunks}, value) == "undefined: no context is relevant"
