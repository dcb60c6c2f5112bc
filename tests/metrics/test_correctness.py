"""Correctness, answer correctness, and claim recall, precision and F1 at their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.metrics.registry import parse_metric
from ragauge.questions import Correct, Entail
from ragauge.types import Decomposition, Label, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Sampling, Scoring, Valuing

NO_REFERENCE = "undefined: the sample has no reference"


@pytest.mark.parametrize(
    ("response", "references", "expected"),
    [
        ("a b", ["a b"], 1.0),
        ("a x", ["a b"], 1 / (1 + 0.5 * (1 + 1))),
        ("a b x", ["a b c d"], 2 / (2 + 0.5 * (1 + 2))),
        ("x", ["a"], 0.0),
        ("", ["a"], 0.0),
        ("", [" ", "a"], 0.0),
        ("a b", ["x", "a b c", "a"], 2 / (2 + 0.5 * (0 + 1))),
        ("a *fine", ["a *fine"], 1.0),
        ("a", [], NO_REFERENCE),
        ("a", ["", " "], NO_REFERENCE),
        ("a", None, "undefined: the sample has no references"),
    ],
)
def test_answer_correctness(value: Valuing, response: str, references: list[str], expected: float | str) -> None:
    """Answer correctness is the F1 of statements, the best over the references, 0 without a true positive."""
    assert value("answer_correctness", response=response, references=references) == expected


@pytest.mark.parametrize(
    ("response", "references", "expected"),
    [
        ("x a y", ["a"], 1.0),
        ("a", ["a b"], 0.5),
        ("x", ["a", "b c"], 0.0),
        ("b", ["a", "b"], 1.0),
        (" ", ["a"], 0.0),
        ("a", ["?"], "undefined: it depends"),
        ("a", ["", " "], NO_REFERENCE),
        ("a", None, "undefined: the sample has no references"),
    ],
)
def test_correctness(value: Valuing, response: str, references: list[str], expected: float | str) -> None:
    """Right is 1, partly right 0.5 and wrong 0 by all references together; undefined where they do not decide."""
    assert value("correctness", response=response, references=references) == expected


def test_correctness_asks_one_question_about_all_references(drive: type[Drive], sample: Sampling) -> None:
    """The answer and all references but blank ones, with the query; about a blank answer nothing is asked."""
    full = sample(query="q", response="a", references=["a", " ", "b"])
    asked = drive(
        [full, sample(response="", references=["a"])], [parse_metric("correctness")], lambda _: Verdict(Label.RIGHT)
    ).questions
    assert asked == [Correct("q", "a", ("a", "b"))]


@pytest.mark.parametrize(
    ("response", "references", "expected"),
    [("a&b", ["a"], 0.0), ("x&y", ["a"], 0.0), ("a x", ["a"], 2 / 3)],
)
def test_a_short_reference_supports_no_whole_statement(
    value: Valuing, response: str, references: list[str], expected: float
) -> None:
    """Answer correctness counts what a reference supports, as Valor does, so that a right sentence may have 0."""
    assert value("answer_correctness", response=response, references=references) == pytest.approx(expected)


def test_answer_correctness_without_statements_is_zero(value: Valuing) -> None:
    """Texts in which the judge finds no statement have no true positive, so the score is 0 and not undefined."""
    got = value("answer_correctness", answering=lambda question: Decomposition(()), response="r", references=["g"])
    assert got == 0.0


def test_answer_correctness_keeps_its_counts(scores: Scoring, sample: Sampling) -> None:
    """The counts are true positives, false positives and false negatives against the best reference."""
    score = scores(sample(response="a b x", references=["a", "a b c d"]), "answer_correctness")["answer_correctness"]
    assert score.counts == (2, 1, 2)


@pytest.mark.parametrize(
    ("query", "response", "references", "recall", "precision", "f1"),
    [
        ("q", "a b x", ["a b c"], 2 / 3, 2 / 3, 2 / 3),
        ("q", "a", ["a b"], 0.5, 1.0, 2 / 3),
        ("q", "a b", ["a"], 1.0, 0.5, 2 / 3),
        ("p", "p a", ["p a b"], 0.5, 1.0, 2 / 3),
        ("p", "p x", ["p a"], 0.0, 0.0, 0.0),
        (" ", "a", ["a"], 1.0, 1.0, 1.0),
        ("q", "a", ["x y", "a b"], 0.5, 1.0, 2 / 3),
        ("q", "a ~hi *fine", ["a *fine"], 1.0, 1.0, 1.0),
        ("q", "", ["a"], 0.0, "undefined: the response makes no claim beyond the query", 0.0),
        (
            "p",
            "p",
            ["p"],
            "undefined: no reference makes a claim beyond the query",
            "undefined: the response makes no claim beyond the query",
            "undefined: neither the response nor a reference makes a claim beyond the query",
        ),
        ("q", "a", [], NO_REFERENCE, NO_REFERENCE, NO_REFERENCE),
    ],
)
def test_claim_metrics(
    value: Valuing,
    query: str,
    response: str,
    references: list[str],
    recall: float | str,
    precision: float | str,
    f1: float | str,
) -> None:
    """Recall counts golden claims, precision the response's; what the query presupposes is left out on both sides."""
    fields = {"query": query, "response": response, "references": references}
    assert value("claim_recall", **fields) == recall
    assert value("claim_precision", **fields) == precision
    assert value("claim_f1", **fields) == f1


def test_what_the_query_presupposes_is_asked_of_the_query_alone(
    drive: type[Drive], sample: Sampling, words: Answering
) -> None:
    """Presupposition is the entailment of a claim by the query as premise, read without a query of its own."""
    done = drive([sample(query="q", response="a", references=["b"])], [parse_metric("claim_f1")], words)
    presupposed = [q for q in done.questions if isinstance(q, Entail) and q.premise == ("q",)]
    assert {(q.hypothesis, q.query) for q in presupposed} == {("a", None), ("b", None)}


def test_common_counting_lifts_the_response_to_the_golden_claims_found(
    value: Valuing, scores: Scoring, sample: Sampling
) -> None:
    """With counting=common precision is golden claims found over response claims, never fewer than were found."""
    one = sample(query="q", response="a&b c", references=["a b c d"])
    score = scores(one, "claim_f1(counting=common)")["claim_f1"]
    assert score.counts == (3, 3, 3, 4)
    assert score.value == pytest.approx(2 * 1 * 0.75 / 1.75, rel=0, abs=1e-15)


def test_common_counting_without_golden_claims_is_undefined(value: Valuing) -> None:
    """Nothing can be in common with no claim, whatever the response claims; another reference may still have some."""
    nothing = "undefined: no reference makes a claim beyond the query"
    assert value("claim_f1(counting=common)", query="p", response="a", references=["p"]) == nothing
    assert value("claim_f1(counting=common)", query="p", response="a", references=["p", "a"]) == 1.0


def test_claim_f1_is_the_best_over_references(scores: Scoring, sample: Sampling) -> None:
    """With several references claim F1 is that of the best one, and its counts are that reference's."""
    score = scores(sample(query="q", response="a b", references=["x y z", "a c", "a b"]), "claim_f1")["claim_f1"]
    assert (score.value, score.counts) == (1.0, (2, 2, 2, 2))
