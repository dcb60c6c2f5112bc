"""Metrics of retrieval at their edges."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from ragauge.metrics.registry import parse_metric
from ragauge.metrics.retrieval import average_precision
from ragauge.questions import Decompose, Question
from ragauge.types import Answer, Decomposition, Failure

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Sampling, Valuing

NO_CONTEXTS = "undefined: there are no contexts"
NO_REFERENCE = "undefined: the sample has no reference"


@pytest.mark.parametrize(
    ("contexts", "references", "expected"),
    [
        (["a", "x", "a"], ["a"], (1 / 1 + 2 / 3) / 2),
        (["x", "a"], ["a"], 0.5),
        (["x", "y"], ["a"], 0.0),
        (["x", "x", "a", "x"], ["a", "z"], 1 / 3),
        (["x", "b", "a", "x"], ["a", "b"], (1 / 2 + 2 / 3) / 2),
        (["a"], ["", "a"], 1.0),
        ([], ["a"], NO_CONTEXTS),
        (["a"], [], NO_REFERENCE),
        ([], [], NO_REFERENCE),
        (None, ["a"], "undefined: the sample has no contexts"),
    ],
)
def test_context_precision(value: Valuing, contexts: list[str], references: list[str], expected: float | str) -> None:
    """Context precision is average precision; a context counts if any reference makes it useful; all no gives 0."""
    assert value("context_precision", query="q", contexts=contexts, references=references) == expected


@pytest.mark.parametrize(
    ("contexts", "response", "expected"),
    [
        (["a", "x"], "a", 1.0),
        (["x", "a"], "a", 0.5),
        (["g"], "a", 0.0),
        ([], "a", NO_CONTEXTS),
        (["a"], "", "undefined: the response is empty"),
        (["a"], None, "undefined: the sample has no response"),
    ],
)
def test_context_precision_against_the_response(
    value: Valuing, contexts: list[str], response: str, expected: float | str
) -> None:
    """Against the response, a context counts that is useful for it, whatever the references are."""
    fields = {"query": "q", "contexts": contexts, "response": response, "references": ["g"]}
    assert value("context_precision(against=response)", **fields) == expected


@pytest.mark.parametrize("useful", list(product([False, True], repeat=4)))
def test_average_precision_is_its_textbook_sum(useful: tuple[bool, ...]) -> None:
    """Average precision equals the sum of precision@k times usefulness over the number of useful ranks."""
    total, hits = 0.0, 0
    for rank, yes in enumerate(useful, 1):
        hits += yes
        total += yes * hits / rank
    assert average_precision(useful) == pytest.approx(total / hits if hits else 0.0, rel=1e-15)


@pytest.mark.parametrize(
    ("contexts", "references", "expected"),
    [
        (["a", "b"], ["a b c"], 2 / 3),
        (["a", "b"], ["a&b"], 1.0),
        (["a"], ["a *fine"], 0.5),
        (["a"], ["x y", "a x"], 0.5),
        ([], ["a"], 0.0),
        (["!a", "a"], ["a"], 0.0),
        (["a"], [" "], NO_REFERENCE),
        (["a"], [], NO_REFERENCE),
    ],
)
def test_context_recall(value: Valuing, contexts: list[str], references: list[str], expected: float | str) -> None:
    """Context recall counts statements of any kind that the contexts entail, the best over the references."""
    assert value("context_recall", contexts=contexts, references=references) == expected


def test_context_recall_is_over_references_with_statements(value: Valuing, words: Answering) -> None:
    """A reference in which the judge finds no statement is left out; with none left the score is undefined."""

    def finds_nothing_in_x(question: Question) -> Answer | Failure:
        return Decomposition(()) if isinstance(question, Decompose) and question.text == "x" else words(question)

    assert value("context_recall", answering=finds_nothing_in_x, contexts=["a"], references=["x", "a b"]) == 0.5
    got = value("context_recall", answering=finds_nothing_in_x, contexts=["a"], references=["x"])
    assert got == "undefined: no reference makes a statement"


@pytest.mark.parametrize("name", ["context_relevance", "chunk_precision"])
@pytest.mark.parametrize(
    ("contexts", "expected"), [(["q a", "b", "c q"], 2 / 3), (["a", "b"], 0.0), (["q"], 1.0), ([], NO_CONTEXTS)]
)
def test_context_relevance(value: Valuing, name: str, contexts: list[str], expected: float | str) -> None:
    """Context relevance, also called chunk precision, is the share of contexts with any relevant part."""
    assert value(name, query="q z", contexts=contexts) == expected


@pytest.mark.parametrize(
    ("contexts", "references", "recall", "precision"),
    [
        (["a", "x", "b"], ["a b c"], 2 / 3, 2 / 3),
        (["a", "b"], ["a&b"], 1.0, 0.0),
        (["a"], ["a *fine"], 1.0, 1.0),
        (["a", "b"], ["x", "b"], 1.0, 0.5),
        ([], ["a"], 0.0, NO_CONTEXTS),
        (["a"], ["*fine"], "undefined: no reference makes a claim", 0.0),
    ],
)
def test_claims_in_contexts(
    value: Valuing, contexts: list[str], references: list[str], recall: float | str, precision: float | str
) -> None:
    """RAGChecker's retriever metrics: golden claims that the contexts entail, contexts that entail a golden claim."""
    assert value("claim_recall@contexts", contexts=contexts, references=references) == recall
    assert value("context_precision@claims", contexts=contexts, references=references) == precision


def test_evidence_names_the_reference_as_the_data_counts_it(
    drive: type[Drive], sample: Sampling, words: Answering
) -> None:
    """A blank reference is passed over without renumbering those that follow it."""
    one = sample(query="q", response="a", contexts=["a"], references=["", "a"])
    done = drive([one], list(map(parse_metric, ["context_recall", "context_precision", "claim_precision"])), words)
    assert [piece.field for piece in done.evidence("references_in_contexts")] == ["references[1]"]
    assert [piece.against for piece in done.evidence("contexts_to_references")] == ["references[1]"]
    assert [piece.against for piece in done.evidence("response_claims_in_references")] == ["references[1]"]
