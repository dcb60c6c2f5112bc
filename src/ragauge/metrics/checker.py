"""What went wrong in a response, told from claims, contexts and references at once (RAGChecker, Ru et al., 2024).

A claim is correct when a reference entails it, grounded when the contexts together do. With several references a
claim is correct if any of them entails it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ragauge.metrics.correctness import best_share
from ragauge.metrics.grounding import NO_CLAIMS
from ragauge.metrics.metric import One, metric, share
from ragauge.metrics.retrieval import entailing
from ragauge.needs.base import Undefined
from ragauge.needs.entailment import (
    reference_claims_in_contexts,
    reference_claims_in_response,
    response_claims_in_references,
    response_in_contexts,
)
from ragauge.needs.evidence import Support, Supports
from ragauge.scores import Share
from ragauge.types import Label


def _correct(in_references: Supports) -> list[bool]:
    return [any(column) for column in zip(*(table.entailed for table in in_references.tables), strict=True)]


def _grounded_and_correct(grounding: Support, in_references: Supports) -> Iterator[tuple[bool, bool]]:
    return zip(grounding.entailed, _correct(in_references), strict=True)


@metric(reference_claims_in_contexts, reference_claims_in_response)
def context_utilization(in_contexts: Supports, in_response: Supports) -> Share | Undefined:
    """Share of the reference's claims found in the contexts that the response holds too; the best over references."""
    each = [
        [said for found, said in zip(a.entailed, b.entailed, strict=True) if found]
        for a, b in zip(in_contexts.tables, in_response.tables, strict=True)
    ]
    return best_share(each, "the contexts entail no claim of a reference")


@metric(
    response_in_contexts(),
    response_claims_in_references,
    reference_claims_in_contexts,
    better="lower",
    parts=("relevant", "irrelevant"),
)
def noise_sensitivity(grounding: Support, correctness: Supports, reference: Supports) -> Mapping[str, One]:
    """Share of the response's claims that are incorrect and come from a relevant, or only from an irrelevant, context.

    A context is relevant when it entails a claim of a reference.
    """
    relevant = entailing(reference)
    wrong = {"relevant": 0, "irrelevant": 0}
    for row, correct in zip(grounding.table, _correct(correctness), strict=True):
        sources = [useful for label, useful in zip(row, relevant, strict=True) if label is Label.ENTAILED]
        if sources and not correct:
            wrong["relevant" if any(sources) else "irrelevant"] += 1
    total = len(grounding)
    return {part: Share(n, total) if total else Undefined(NO_CLAIMS) for part, n in wrong.items()}


@metric(response_in_contexts(), response_claims_in_references, better="lower")
def self_knowledge(grounding: Support, correctness: Supports) -> Share | Undefined:
    """Share of the response's claims that are correct without support in the contexts."""
    each = _grounded_and_correct(grounding, correctness)
    return share((correct and not grounded for grounded, correct in each), NO_CLAIMS)


@metric(response_in_contexts(), response_claims_in_references, better="lower")
def claim_hallucination(grounding: Support, correctness: Supports) -> Share | Undefined:
    """Share of the response's claims that are neither correct nor supported by the contexts."""
    each = _grounded_and_correct(grounding, correctness)
    return share((not correct and not grounded for grounded, correct in each), NO_CLAIMS)
