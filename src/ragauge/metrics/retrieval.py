"""Did the retriever find what is needed, and rank it first?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ragauge.metrics.correctness import best_share
from ragauge.metrics.metric import metric, share
from ragauge.needs.base import Need, Undefined
from ragauge.needs.checks import contexts_to_query, contexts_to_references, contexts_to_response
from ragauge.needs.entailment import reference_claims_in_contexts, references_in_contexts
from ragauge.needs.evidence import Checks, CheckSets, Supports
from ragauge.scores import Share
from ragauge.types import Label

NO_CONTEXTS = "there are no contexts"


def _useful(against: Literal["references", "response"] = "references") -> Need[CheckSets]:
    """What the contexts are to be useful for."""
    return contexts_to_references if against == "references" else contexts_to_response


@metric(_useful)
def context_precision(useful: CheckSets) -> float | Undefined:
    """Mean of precision@k over the ranks k of useful contexts; 0 where none is useful.

    A context is useful if it helps to produce any of the references. As in ragas, DeepEval and Valor; known in
    information retrieval as average precision. against: "references", or "response" for its use to the response, which
    ragas calls context utilization.
    """
    verdicts = [any(ranks) for ranks in zip(*(checks.passed for checks in useful.sets), strict=True)]
    return average_precision(verdicts) if verdicts else Undefined(NO_CONTEXTS)


def average_precision(useful: Sequence[bool]) -> float:
    """Mean of precision@k over the ranks k (from 1) where `useful` is set; 0 where it never is."""
    precisions = [sum(useful[:k]) / k for k, yes in enumerate(useful, 1) if yes]
    return sum(precisions) / len(precisions) if precisions else 0.0


@metric(references_in_contexts)
def context_recall(support: Supports) -> Share | Undefined:
    """Share of the reference's statements attributable to the contexts; the best over the references.

    As in ragas and Valor. No contexts: 0.
    """
    return best_share([table.entailed for table in support.tables], "no reference makes a statement")


@metric(contexts_to_query)
def context_relevance(relevant: Checks) -> Share | Undefined:
    """Share of the contexts of which some part is relevant to the query.

    As in Valor; called chunk precision in RAG Evals.
    """
    return share(relevant.passed, NO_CONTEXTS)


@metric(reference_claims_in_contexts, name="claim_recall@contexts")
def claim_recall_at_contexts(support: Supports) -> Share | Undefined:
    """Share of the reference's claims that the contexts entail; the best over the references.

    The retriever's claim recall of RAGChecker (Ru et al., 2024).
    """
    return best_share([table.entailed for table in support.tables], "no reference makes a claim")


@metric(reference_claims_in_contexts, name="context_precision@claims")
def context_precision_at_claims(support: Supports) -> Share | Undefined:
    """Share of the contexts that entail at least one claim of a reference.

    The retriever's context precision of RAGChecker (Ru et al., 2024).
    """
    return share(entailing(support), NO_CONTEXTS)


def entailing(support: Supports) -> list[bool]:
    """Per chunk: does it entail some statement of some reference?"""
    rows = [row for table in support.tables for row in table.table]
    return [any(row[i] is Label.ENTAILED for row in rows) for i in range(len(support.tables[0].chunks))]
