"""Metrics of an answer within its conversation; with `--per turn` their mean is over all answers of a conversation.

Conversations are groups, so intervals account for their answers being alike.
"""

from __future__ import annotations

from ragauge.metrics.base import metric, share
from ragauge.metrics.claims import NO_CLAIMS, TWO_WAY, is_two_way
from ragauge.needs import entailment
from ragauge.needs.base import Checks, Failed, Support, Undefined
from ragauge.needs.checks import response_to_query
from ragauge.scores import Share
from ragauge.types import Label


@metric(entailment.response_claims_in_answers, caption="claims in line with earlier answers")
def self_consistency(support: Support) -> Share | Undefined | Failed:
    """Share of the response's claims that no earlier answer of the conversation contradicts."""
    return _uncontradicted(support)


@metric(entailment.response_claims_in_requests, caption="claims in line with the user")
def retention(support: Support) -> Share | Undefined | Failed:
    """Share of the response's claims that nothing the user said earlier contradicts, such as "I am vegan"."""
    return _uncontradicted(support)


def _uncontradicted(support: Support) -> Share | Undefined | Failed:
    if is_two_way(support):
        return Failed(TWO_WAY)
    return share((Label.CONTRADICTED not in row for row in support.table), NO_CLAIMS)


@metric(response_to_query.also_asking("relevant:conversation"), caption="requests answered")
def answered_requests(checks: Checks) -> Share | Undefined:
    """1 if any part of the response helps to answer the request, else 0; with `--per turn` the share of requests.

    The request is read with the turns before it: "And the second one?". A refusal answers nothing.
    """
    return share(checks.passed, "there is no request")
