"""What is counted of a claim and the sentences that bear on it, as numbers for the fitted layer."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.judges.embedded.alignment import FOUND, Claim, Credits, Evidence, merged
from ragauge.judges.embedded.comparison import Comparison, compare
from ragauge.judges.embedded.words import Kind

NAMES = (
    "constant",
    "best",
    "few",
    "whole",
    "numbers_missing",
    "numbers_absent",
    "names_missing",
    "names_absent",
    "heaviest_missing",
    "negation",
    "opposite",
    "rivals",
    "swapped",
)


def features(claim: Claim, chosen: Sequence[Evidence], whole: Credits) -> tuple[list[float], list[Comparison]]:
    """The values of NAMES, each about 0..1, and the comparisons with the chosen sentences they come from.

    chosen: the sentences taken as evidence, best first. whole: what the full text holds.
    """
    few = merged(*(one.credits for one in chosen))
    comparisons = [compare(claim, one.sentence, one.credits) for one in chosen]
    top = comparisons[0] if comparisons else None
    missing = [1 - few.get(item, 0.0) for item in range(len(claim.items))]
    values = [
        1.0,
        chosen[0].share if chosen else 0.0,
        claim.share(few),
        claim.share(whole),
        min(_count(claim, few, Kind.NUMBER) / 2, 1.0),
        min(_count(claim, whole, Kind.NUMBER) / 2, 1.0),
        min(_count(claim, few, Kind.NAME) / 3, 1.0),
        min(_count(claim, whole, Kind.NAME) / 3, 1.0),
        max((weight * lack for weight, lack in zip(claim.weights, missing, strict=True)), default=0.0),
        float(bool(top and top.negation)),
        float(bool(top and top.opposite)),
        min(top.rivals / 2, 1.0) if top else 0.0,
        top.swapped if top else 0.0,
    ]
    return values, comparisons


def _count(claim: Claim, credits: Credits, kind: Kind) -> int:
    """How many items of a kind are not found. "one" and "first" are too common to be missed."""
    return sum(
        1
        for item, word in enumerate(claim.items)
        if word.kind == kind and word.key != "#1" and credits.get(item, 0.0) < FOUND
    )
