"""Relevance of responses, and retrieval: did the retriever find and rank what is needed, and is it used?

A claim is correct when a reference entails it, grounded when the contexts together do. With several references a
claim is correct if any of them entails it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal

from ragauge.metrics.base import Metric, MetricValue, metric, share
from ragauge.metrics.claims import NO_CLAIMS, best_share
from ragauge.needs.base import Need, Undefined
from ragauge.needs.checks import (
    contexts_to_query,
    contexts_to_references,
    contexts_to_response,
    grade_of,
    statements_to_query,
)
from ragauge.needs.entailment import (
    reference_claims_in_contexts,
    reference_claims_in_response,
    references_in_contexts,
    response_claims_in_references,
    response_in_contexts,
)
from ragauge.needs.evidence import Checks, CheckSets, Grades, Support, Supports
from ragauge.questions import CHUNK_UTILITY, COHERENCE, COMPLETENESS, CONCISENESS, TOPICAL_MATCH, Rubric
from ragauge.scores import Share
from ragauge.types import Label

NO_CONTEXTS = "there are no contexts"


def _usefulness(against: Literal["references", "response"] = "references") -> Need[CheckSets]:
    """The need that checks what contexts are useful for."""
    return contexts_to_references if against == "references" else contexts_to_response


@metric(_usefulness)
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
    """Per chunk, whether it entails some statement of some reference."""
    rows = [row for table in support.tables for row in table.table]
    return [any(row[i] is Label.ENTAILED for row in rows) for i in range(len(support.tables[0].chunks))]


@metric(statements_to_query)
def answer_relevance(relevant: Checks) -> Share | Undefined:
    """Share of the response's statements that are relevant to the query. As in DeepEval and Valor."""
    return share(relevant.passed, "the response makes no statement")


@metric(
    grade_of(TOPICAL_MATCH),
    grade_of(COMPLETENESS),
    grade_of(CONCISENESS),
    parts=("topical_match", "completeness", "conciseness", "overall"),
)
def relevance_rubric(topical: Grades, complete: Grades, concise: Grades) -> Mapping[str, float]:
    """Topical match, completeness and conciseness, each 0-1, and their mean as `overall`. As in RAG Evals."""
    grades = [grades.values[0] for grades in (topical, complete, concise)]
    return dict(zip(("topical_match", "completeness", "conciseness", "overall"), [*grades, fmean(grades)], strict=True))


@metric(grade_of(CHUNK_UTILITY))
def chunk_utility(useful: Grades) -> float | Undefined:
    """Mean usefulness (0-1) of the contexts for answering the query. As in the RAG Evals documentation."""
    return fmean(useful.values) if useful.values else Undefined(NO_CONTEXTS)


@metric(grade_of(COHERENCE), scale=(1.0, 5.0))
def summary_coherence(grade: Grades) -> float:
    """How well a summary covers and orders the key points of its source: a whole number from 1 to 5.

    The coherence rubric of G-Eval (Liu et al., 2023), as in Valor.
    """
    return grade.values[0]


def graded(rubric: Rubric) -> Metric:
    """A metric of your own: the grade of a sample on a rubric, or the mean grade of its chunks.

    Args:
        rubric: what is graded; its name becomes the metric's.
    """

    def grade(grades: Grades) -> float | Undefined:
        return fmean(grades.values) if grades.values else Undefined(NO_CONTEXTS)

    grade.__doc__ = rubric.wording
    return metric(grade_of(rubric), name=rubric.name, scale=(rubric.low, rubric.high))(grade)


def _correct(in_references: Supports) -> list[bool]:
    return [any(column) for column in zip(*(table.entailed for table in in_references.tables), strict=True)]


def _grounded_and_correct(grounding: Support, in_references: Supports) -> Iterator[tuple[bool, bool]]:
    return zip(grounding.entailed, _correct(in_references), strict=True)


@metric(reference_claims_in_contexts, reference_claims_in_response)
def context_utilization(in_contexts: Supports, in_response: Supports) -> Share | Undefined:
    """Share of the reference's claims in the contexts that the response entails too; the best over the references."""
    each = [
        [used for found, used in zip(contexts.entailed, response.entailed, strict=True) if found]
        for contexts, response in zip(in_contexts.tables, in_response.tables, strict=True)
    ]
    return best_share(each, "the contexts entail no claim of a reference")


@metric(
    response_in_contexts(),
    response_claims_in_references,
    reference_claims_in_contexts,
    better="lower",
    parts=("relevant", "irrelevant"),
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
