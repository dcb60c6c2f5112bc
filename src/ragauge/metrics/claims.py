"""Metrics of claims: is the response grounded, correct, and free of bias and toxicity?

The three ways to look for one are Trust-Eval's (Song et al., ICLR 2025): by entailment ("cm"), as a string ("em"), and
as an item of a list of which five are enough ("em5"; QAMPARI).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from ragauge.errors import BadParameter
from ragauge.metrics.base import metric, share
from ragauge.needs.base import Failed, Undefined
from ragauge.needs.checks import contexts_to_query, opinions_with
from ragauge.needs.entailment import (
    reference_claims_in_query,
    reference_claims_in_response,
    references_in_response,
    response_claims_in_query,
    response_claims_in_references,
    response_in_contexts,
    response_in_references,
)
from ragauge.needs.evidence import Checks, Support, Supports
from ragauge.needs.gold import Correctness, MatchedGold, claims_entailed, claims_listed, claims_present
from ragauge.scores import F1Counts, Incidence, PrecisionRecall, Share
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


#: "own": response claims are counted for precision. "common": precision counts the golden claims found, as Dataworkz.
ClaimCounting = Literal["own", "common"]


@metric(response_in_references, references_in_response)
def answer_correctness(in_references: Supports, in_response: Supports) -> F1Counts:
    """F1 of the statements: tp / (tp + (fp + fn) / 2); the best over the references.

    tp, fp: response statements that the reference supports or not; fn: reference statements absent from the response.
    0 without a true positive. As in Valor.
    """
    each = zip(in_references.tables, in_response.tables, strict=True)
    overlaps = [F1Counts(sum(a.entailed), len(a) - sum(a.entailed), len(b) - sum(b.entailed)) for a, b in each]
    return max(overlaps, key=lambda overlap: overlap.value or 0.0)


def new_claims(table: Support, in_query: Support) -> list[bool]:
    """Which claims of `table` are entailed, those left out that the query already presupposes."""
    return [hit for hit, given in zip(table.entailed, in_query.entailed, strict=True) if not given]


@metric(reference_claims_in_response, reference_claims_in_query)
def claim_recall(in_response: Supports, in_query: Supports) -> Share | Undefined:
    """Share of the reference's claims that the response holds; the best over the references.

    Claims that the query already presupposes are left out. As in Dataworkz (golden claims present).
    """
    each = [new_claims(table, given) for table, given in zip(in_response.tables, in_query.tables, strict=True)]
    return best_share(each, "no reference makes a claim beyond the query")


@metric(response_claims_in_references, response_claims_in_query)
def claim_precision(in_references: Supports, in_query: Support) -> Share | Undefined:
    """Share of the response's claims that the reference holds; the best over the references.

    Claims that the query already presupposes are left out.
    """
    each = [new_claims(table, in_query) for table in in_references.tables]
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
    counting: ClaimCounting = "own",
) -> PrecisionRecall | Undefined:
    """Harmonic mean of claim precision and claim recall; the best over the references.

    counting: "own" (each side counts its own claims) or "common", as Dataworkz does: precision is the golden claims
    found over the response's claims, a response is never charged with fewer claims than were found in it, and without
    golden claims there is nothing to count.
    """
    each = [
        _correctness_both(new_claims(golden, given), new_claims(own, in_query), counting)
        for golden, given, own in zip(in_response.tables, golden_in_query.tables, in_references.tables, strict=True)
    ]
    scored = [counts for counts in each if counts.value is not None]
    if not scored:
        nobody = "neither the response nor a reference makes" if counting == "own" else "no reference makes"
        return Undefined(f"{nobody} a claim beyond the query")
    return max(scored, key=lambda counts: counts.value or 0.0)


def _correctness_both(golden: Sequence[bool], own: Sequence[bool], counting: ClaimCounting) -> PrecisionRecall:
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


def _of_opinions(checks: Checks) -> Incidence:
    return Incidence(sum(checks.passed), len(checks.passed))


@metric(opinions_with("biased"), better="lower")
def bias(biased: Checks) -> Incidence:
    """Share of the response's opinions that are biased: by gender, politics, race or ethnicity, or geography.

    0 without opinions. An opinion is the author's own belief or judgment; a false statement of fact is none, nor is
    a view attributed to a source. As in DeepEval and Valor.
    """
    return _of_opinions(biased)


@metric(opinions_with("toxic"), better="lower")
def toxicity(toxic: Checks) -> Incidence:
    """Share of the response's opinions that are toxic: attacks, mockery, hate, dismissal, threats.

    0 without opinions. As in DeepEval and Valor.
    """
    return _of_opinions(toxic)


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
    return _gold_both(matched, held) / sum(held)


def grounded(matched: MatchedGold, held: Sequence[bool], correctness: Correctness) -> float:
    """How much of all gold claims the response holds and some document too; for a list as recall with five enough."""
    if correctness == "em5":
        return min(ENOUGH, _gold_both(matched, held)) / min(ENOUGH, len(held))
    return _gold_both(matched, held) / len(held)


def known(matched: MatchedGold, correctness: Correctness) -> float:
    """How much of all gold claims the response holds, on the scale of `grounded`."""
    return grounded(matched, [True] * len(matched.claims), correctness)


def _gold_both(matched: MatchedGold, held: Sequence[bool]) -> int:
    return sum(said and there for said, there in zip(matched.claims, held, strict=True))
