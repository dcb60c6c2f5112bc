"""Faithfulness, hallucination and context coverage at their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.metrics.registry import parse_metric
from ragauge.questions import Entail, Question
from ragauge.types import Answer, ChunkVerdict, Failure, Label, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Sampling, Valuing

NO_CLAIMS = "undefined: the response makes no claim"
NO_CONTEXTS = "undefined: there are no contexts"


@pytest.mark.parametrize(
    ("response", "contexts", "expected"),
    [
        ("a b", ["a", "b c"], 1.0),
        ("a b x", ["a", "b"], 2 / 3),
        ("a x", ["a"], 0.5),
        ("a&b", ["a", "b"], 1.0),
        ("a ~hello *fine", ["a"], 1.0),
        ("a +b", ["a b"], 1.0),
        ("a b", [], 0.0),
        ("a b", [""], 0.0),
        ("", ["a"], NO_CLAIMS),
        (" \n", ["a"], NO_CLAIMS),
        ("~hello *fine", ["a"], NO_CLAIMS),
        ("", [], NO_CLAIMS),
        ("a", None, "undefined: the sample has no contexts"),
        (None, ["a"], "undefined: the sample has no response"),
        (None, None, "undefined: the sample has no response and no contexts"),
    ],
)
def test_faithfulness(value: Valuing, response: str, contexts: list[str], expected: float | str) -> None:
    """Faithfulness is the share of claims that the contexts entail: 0 without contexts, undefined without claims."""
    assert value("faithfulness", response=response, contexts=contexts) == expected


def test_a_contradicting_chunk_beats_a_supporting_one(value: Valuing) -> None:
    """A claim that one chunk supports and another contradicts is not supported."""
    assert value("faithfulness", response="a b", contexts=["a b", "!a"]) == 0.5


def test_a_contradicted_claim_shows_both_chunks(drive: type[Drive], sample: Sampling, words: Answering) -> None:
    """The evidence of a claim that is both supported and contradicted names the chunk that does each."""
    done = drive([sample(response="a", contexts=["a", "x", "!a"])], [parse_metric("faithfulness")], words)
    (evidence,) = done.evidence("response_in_contexts(claims)")
    assert [(chunk.chunk, chunk.label) for chunk in evidence.chunks] == [
        ("1", Label.ENTAILED),
        ("2", Label.NEUTRAL),
        ("3", Label.CONTRADICTED),
    ]
    assert (evidence.field, evidence.span, evidence.against) == ("response", (0, 1), "contexts")


def test_faithfulness_of_sentences_asks_for_no_statements(
    drive: type[Drive], sample: Sampling, words: Answering
) -> None:
    """With units=sentences the response is split by rule, so the only questions are of entailment."""
    measure = parse_metric("faithfulness(units=sentences)")
    done = drive([sample(response="One is so. Two is so.", contexts=["x"])], [measure], words)
    assert [q.hypothesis for q in done.questions if isinstance(q, Entail)] == [
        "One is so.",
        "Two is so.",
    ]
    assert len(done.questions) == 2
    assert {topic for need in measure.needs for topic in need.asks} == {"entail:support"}


@pytest.mark.parametrize(
    ("response", "contexts", "expected"),
    [
        ("a b", ["!a", "!b x", "a"], 2 / 3),
        ("a b", ["!a !b", "c"], 0.5),
        ("a b", ["a", "b"], 0.0),
        ("a x", ["y", "z"], 0.0),
        ("", ["!a"], 0.0),
        ("*fine", ["!fine"], 0.0),
        ("a", [""], 0.0),
        ("a", [], NO_CONTEXTS),
        ("", [], NO_CONTEXTS),
        ("a", None, "undefined: the sample has no contexts"),
    ],
)
def test_hallucination(value: Valuing, response: str, contexts: list[str], expected: float | str) -> None:
    """Hallucination is the share of contexts that some claim contradicts, 0 for silence, undefined without contexts."""
    assert value("hallucination", response=response, contexts=contexts) == expected


def _two_way(label: Label) -> Label:
    return label if label is Label.ENTAILED else Label.NOT_ENTAILED


def test_a_two_way_verdict_never_becomes_no_hallucination(value: Valuing, words: Answering) -> None:
    """Where a verdict does not tell contradiction from silence, hallucination fails with a reason, and is not 0."""

    def two_way(question: Question) -> Answer | Failure:
        answer = words(question)
        if isinstance(question, Entail) and isinstance(answer, Verdict):
            chunks = tuple(ChunkVerdict(_two_way(chunk.label)) for chunk in answer.chunks)
            return Verdict(_two_way(answer.label), chunks=chunks)
        return answer

    fields = {"response": "a", "contexts": ["!a", "b"]}
    assert str(value("hallucination", answering=two_way, **fields)).startswith("failed: a verdict does not distinguish")
    assert value("faithfulness", answering=two_way, **fields) == 0.0


def test_a_joint_label_never_becomes_no_hallucination(value: Valuing, words: Answering) -> None:
    """A person who judged several chunks together without naming one leaves hallucination failed, not 0."""

    def jointly(question: Question) -> Answer | Failure:
        return Verdict(Label.CONTRADICTED) if isinstance(question, Entail) else words(question)

    assert str(value("hallucination", answering=jointly, response="a", contexts=["!a", "b"])).startswith("failed: ")
    assert value("hallucination", answering=jointly, response="a", contexts=["!a"]) == 1.0
    assert value("faithfulness", answering=jointly, response="a", contexts=["!a", "b"]) == 0.0


@pytest.mark.parametrize(
    ("response", "contexts", "expected"),
    [
        ("a b", ["q a", "q x", "b"], 0.5),
        ("a b", ["q a", "q b"], 1.0),
        ("x", ["q a", "q b"], 0.0),
        ("", ["q a"], 0.0),
        ("a&b", ["q a", "q b"], 0.0),
        ("a", ["a", "b"], "undefined: no context is relevant"),
        ("a", [], "undefined: no context is relevant"),
    ],
)
def test_context_coverage(value: Valuing, response: str, contexts: list[str], expected: float | str) -> None:
    """Context coverage counts, among the relevant contexts, those that alone entail a claim of the response."""
    assert value("context_coverage", query="q", response=response, contexts=contexts) == expected


def test_a_failed_verdict_fails_the_score_with_its_reason(value: Valuing, words: Answering) -> None:
    """One unanswered question fails the metric and says how many were not answered; no number takes its place."""

    def breaks_at_b(question: Question) -> Answer | Failure:
        if isinstance(question, Entail) and question.hypothesis == "b":
            return Failure("judge_error", "no answer came")
        return words(question)

    got = value("faithfulness", answering=breaks_at_b, response="a b", contexts=["a", "b"])
    assert got == "failed: judge_error: no answer came (1 of 2 questions unanswered)"
