"""Does the response hold the gold claims?

The three ways to look for one are Trust-Eval's (Song et al., ICLR 2025): by entailment ("cm"), as a string ("em"), and
as an item of a list of which five are enough ("em5"; QAMPARI).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragauge.metrics.metric import metric
from ragauge.needs.gold import Correctness, MatchedGold, claims_entailed, claims_listed, claims_present
from ragauge.scores import Share

#: How many gold items of a list are enough.
ENOUGH = 5


@metric(claims_entailed)
def claim_match(matched: MatchedGold) -> Share:
    """Share of the gold claims of which the response entails some wording.

    As claims_nli in Trust-Eval and ALCE. variant: "default" tries the wordings that stand in the response, or all of
    them where none does; "trust_eval" the first alone, strips citations as that system does and reads the response
    without the query. style: how citations are written, as of citation_recall.
    """
    return Share(sum(matched.claims), len(matched.claims))


@metric(claims_present)
def string_match(matched: MatchedGold) -> Share:
    """Share of the gold claims of which some wording stands in the response, both normalised as in SQuAD.

    As str_em in Trust-Eval and ALCE. variant: "default" wants whole words; "trust_eval" takes any part of the text, so
    that "art" is found in "party", and finds a wording of articles alone everywhere. style: as of citation_recall.
    """
    return Share(sum(matched.claims), len(matched.claims))


class ListScore(NamedTuple):
    """A list of items held against a list of gold items, each a fraction."""

    precision: float
    recall: float
    recall_top5: float
    f1: float
    f1_top5: float


@metric(claims_listed, parts=ListScore._fields)
def list_match(matched: MatchedGold) -> Mapping[str, float]:
    """Items of a list response among the gold claims, and gold claims among the items; for top5, five are enough.

    As in QAMPARI's evaluation by Trust-Eval and ALCE. variant: "default" parts items at commas, semicolons and lines;
    "trust_eval" at every comma. style: as of citation_recall.
    """
    return list_score(matched, matched.gold)._asdict()


def list_score(matched: MatchedGold, gold: Sequence[Sequence[str]]) -> ListScore:
    """The items of a response against `gold`, normalised; all 0 where either has none."""
    known = {wording for wordings in gold for wording in wordings}
    found = sum(any(wording in matched.items for wording in wordings) for wordings in gold)
    precision = sum(item in known for item in matched.items) / max(1, len(matched.items))
    recall = found / max(1, len(gold))
    enough = min(ENOUGH, found) / max(1, min(ENOUGH, len(gold)))
    return ListScore(precision, recall, enough, harmonic(precision, recall), harmonic(precision, enough))


def harmonic(one: float, other: float) -> float:
    """The harmonic mean, 0 where both are 0."""
    return 2 * one * other / (one + other) if one + other else 0.0


def correct(matched: MatchedGold, correctness: Correctness) -> float:
    """How much of the gold claims the response holds: their share, or for a list the F1 with five enough."""
    if correctness == "em5":
        return list_score(matched, matched.gold).f1_top5
    return sum(matched.claims) / len(matched.claims)


def calibrated(matched: MatchedGold, held: Sequence[bool], correctness: Correctness) -> float:
    """The same on those gold claims alone that some document holds; 0 where none does."""
    if not any(held):
        return 0.0
    if correctness == "em5":
        gold = [wordings for wordings, yes in zip(matched.gold, held, strict=True) if yes]
        return list_score(matched, gold).f1_top5
    return _both(matched, held) / sum(held)


def grounded(matched: MatchedGold, held: Sequence[bool], correctness: Correctness) -> float:
    """How much of all gold claims the response holds and some document too; for a list as recall with five enough."""
    if correctness == "em5":
        return min(ENOUGH, _both(matched, held)) / min(ENOUGH, len(held))
    return _both(matched, held) / len(held)


def known(matched: MatchedGold, correctness: Correctness) -> float:
    """How much of all gold claims the response holds, on the scale of `grounded`."""
    return grounded(matched, [True] * len(matched.claims), correctness)


def _both(matched: MatchedGold, held: Sequence[bool]) -> int:
    return sum(said and there for said, there in zip(matched.claims, held, strict=True))
