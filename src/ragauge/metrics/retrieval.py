"""Relevance of responses, and retrieval: did the retriever find and rank what is needed, and is it used?

A claim is correct when a reference entails it, grounded when the contexts together do. With several references a
claim is correct if any of them entails it.

Where the relevant chunks are known, ranks are measured as in trec_eval, on the first k of them, or on all for k=0. A
chunk that is retrieved twice counts once, at its better rank. Relevant chunks may have grades; one without is graded 1,
and 0 is not relevant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from ragauge.metrics.base import MetricValue, listed, metric, share
from ragauge.metrics.checks import Count
from ragauge.metrics.claims import NO_CLAIMS, NO_CONTEXTS, best_share
from ragauge.needs import checks, entailment
from ragauge.needs.base import Checks, CheckSets, Need, Ranks, Support, Supports, Undefined
from ragauge.scores import Share
from ragauge.types import Label

Depth = Annotated[Count, "how many contexts count, from the first; 0 for all"]


def _usefulness(
    against: Annotated[Literal["references", "response"], "what a useful context helps to answer"] = "references",
) -> Need[CheckSets]:
    """The need that checks what contexts are useful for."""
    return checks.contexts_to_references if against == "references" else checks.contexts_to_response


@listed(default=6)
@metric(_usefulness, caption="useful contexts first")
def context_precision(useful: CheckSets) -> float | Undefined:
    """Mean of precision@k over the ranks k of useful contexts; 0 where none is useful.

    A context is useful if it helps to produce any of the references. As in ragas, DeepEval and Valor; known in
    information retrieval as average precision. against: "references", or "response" for its use to the response, which
    ragas calls context utilization.
    """
    verdicts = [any(ranks) for ranks in zip(*(checks.passed for checks in useful.tables), strict=True)]
    return average_precision(verdicts) if verdicts else Undefined(NO_CONTEXTS)


def average_precision(useful: Sequence[bool]) -> float:
    """Mean of precision@k over the ranks k (from 1) where `useful` is set; 0 where it never is."""
    precisions = [sum(useful[:k]) / k for k, yes in enumerate(useful, 1) if yes]
    return sum(precisions) / len(precisions) if precisions else 0.0


@listed(default=7)
@metric(entailment.references_in_contexts, caption="reference statements found")
def context_recall(support: Supports) -> Share | Undefined:
    """Share of the reference's statements attributable to the contexts; the best over the references.

    As in ragas and Valor. No contexts: 0.
    """
    return best_share([table.entailed for table in support.tables], "no reference makes a statement")


@listed(default=8, aliases=("chunk_precision",))
@metric(checks.contexts_to_query, caption="contexts on the query")
def context_relevance(relevant: Checks) -> Share | Undefined:
    """Share of the contexts of which some part is relevant to the query.

    As in Valor; called chunk precision in RAG Evals.
    """
    return share(relevant.passed, NO_CONTEXTS)


@listed(default=13)
@metric(entailment.reference_claims_in_contexts, name="claim_recall@contexts", caption="reference claims retrieved")
def claim_recall_at_contexts(support: Supports) -> Share | Undefined:
    """Share of the reference's claims that the contexts entail; the best over the references.

    The retriever's claim recall of RAGChecker (Ru et al., 2024).
    """
    return best_share([table.entailed for table in support.tables], "no reference makes a claim")


@listed(default=14)
@metric(
    entailment.reference_claims_in_contexts, name="context_precision@claims", caption="contexts of reference claims"
)
def context_precision_at_claims(support: Supports) -> Share | Undefined:
    """Share of the contexts that entail at least one claim of a reference.

    The retriever's context precision of RAGChecker (Ru et al., 2024).
    """
    return share(entailing(support), NO_CONTEXTS)


def entailing(support: Supports) -> list[bool]:
    """Per chunk, whether it entails some statement of some reference."""
    rows = [row for table in support.tables for row in table.table]
    return [any(row[i] is Label.ENTAILED for row in rows) for i in range(len(support.tables[0].chunks))]


@listed(default=5)
@metric(checks.statements_to_query, caption="statements on the query")
def answer_relevance(relevant: Checks) -> Share | Undefined:
    """Share of the response's statements that are relevant to the query. As in DeepEval and Valor."""
    return share(relevant.passed, "the response makes no statement")


@metric(checks.response_to_query.also_asking("relevant:conversation"), caption="requests answered")
def answered_requests(relevant: Checks) -> Share:
    """1 if any part of the response helps to answer the request, else 0; with `--per turn` the share of requests.

    The request is read with the turns before it: "And the second one?". A refusal answers nothing, nor does silence.
    """
    return Share(sum(relevant.passed), 1)


def _correct(in_references: Supports) -> list[bool]:
    return [any(column) for column in zip(*(table.entailed for table in in_references.tables), strict=True)]


def _grounded_and_correct(grounding: Support, in_references: Supports) -> Iterator[tuple[bool, bool]]:
    return zip(grounding.entailed, _correct(in_references), strict=True)


@listed(default=15)
@metric(
    entailment.reference_claims_in_contexts, entailment.reference_claims_in_response, caption="retrieved claims used"
)
def context_utilization(in_contexts: Supports, in_response: Supports) -> Share | Undefined:
    """Share of the reference's claims in the contexts that the response entails too; the best over the references."""
    flags = [
        [used for retrieved, used in zip(contexts.entailed, response.entailed, strict=True) if retrieved]
        for contexts, response in zip(in_contexts.tables, in_response.tables, strict=True)
    ]
    return best_share(flags, "the contexts entail no claim of a reference")


@listed(default=16)
@metric(
    entailment.response_in_contexts(),
    entailment.response_claims_in_references,
    entailment.reference_claims_in_contexts,
    better="lower",
    parts=("relevant", "irrelevant"),
    caption="claims wrong, from contexts",
)
def noise_sensitivity(grounding: Support, correctness: Supports, reference: Supports) -> Mapping[str, MetricValue]:
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


@listed(default=17)
@metric(
    entailment.response_in_contexts(),
    entailment.response_claims_in_references,
    better="lower",
    caption="claims right, unsupported",
)
def self_knowledge(grounding: Support, correctness: Supports) -> Share | Undefined:
    """Share of the response's claims that are correct without support in the contexts."""
    flags = _grounded_and_correct(grounding, correctness)
    return share((correct and not grounded for grounded, correct in flags), NO_CLAIMS)


@listed(default=18)
@metric(
    entailment.response_in_contexts(),
    entailment.response_claims_in_references,
    better="lower",
    caption="claims wrong, unsupported",
)
def claim_hallucination(grounding: Support, correctness: Supports) -> Share | Undefined:
    """Share of the response's claims that are neither correct nor supported by the contexts."""
    flags = _grounded_and_correct(grounding, correctness)
    return share((not correct and not grounded for grounded, correct in flags), NO_CLAIMS)


def _first(ranks: Ranks, k: int) -> tuple[float, ...]:
    return ranks.grades[:k] if k else ranks.grades


def _found(ranks: Ranks, k: int) -> int:
    return sum(grade > 0 for grade in _first(ranks, k))


@metric(checks.retrieval_ranks, caption="retrieved contexts relevant")
def retrieval_precision(ranks: Ranks, *, k: Depth = 0) -> Share | Undefined:
    """Share of the first k retrieved contexts that are relevant by id or text; with k, missing ranks count as wrong."""
    total = k or len(ranks.grades)
    return Share(_found(ranks, k), total) if total else Undefined(NO_CONTEXTS)


@metric(checks.retrieval_ranks, caption="relevant contexts retrieved")
def retrieval_recall(ranks: Ranks, *, k: Depth = 0) -> Share:
    """Share of the relevant contexts, known by id or text, among the first k retrieved ones."""
    return Share(_found(ranks, k), len(ranks.ideal))


@metric(checks.retrieval_ranks, caption="queries with a hit")
def hit_rate(ranks: Ranks, *, k: Depth = 0) -> Share:
    """1 if some relevant context, known by id or text, is among the first k retrieved ones, else 0."""
    return Share(_found(ranks, k) > 0, 1)


@listed(aliases=("reciprocal_rank",))
@metric(checks.retrieval_ranks, caption="rank of the first relevant")
def mrr(ranks: Ranks, *, k: Depth = 0) -> float:
    """Mean reciprocal rank: 1 / rank of the first relevant context, known by id or text; 0 without one."""
    return next((1 / rank for rank, grade in enumerate(_first(ranks, k), 1) if grade > 0), 0.0)


@listed(aliases=("average_precision",))
@metric(checks.retrieval_ranks, name="map", caption="ranks of the relevant")
def mean_average_precision(ranks: Ranks, *, k: Depth = 0) -> float:
    """Mean average precision: precision at the rank of each relevant context, known by id or text, 0 if not found."""
    relevant = [grade > 0 for grade in _first(ranks, k)]
    return average_precision(relevant) * sum(relevant) / len(ranks.ideal)


@metric(checks.retrieval_ranks, caption="grades and ranks of contexts")
def ndcg(ranks: Ranks, *, k: Depth = 0) -> float:
    """Normalised discounted cumulative gain of contexts known by id or text (Järvelin & Kekäläinen, 2002).

    The gain is the grade, the discount log2(rank + 1), and the ideal ranking has all relevant contexts, best first.
    """
    return _gain(_first(ranks, k)) / _gain(ranks.ideal[:k] if k else ranks.ideal)


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))
