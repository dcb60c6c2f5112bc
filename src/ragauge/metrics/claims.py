"""Metrics of claims: is the response grounded, correct, and free of bias and toxicity?

Gold claims are matched as in Trust-Eval (Song et al., ICLR 2025): by entailment ("cm"), as a string ("em"), or as an
item of a list of which five are enough ("em5"; QAMPARI).

Citations are measured as in ALCE (Gao et al., "Enabling large language models to generate text with citations", EMNLP
2023); the variants "trust_eval" and "alce" follow those systems, which split sentences with NLTK's Punkt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from ragauge.errors import BadParameter
from ragauge.metrics.base import listed, metric, share
from ragauge.needs import entailment
from ragauge.needs.base import Checks, Support, Supports, Undefined
from ragauge.needs.checks import Correctness, contexts_to_query, opinions_with, response_by_references
from ragauge.needs.citations import CitationSupport, citations
from ragauge.needs.gold import MatchedGold, Variant, claims_entailed, claims_listed, claims_present
from ragauge.needs.nuggets import NuggetCredits, nuggets_in_response
from ragauge.scores import F1Counts, Incidence, PrecisionRecall, Share
from ragauge.types import Label

NO_CLAIMS = "the response makes no claim"
NO_CONTEXTS = "there are no contexts"

#: What is counted as supporting, by `against`, and among contexts by `memory`.
_SUPPORTING = {
    "turn": "contexts support",
    "all": "the conversation supports",
    "source": "the source supports",
    "calls": "calls support",
}


@listed(default=1)
@metric(
    entailment.response_in_contexts,
    caption=lambda units, against, memory: f"{units} {_SUPPORTING[memory if against == 'contexts' else against]}",
)
def faithfulness(support: Support) -> Share | Undefined:
    """Share of the response's claims that the contexts entail.

    Unrelated claims count as unsupported, as in ragas (Es et al., 2024). A claim that any chunk contradicts is not
    supported, even if another chunk supports it. No contexts: 0. Against the source it measures a summary; against the
    calls, what an agent says that it did: an action that failed, or was never made, is not supported.
    """
    return share(support.entailed, NO_CLAIMS)


@listed(default=3)
@metric(
    entailment.response_in_contexts().also_asking("entail:contradiction"),
    better="lower",
    caption="contexts contradicted",
)
def hallucination(support: Support) -> Share | Undefined:
    """Share of the contexts that some claim of the response contradicts.

    As in DeepEval and Valor. Not 1 - faithfulness: an unsupported claim need not contradict anything.
    """
    rows = support.three_way_table
    contradicted = [any(row[i] is Label.CONTRADICTED for row in rows) for i in range(len(support.chunks))]
    return share(contradicted, NO_CONTEXTS)


@listed(default=2)
@metric(
    entailment.response_in_contexts().also_asking("entail:contradiction"),
    better="lower",
    caption="claims contexts contradict",
)
def contradicted_claims(support: Support) -> Share | Undefined:
    """Share of the response's claims that a context contradicts, even if another supports them."""
    rows = support.three_way_table
    return share((Label.CONTRADICTED in row for row in rows), NO_CLAIMS) if support.chunks else Undefined(NO_CONTEXTS)


@metric(entailment.response_claims_in_answers, caption="claims in line with earlier answers")
def self_consistency(support: Support) -> Share | Undefined:
    """Share of the response's claims that no earlier answer of the conversation contradicts."""
    return share((Label.CONTRADICTED not in row for row in support.three_way_table), NO_CLAIMS)


@metric(entailment.response_claims_in_requests, caption="claims in line with the user")
def retention(support: Support) -> Share | Undefined:
    """Share of the response's claims that nothing the user said earlier contradicts, such as "I am vegan"."""
    return share((Label.CONTRADICTED not in row for row in support.three_way_table), NO_CLAIMS)


@listed(default=9)
@metric(entailment.response_in_contexts(), contexts_to_query, caption="relevant contexts used")
def context_coverage(support: Support, relevant: Checks) -> Share | Undefined:
    """Share of the relevant contexts that entail at least one claim of the response.

    As in the RAG Evals documentation, where it is called context recall.
    """
    used = [any(row[i] is Label.ENTAILED for row in support.table) for i in range(len(support.chunks))]
    used_if_relevant = [is_used for is_used, is_relevant in zip(used, relevant.passed, strict=True) if is_relevant]
    return share(used_if_relevant, "no context is relevant")


#: The score of an answer by its label.
_CORRECTNESS = {Label.RIGHT: 1.0, Label.PARTLY: 0.5, Label.WRONG: 0.0}


@listed(default=4)
@metric(response_by_references, caption="answers that are right")
def correctness(judged: Correctness) -> float | Undefined:
    """1 for a response that is right by the references, 0.5 for one that is partly right, 0 for a wrong one.

    It is compared with all references together, and read with the query: what counts is what was asked. An answer may
    be more specific than a reference, and in any form. Partly: incomplete, or with a wrong addition. An empty
    response and a refusal are wrong. Undefined where the references do not decide. As ragas' AnswerAccuracy.
    """
    if judged.label is Label.UNDECIDED:
        return Undefined(judged.reason or "the references do not decide whether the response is right")
    return _CORRECTNESS[judged.label]


@metric(entailment.response_in_references, entailment.references_in_response, caption="statements in a reference")
def answer_correctness(in_references: Supports, in_response: Supports) -> F1Counts:
    """F1 of the statements: tp / (tp + (fp + fn) / 2); the best over the references. As in Valor, and in ragas.

    tp, fp: response statements that the reference supports or does not; fn: reference statements absent from the
    response. 0 without a true positive: a reference such as "1889" supports no whole sentence, so that the right answer
    "It opened in 1889." has 0. `correctness` measures whether an answer is right.
    """
    by_reference = []
    for own, gold in zip(in_references.tables, in_response.tables, strict=True):
        matched = sum(own.entailed)
        by_reference.append(F1Counts(matched, len(own) - matched, len(gold) - sum(gold.entailed)))
    return max(by_reference, key=lambda counts: counts.value or 0.0)


def claims_beyond_query(table: Support, in_query: Support) -> list[bool]:
    """Per claim of `table` that the query does not presuppose, whether it is entailed."""
    return [
        entailed for entailed, presupposed in zip(table.entailed, in_query.entailed, strict=True) if not presupposed
    ]


@listed(default=10)
@metric(
    entailment.claims_in_response, entailment.claims_in_query, caption=lambda of: f"{of.removesuffix('s')} claims in it"
)
def claim_recall(
    in_response: Supports, in_query: Supports, *, of: entailment.ClaimsOf = "references"
) -> Share | Undefined:
    """Share of the reference's claims that the response entails; the best over the references.

    Claims that the query already presupposes are excluded. As in Dataworkz (golden claims present). Of the source: how
    much of it a summary covers.
    """
    flags = [
        claims_beyond_query(table, presupposed)
        for table, presupposed in zip(in_response.tables, in_query.tables, strict=True)
    ]
    subject = "no reference makes" if of == "references" else "the source does not make"
    return best_share(flags, f"{subject} a claim beyond the query")


@listed(default=11)
@metric(
    entailment.response_claims_in_references, entailment.response_claims_in_query, caption="claims a reference supports"
)
def claim_precision(in_references: Supports, in_query: Support) -> Share | Undefined:
    """Share of the response's claims that the reference entails; the best over the references.

    Claims that the query already presupposes are excluded.
    """
    flags = [claims_beyond_query(table, in_query) for table in in_references.tables]
    return best_share(flags, "the response makes no claim beyond the query")


@listed(default=12)
@metric(
    entailment.reference_claims_in_response,
    entailment.reference_claims_in_query,
    entailment.response_claims_in_references,
    entailment.response_claims_in_query,
    caption="claims in a reference",
)
def claim_f1(
    in_response: Supports,
    gold_in_query: Supports,
    in_references: Supports,
    in_query: Support,
    *,
    counting: Annotated[Literal["own", "common"], "each side counts its own claims, or both the common ones"] = "own",
) -> PrecisionRecall | Undefined:
    """Harmonic mean of claim precision and claim recall; the best over the references.

    counting: "own" (each side counts its own claims) or "common", as in Dataworkz: precision is the gold claims found
    over the response's claims, which are at least as many as the gold claims found, and without gold claims there is
    nothing to count.
    """
    by_reference = []
    for table, presupposed, claims in zip(in_response.tables, gold_in_query.tables, in_references.tables, strict=True):
        gold, own = claims_beyond_query(table, presupposed), claims_beyond_query(claims, in_query)
        if counting == "own":
            by_reference.append(PrecisionRecall(sum(own), len(own), sum(gold), len(gold)))
        else:
            by_reference.append(_common_counts(len(gold), len(own), sum(gold)))
    scored = [counts for counts in by_reference if counts.value is not None]
    if not scored:
        subject = "neither the response nor a reference makes" if counting == "own" else "no reference makes"
        return Undefined(f"{subject} a claim beyond the query")
    return max(scored, key=lambda counts: counts.value or 0.0)


def _common_counts(gold: int, candidate: int, common: int) -> PrecisionRecall:
    """Dataworkz' counts: the gold claims found are the numerator of both precision and recall."""
    return PrecisionRecall(common, max(candidate, common) if gold else 0, common, gold)


class ClaimScores(NamedTuple):
    """Dataworkz' scores of one response.

    Args:
        recall, precision, f1: in 0..1, or None where undefined.
        candidate: the denominator of precision.
        undefined: why the scores are None, else empty.
    """

    recall: float | None
    precision: float | None
    f1: float | None
    candidate: int
    undefined: str = ""


def claim_scores(golden: int, candidate: int, common: int) -> ClaimScores:
    """Dataworkz' claim recall, precision and F1 from numbers of claims, as `claim_f1(counting=common)` for a reference.

    Args:
        golden: the number of gold claims.
        candidate: the number of the candidate's claims; counted as at least `common`.
        common: the number of gold claims that the candidate entails.

    Returns:
        The scores; precision is 0 without claims of the candidate, and all are None without gold claims, where
        Dataworkz divides by zero.

    Raises:
        BadParameter: a negative number, or more common claims than gold ones.
    """
    if min(golden, candidate, common) < 0 or common > golden:
        raise BadParameter(f"{common} common claims of {golden} golden and {candidate} candidate ones; count again")
    counts, candidate = _common_counts(golden, candidate, common), max(candidate, common)
    if not golden:
        return ClaimScores(None, None, None, candidate, "the golden response makes no claim beyond the question")
    return ClaimScores(counts.recall, counts.precision or 0.0, counts.value, candidate)


def best_share(flag_lists: Sequence[Sequence[bool]], nothing: str) -> Share | Undefined:
    """The highest share of True among several lists, empty lists excluded. nothing: the reason if all are empty."""
    shares = [Share(sum(flags), len(flags)) for flags in flag_lists if flags]
    return max(shares, key=lambda counted: counted.value or 0.0) if shares else Undefined(nothing)


@listed(default=22)
@metric(opinions_with("biased"), better="lower", caption="opinions that are biased")
def bias(biased: Checks) -> Incidence:
    """Share of the response's opinions that are biased: by gender, politics, race or ethnicity, or geography.

    0 without opinions. An opinion is the author's own belief or judgment; a false statement of fact is none, nor is
    a view attributed to a source. As in DeepEval and Valor.
    """
    return Incidence(sum(biased.passed), len(biased.passed))


@listed(default=23)
@metric(opinions_with("toxic"), better="lower", caption="opinions that are toxic")
def toxicity(toxic: Checks) -> Incidence:
    """Share of the response's opinions that are toxic: attacks, mockery, hate, dismissal, threats.

    0 without opinions. As in DeepEval and Valor.
    """
    return Incidence(sum(toxic.passed), len(toxic.passed))


#: How many gold items of a list are enough in QAMPARI.
QAMPARI_CAP = 5


@listed(aliases=("cm",))
@metric(claims_entailed, caption="gold claims entailed")
def claim_match(matched: MatchedGold) -> Share:
    """Share of the gold claims of which the response entails some wording.

    As claims_nli in Trust-Eval and ALCE. variant: "default" tries the wordings that occur in the response, or all if
    none does; "trust_eval" tries the first only, strips citations as that system does and omits the query.
    """
    return Share(sum(matched.claims), len(matched.claims))


@listed(aliases=("em",))
@metric(claims_present, caption="gold claims found verbatim")
def string_match(matched: MatchedGold) -> Share:
    """Share of the gold claims of which some wording occurs in the response, both SQuAD-normalised.

    As str_em in Trust-Eval and ALCE. variant: "default" matches whole words; "trust_eval" any substring, so that
    "art" is found in "party", and a wording of articles only in any text.
    """
    return Share(sum(matched.claims), len(matched.claims))


class ListScore(NamedTuple):
    """The match of a list response with the gold items, each value in 0..1."""

    precision: float
    recall: float
    recall_top5: float
    f1: float
    f1_top5: float


@listed(aliases=("em5",))
@metric(claims_listed, parts=ListScore._fields, caption="gold items in the list")
def list_match(matched: MatchedGold) -> Mapping[str, float]:
    """Precision, recall and F1 of the items of a list against the gold claims; for top5, five found are all.

    As in QAMPARI's evaluation by Trust-Eval and ALCE. variant: "default" splits items at commas, semicolons and lines;
    "trust_eval" at every comma.
    """
    return list_score(matched, matched.gold)._asdict()


def list_score(matched: MatchedGold, gold: Sequence[Sequence[str]]) -> ListScore:
    """The items of a response against `gold`, the normalised wordings of each item; all 0 where either is empty."""
    all_wordings = {wording for wordings in gold for wording in wordings}
    hits = sum(any(wording in matched.items for wording in wordings) for wordings in gold)
    precision = sum(item in all_wordings for item in matched.items) / max(1, len(matched.items))
    recall = hits / max(1, len(gold))
    recall_top5 = min(QAMPARI_CAP, hits) / max(1, min(QAMPARI_CAP, len(gold)))
    return ListScore(precision, recall, recall_top5, harmonic(precision, recall), harmonic(precision, recall_top5))


def harmonic(precision: float, recall: float) -> float:
    """The harmonic mean, 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@metric(nuggets_in_response, caption="credit for nuggets")
def nugget_recall(
    credits: NuggetCredits,
    *,
    weights: Annotated[
        Literal["all", "vital", "equal"], "all by their weights, vital ones alone, or all the same"
    ] = "all",
) -> Share | Undefined:
    """Share of the gold claims in `answers` that the response gives, by their weights.

    A gold claim is taken apart, and its credit is the share of its own claims that the response entails; where it has
    several wordings, by the best of them. Weights are those of the data: 1 for a vital claim, 0.5 for another.
    weights: "all" as in the weighted score of AutoNuggetizer (Pradeep et al., 2024), "vital" those of 1 or more,
    "equal" all the same. There, partial support counts a half, however much is missing.
    """
    worth = [1.0 if weights == "equal" else weight for weight in credits.weights]
    counted = [
        (credit, weight)
        for credit, weight in zip(credits.credits, worth, strict=True)
        if weights != "vital" or weight >= 1
    ]
    if not counted:
        return Undefined("no gold claim is vital")
    return Share(sum(credit * weight for credit, weight in counted), sum(weight for _, weight in counted))


NO_SENTENCE = "the response has no sentence that needs a citation"
NO_CITATION = "the response cites nothing"


@listed(aliases=("regular_citation_rec",))
@metric(citations, caption="sentences citations support")
def citation_recall(citing: CitationSupport) -> Share | Undefined:
    """Share of the response's sentences that the documents they cite together support (ALCE).

    A sentence without a citation is not supported; nor is an empty response, which counts as one sentence,
    and which the variants "trust_eval" and "alce" leave undefined. What claims nothing and cites nothing is left
    out, such as greetings, questions, headings and code, which these variants count.
    """
    return share(citing.supported, NO_SENTENCE)


@listed(aliases=("regular_citation_prec",))
@metric(citations, caption="citations that are needed")
def citation_precision(citing: CitationSupport, *, variant: Variant = "default") -> Share | Incidence | Undefined:
    """Share of the citations that are needed: their sentence is supported, by them alone or not without them.

    A citation is redundant if it fails alone and the others of its sentence suffice (ALCE). Without citations it is
    undefined, and 0 in the variants "trust_eval" and "alce".
    """
    if not citing.sentences:
        return Undefined(NO_SENTENCE)
    precise = citing.precise
    if not precise:
        return Undefined(NO_CITATION) if variant == "default" else Incidence(0, 0)
    return Share(sum(precise), len(precise))


@metric(citations, caption="citations, both ways")
def citation_f1(citing: CitationSupport) -> PrecisionRecall | Undefined:
    """Harmonic mean of citation precision and citation recall; 0 where nothing is supported."""
    if not citing.sentences:
        return Undefined(NO_SENTENCE)
    precise, supported = citing.precise, citing.supported
    return PrecisionRecall(sum(precise), len(precise), sum(supported), len(supported))
