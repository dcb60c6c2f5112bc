"""Is the response grounded in the contexts?"""

from __future__ import annotations

from ragauge.metrics.metric import metric, share
from ragauge.needs.base import Failed, Undefined
from ragauge.needs.checks import contexts_to_query
from ragauge.needs.entailment import response_in_contexts
from ragauge.needs.evidence import Checks, Support
from ragauge.scores import Share
from ragauge.types import Label

NO_CLAIMS = "the response makes no claim"


@metric(response_in_contexts)
def faithfulness(support: Support) -> Share | Undefined:
    """Share of the response's claims that the contexts entail.

    Unrelated claims count against, as in ragas (Es et al., 2024). A claim that any chunk contradicts is not
    supported, even if another chunk supports it. No contexts: 0. units: "claims", or "sentences" split by rule.
    """
    return share(support.entailed, NO_CLAIMS)


@metric(response_in_contexts().also_asking("entail:contradiction"), better="lower")
def hallucination(support: Support) -> Share | Undefined | Failed:
    """Share of the contexts that some claim of the response contradicts.

    As in DeepEval and Valor; it is not 1 - faithfulness: an unsupported claim contradicts nothing.
    """
    rows = support.table
    if any(Label.NOT_ENTAILED in row for row in rows):
        return Failed("a verdict does not tell whether each context is contradicted or only silent")
    contradicted = [any(row[i] is Label.CONTRADICTED for row in rows) for i in range(len(support.chunks))]
    return share(contradicted, "there are no contexts")


@metric(response_in_contexts(), contexts_to_query)
def context_coverage(support: Support, relevant: Checks) -> Share | Undefined:
    """Share of the relevant contexts that entail at least one claim of the response.

    As in the RAG Evals documentation, where it is called context recall.
    """
    used = [any(row[i] is Label.ENTAILED for row in support.table) for i in range(len(support.chunks))]
    return share((u for u, yes in zip(used, relevant.passed, strict=True) if yes), "no context is relevant")
