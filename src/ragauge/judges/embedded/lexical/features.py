"""What is counted of a claim and the sentences that bear on it, as numbers for the fitted layer."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.judges.embedded.lexical.alignment import FOUND, Claim, Credits, Evidence, Part, merged
from ragauge.judges.embedded.lexical.comparison import Comparison, compare
from ragauge.judges.embedded.lexical.words import Kind

_LONG = 20  # items of a long claim
_WIDE = 3.0  # weight of a wide gap

NAMES = (
    "constant",
    "whole",
    "numbers_absent",
    "names_absent",
    "heaviest_missing",
    "negation",
    "opposite",
    "rivals",
    "swapped",
    "weakest",
    "gap",
    "length",
)


def features(
    claim: Claim, evidence: Sequence[Evidence], chosen: Sequence[Evidence]
) -> tuple[list[float], list[Comparison]]:
    """The values of NAMES, each about 0..1, and the comparisons with the chosen sentences they come from.

    evidence: the sentences that hold anything of the claim. chosen: those that hold most of it together, best first.
    """
    whole = merged(*(one.credits for one in evidence))
    few = merged(*(one.credits for one in chosen))
    comparisons = [compare(claim, one.sentence, one.credits) for one in chosen]
    top = comparisons[0] if comparisons else None
    missing = [1 - few.get(item, 0.0) for item in range(len(claim.items))]
    values = [
        1.0,
        claim.share(whole),
        min(_count(claim, whole, Kind.NUMBER) / 2, 1.0),
        min(_count(claim, whole, Kind.NAME) / 3, 1.0),
        max((weight * lack for weight, lack in zip(claim.weights, missing, strict=True)), default=0.0),
        float(bool(top and top.negation)),
        float(bool(top and top.opposite)),
        min(top.rivals / 2, 1.0) if top else 0.0,
        top.swapped if top else 0.0,
        _weakest(claim, evidence),
        _gap(claim, few),
        min(len(claim.items) / _LONG, 2.0),
    ]
    return values, comparisons


def _count(claim: Claim, credits: Credits, kind: Kind) -> int:
    """How many items of a kind are not found. "one" and "first" are too common to be missed."""
    return sum(
        1
        for item, word in enumerate(claim.items)
        if word.kind == kind and word.key != "#1" and credits.get(item, 0.0) < FOUND
    )


def _weakest(claim: Claim, evidence: Sequence[Evidence]) -> float:
    """The least that any part of the claim is found in the sentence that holds most of it.

    A claim of several clauses may draw each from another sentence; one well-supported clause does not hide another.
    """
    return min(max((_held(claim, part, one) for one in evidence), default=0.0) for part in claim.parts)


def _held(claim: Claim, part: Part, one: Evidence) -> float:
    weights, credits = claim.weights, one.credits
    return sum(weights[item] * credits[item] for item in part.items if item in credits) / part.total


def _gap(claim: Claim, few: Credits) -> float:
    """The weight of the longest run of items that are not found even in part."""
    most = run = 0.0
    for item, weight in enumerate(claim.weights):
        run = 0.0 if item in few else run + weight
        most = max(most, run)
    return min(most / _WIDE, 1.0)
