"""RAGChecker's generator metrics: edges, and a second computation from the definitions of the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.questions import Entail
from ragauge.types import Label, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Sampling, Scoring, Valuing

METRICS = (
    "faithfulness",
    "claim_recall@contexts",
    "context_precision@claims",
    "context_utilization",
    "noise_sensitivity",
    "self_knowledge",
    "claim_hallucination",
)
NO_CLAIMS = "undefined: the response makes no claim"


@pytest.mark.parametrize(
    ("response", "contexts", "references", "expected"),
    [
        ("a", ["a b", "c"], ["a b c d"], 1 / 3),
        ("a b", ["a b"], ["a b"], 1.0),
        ("d", ["a"], ["a d"], 0.0),
        ("a", ["a"], ["x", "a b"], 1.0),
        ("a", ["a"], ["b"], "undefined: the contexts entail no claim of a reference"),
        ("a", [], ["a"], "undefined: the contexts entail no claim of a reference"),
    ],
)
def test_context_utilization(
    value: Valuing, response: str, contexts: list[str], references: list[str], expected: float | str
) -> None:
    """Of the golden claims found in the contexts, those the response holds too; undefined where none was found."""
    got = value("context_utilization", response=response, contexts=contexts, references=references)
    assert got == expected


@pytest.mark.parametrize(
    ("response", "contexts", "references", "relevant", "irrelevant"),
    [
        ("a w v", ["a w", "v"], ["a"], 1 / 3, 1 / 3),
        ("w", ["a w", "w"], ["a"], 1.0, 0.0),
        ("a", ["a", "a"], ["a"], 0.0, 0.0),
        ("w", ["x"], ["a"], 0.0, 0.0),
        ("w b", ["a w", "w b"], ["a", "b"], 0.5, 0.0),
        ("w", [], ["a"], 0.0, 0.0),
        ("", ["a"], ["a"], NO_CLAIMS, NO_CLAIMS),
    ],
)
def test_noise_sensitivity(
    scores: Scoring,
    sample: Sampling,
    response: str,
    contexts: list[str],
    references: list[str],
    relevant: float | str,
    irrelevant: float | str,
) -> None:
    """Wrong claims are charged to a relevant chunk if any relevant one says them, else to the irrelevant ones."""
    got = scores(sample(response=response, contexts=contexts, references=references), "noise_sensitivity")
    shown = [f"undefined: {score.undefined}" if score.value is None else score.value for score in got.values()]
    assert list(got) == ["noise_sensitivity.relevant", "noise_sensitivity.irrelevant"]
    assert shown == [relevant, irrelevant]


@pytest.mark.parametrize(
    ("response", "contexts", "references", "knowledge", "hallucination"),
    [
        ("a b c d", ["a b"], ["a c"], 0.25, 0.25),
        ("a", [], ["a"], 1.0, 0.0),
        ("x", [], ["a"], 0.0, 1.0),
        ("a b", [], ["a", "b"], 1.0, 0.0),
        ("", ["a"], ["a"], NO_CLAIMS, NO_CLAIMS),
    ],
)
def test_unsupported_claims(
    value: Valuing,
    response: str,
    contexts: list[str],
    references: list[str],
    knowledge: float | str,
    hallucination: float | str,
) -> None:
    """Claims without support are self-knowledge where any reference confirms them and hallucination where none does."""
    fields = {"response": response, "contexts": contexts, "references": references}
    assert value("self_knowledge", **fields) == knowledge
    assert value("claim_hallucination", **fields) == hallucination


texts = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5, unique=True).map(" ".join)
chunks = st.lists(texts, min_size=1, max_size=4)


@given(response=texts, contexts=chunks, reference=texts, seed=st.integers(0, 10**6))
def test_all_agree_with_the_definitions_of_the_paper(
    scores: Scoring,
    sample: Sampling,
    chance: Callable[[int], Answering],
    response: str,
    contexts: list[str],
    reference: str,
    seed: int,
) -> None:
    """On random verdict tables every metric equals a set computation written from Ru et al. (2024), section 3.3."""
    judge = chance(seed)
    one = sample(response=response, contexts=contexts, references=[reference])
    got = {key: score.value for key, score in scores(one, METRICS, judge).items()}
    assert got == by_definition(judge, response, contexts, reference)


def by_definition(judge: Answering, response: str, contexts: list[str], reference: str) -> dict[str, float | None]:
    """The metrics as sets of claims and chunks; "the contexts" are all chunks read together, none contradicting."""

    def verdict(premise: tuple[str, ...], claim: str) -> Verdict:
        answer = judge(Entail(premise, claim))
        assert isinstance(answer, Verdict)
        return answer

    def in_contexts(claim: str) -> bool:
        reply = verdict(tuple(contexts), claim)
        return reply.label is Label.ENTAILED and Label.CONTRADICTED not in {chunk.label for chunk in reply.chunks}

    def chunks_with(claim: str) -> set[int]:
        reply = verdict(tuple(contexts), claim).chunks
        return {i for i, chunk in enumerate(reply) if chunk.label is Label.ENTAILED}

    def in_text(text: str, claim: str) -> bool:
        return verdict((text,), claim).label is Label.ENTAILED

    model, gold = response.split(), reference.split()
    found = {claim for claim in gold if in_contexts(claim)}
    relevant = {i for claim in gold for i in chunks_with(claim)}
    correct = {claim for claim in model if in_text(reference, claim)}
    faithful = {claim for claim in model if in_contexts(claim)}
    wrong = [claim for claim in model if claim not in correct]
    by_relevant = {claim for claim in wrong if chunks_with(claim) & relevant}
    by_irrelevant = {claim for claim in wrong if chunks_with(claim) - relevant} - by_relevant
    return {
        "faithfulness": len(faithful) / len(model),
        "claim_recall@contexts": len(found) / len(gold),
        "context_precision@claims": len(relevant) / len(contexts),
        "context_utilization": sum(in_text(response, claim) for claim in found) / len(found) if found else None,
        "noise_sensitivity.relevant": len(by_relevant) / len(model),
        "noise_sensitivity.irrelevant": len(by_irrelevant) / len(model),
        "self_knowledge": len(correct - faithful) / len(model),
        "claim_hallucination": len(set(model) - correct - faithful) / len(model),
    }
