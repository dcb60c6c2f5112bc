"""Does the response say what the references say?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ragauge.errors import BadParameter
from ragauge.metrics.metric import metric
from ragauge.needs.base import Undefined
from ragauge.needs.entailment import (
    reference_claims_in_query,
    reference_claims_in_response,
    references_in_response,
    response_claims_in_query,
    response_claims_in_references,
    response_in_references,
)
from ragauge.needs.evidence import Support, Supports
from ragauge.scores import F1Counts, PrecisionRecall, Share

#: "own": response claims are counted for precision. "common": precision counts the golden claims found, as Dataworkz.
Counting = Literal["own", "common"]


@metric(response_in_references, references_in_response)
def answer_correctness(in_references: Supports, in_response: Supports) -> F1Counts:
    """F1 of the statements: tp / (tp + (fp + fn) / 2); the best over the references.

    tp, fp: response statements that the reference supports or not; fn: reference statements absent from the response.
    0 without a true positive. As in Valor.
    """
    each = zip(in_references.tables, in_response.tables, strict=True)
    overlaps = [F1Counts(sum(a.entailed), len(a) - sum(a.entailed), len(b) - sum(b.entailed)) for a, b in each]
    return max(overlaps, key=lambda overlap: overlap.value or 0.0)


def news(table: Support, in_query: Support) -> list[bool]:
    """Which claims of `table` are entailed, those left out that the query already presupposes."""
    return [hit for hit, given in zip(table.entailed, in_query.entailed, strict=True) if not given]


@metric(reference_claims_in_response, reference_claims_in_query)
def claim_recall(in_response: Supports, in_query: Supports) -> Share | Undefined:
    """Share of the reference's claims that the response holds; the best over the references.

    Claims that the query already presupposes are left out. As in Dataworkz (golden claims present).
    """
    each = [news(table, given) for table, given in zip(in_response.tables, in_query.tables, strict=True)]
    return best_share(each, "no reference makes a claim beyond the query")


@metric(response_claims_in_references, response_claims_in_query)
def claim_precision(in_references: Supports, in_query: Support) -> Share | Undefined:
    """Share of the response's claims that the reference holds; the best over the references.

    Claims that the query already presupposes are left out.
    """
    each = [news(table, in_query) for table in in_references.tables]
    return best_share(each, "the response makes no claim beyond the query")


@metric(
    reference_claims_in_response, reference_claims_in_query, response_claims_in_references, response_claims_in_query
)
def claim_f1(
    in_response: Supports,
    golden_in_query: Supports,
    in_references: Supports,
    in_query: Support,
    *,
    counting: Counting = "own",
) -> PrecisionRecall | Undefined:
    """Harmonic mean of claim precision and claim recall; the best over the references.

    counting: "own" (each side counts its own claims) or "common", as Dataworkz does: precision is the golden claims
    found over the response's claims, a response is never charged with fewer claims than were found in it, and without
    golden claims there is nothing to count.
    """
    each = [
        _both(news(golden, given), news(own, in_query), counting)
        for golden, given, own in zip(in_response.tables, golden_in_query.tables, in_references.tables, strict=True)
    ]
    scored = [counts for counts in each if counts.value is not None]
    if not scored:
        nobody = "neither the response nor a reference makes" if counting == "own" else "no reference makes"
        return Undefined(f"{nobody} a claim beyond the query")
    return max(scored, key=lambda counts: counts.value or 0.0)


def _both(golden: Sequence[bool], own: Sequence[bool], counting: Counting) -> PrecisionRecall:
    if counting == "own":
        return PrecisionRecall(sum(own), len(own), sum(golden), len(golden))
    return _common(len(golden), len(own), sum(golden))


def _common(golden: int, candidate: int, common: int) -> PrecisionRecall:
    """Dataworkz' counts: golden claims that were found stand over the claims of either side."""
    return PrecisionRecall(common, max(candidate, common) if golden else 0, common, golden)


class ClaimScores(NamedTuple):
    """Shares of claims, each 0 to 1, or None and why in `undefined`. candidate: how many precision is a share of."""

    recall: float | None
    precision: float | None
    f1: float | None
    candidate: int
    undefined: str = ""


def claim_scores(golden: int, candidate: int, common: int) -> ClaimScores:
    """Dataworkz' scores from numbers of claims: golden ones, the candidate's, golden ones that the candidate holds.

    It is what `claim_f1(counting=common)` comes to for one reference, with recall and precision. The candidate counts
    for no fewer claims than were found in it. Precision is 0 without claims of the candidate. Without golden claims
    nothing is defined, where Dataworkz divides by zero.

    Raises BadParameter for negative numbers, and for more common claims than golden ones.
    """
    if min(golden, candidate, common) < 0 or common > golden:
        raise BadParameter(f"{common} common claims of {golden} golden and {candidate} candidate ones; count again")
    counts, candidate = _common(golden, candidate, common), max(candidate, common)
    if not golden:
        return ClaimScores(None, None, None, candidate, "the golden response makes no claim beyond the question")
    return ClaimScores(counts.recall, counts.precision or 0.0, counts.value, candidate)


def best_share(each: Sequence[Sequence[bool]], nothing: str) -> Share | Undefined:
    """The highest share among several lists of flags, those that are empty left out."""
    shares = [Share(sum(flags), len(flags)) for flags in each if flags]
    return max(shares, key=lambda one: one.value or 0.0) if shares else Undefined(nothing)
