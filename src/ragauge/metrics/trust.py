"""Trust-Eval's metrics over the whole data set, its trust score, and its output block (Song et al., ICLR 2025).

"Answered" excludes refusals, and empty responses where answers and refusals alone are counted. "Calibrated" counts
only the gold claims that some document contains, on samples that are answered and answerable, averaged over answered
or over answerable samples.

The behaviour is that of trust_eval 0.1.5; the few means of nothing that it leaves NaN are None here. Refusals are
detected in the response as it is, but in the response without citations wherever gold claims are counted by entailment,
or only those that the documents contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from ragauge.arrays import np
from ragauge.errors import BadParameter
from ragauge.metrics import claims
from ragauge.metrics.base import listed, metric
from ragauge.needs.base import EvidenceTable, Need, Undefined
from ragauge.needs.checks import RefusalCheck, refusal_check
from ragauge.needs.citations import CitationSupport, citations
from ragauge.needs.gold import (
    Correctness,
    GoldInContexts,
    MatchedGold,
    answerability,
    claims_in_documents,
    claims_in_response,
)
from ragauge.scores import Counts, F1Counts, Share
from ragauge.text import trust_eval
from ragauge.types import Sample

ANSWERABLE = "the documents hold an answer"
UNANSWERABLE = "the documents hold no answer"
REFUSED = "the response is a refusal"
EMPTY = "the response is empty"


class RefusalConfusion(Counts, frozen=True):
    """The confusion matrix of refusal: refused, answered or empty by answerable or not."""

    answered_answerable: float = 0
    answered_unanswerable: float = 0
    refused_answerable: float = 0
    refused_unanswerable: float = 0
    empty_answerable: float = 0
    empty_unanswerable: float = 0

    @property
    def refusing(self) -> F1Counts:
        """Refusal as the prediction that a sample is unanswerable."""
        missed = self.answered_unanswerable + self.empty_unanswerable
        return F1Counts(self.refused_unanswerable, self.refused_answerable, missed)

    @property
    def answering(self) -> F1Counts:
        """Answering as the prediction that a sample is answerable."""
        missed = self.refused_answerable + self.empty_answerable
        return F1Counts(self.answered_answerable, self.answered_unanswerable, missed)


class MeanRecall(RefusalConfusion, frozen=True):
    """The mean of the recalls of refusing and answering."""

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        refusing, answering = (
            Share(counts.tp, counts.tp + counts.fn).value for counts in (self.refusing, self.answering)
        )
        return None if refusing is None or answering is None else (refusing + answering) / 2


class MeanF1(RefusalConfusion, frozen=True):
    """The mean of the F1 of refusing and answering."""

    @property
    def value(self) -> float:
        """The score."""
        return (self.refusing.value + self.answering.value) / 2


def confusion(check: RefusalCheck, gold: GoldInContexts) -> tuple[float, float, float, float, float, float]:
    """The counts of `RefusalConfusion` for one sample."""
    (answered, refused, empty), answerable = (check.answered, check.refused, check.empty), gold.answerable
    counts = answered * answerable, answered * (not answerable), refused * answerable, refused * (not answerable)
    return (*counts, empty * answerable, empty * (not answerable))


@metric(refusal_check, better="lower", caption="responses that refuse")
def refusal(check: RefusalCheck) -> Share:
    """Whether the response is a refusal; over the data, the share of refusals. An empty response is none.

    refusals: how they are detected. "rules": sentences such as "I don't know" or "the documents do not say", without
    any information; also the refusal that the system was instructed to give, under "refusal_sentence" in the sample's
    metadata (`ragauge generate --refusal`). "trust_eval": a fuzzy match with the refusal that Trust-Eval prescribes.
    "judge": a grade.
    """
    return Share(check.refused, 1)


@metric(refusal_check, caption="responses that answer")
def answered_ratio(check: RefusalCheck) -> Share:
    """Whether the response is an answer; over the data, the share of answers.

    Neither a refusal nor an empty response is one; with refusals=trust_eval an empty response is.
    """
    return Share(check.answered, 1)


@listed(aliases=("reject_rec", "refuse_rec", "refuse_recall", "refusal_rec", "refusal_recall"))
@metric(refusal_check, answerability, over="data", caption="unanswerable ones refused")
def reject_recall(check: RefusalCheck, gold: GoldInContexts) -> Share | Undefined:
    """Share of the samples whose documents hold no answer that were refused.

    By the labels of the data (`answerable`, or `answers_found` of each document); without them labels=given leaves a
    sample undefined.
    """
    return Undefined(ANSWERABLE) if gold.answerable else Share(check.refused, 1)


@listed(aliases=("reject_prec", "refuse_prec", "refuse_precision", "refusal_prec", "refusal_precision"))
@metric(refusal_check, answerability, over="data", caption="refusals that are right")
def reject_precision(check: RefusalCheck, gold: GoldInContexts) -> Share | Undefined:
    """Share of the refusals whose documents hold no answer."""
    return Share(not gold.answerable, 1) if check.refused else Undefined("the response is an answer")


@listed(aliases=("refuse_f1", "refusal_f1"))
@metric(refusal_check, answerability, over="data", caption="refusals that are right")
def reject_f1(check: RefusalCheck, gold: GoldInContexts) -> F1Counts:
    """Harmonic mean of reject_recall and reject_precision."""
    return RefusalConfusion(*confusion(check, gold)).refusing


@listed(aliases=("answerable_rec",))
@metric(refusal_check, answerability, over="data", caption="answerable ones answered")
def answerable_recall(check: RefusalCheck, gold: GoldInContexts) -> Share | Undefined:
    """Share of the samples whose documents hold an answer that were answered."""
    return Share(check.answered, 1) if gold.answerable else Undefined(UNANSWERABLE)


@listed(aliases=("answerable_prec",))
@metric(refusal_check, answerability, over="data", caption="answers that are right")
def answerable_precision(check: RefusalCheck, gold: GoldInContexts) -> Share | Undefined:
    """Share of the answers whose documents hold an answer."""
    return Share(gold.answerable, 1) if check.answered else Undefined(REFUSED if check.refused else EMPTY)


@metric(refusal_check, answerability, over="data", caption="answers, both ways")
def answerable_f1(check: RefusalCheck, gold: GoldInContexts) -> F1Counts:
    """Harmonic mean of answerable_recall and answerable_precision."""
    return RefusalConfusion(*confusion(check, gold)).answering


@metric(refusal_check, answerability, over="data", caption="refused or answered rightly")
def macro_avg(check: RefusalCheck, gold: GoldInContexts) -> MeanRecall:
    """Mean of reject_recall and answerable_recall."""
    return MeanRecall(*confusion(check, gold))


@metric(refusal_check, answerability, over="data", caption="refused or answered rightly")
def macro_f1(check: RefusalCheck, gold: GoldInContexts) -> MeanF1:
    """Mean of reject_f1 and answerable_f1; at most 0.5 where every sample is answerable, or none is."""
    return MeanF1(*confusion(check, gold))


def match_score(matched: MatchedGold, correctness: Correctness, in_documents: Sequence[bool] | None = None) -> float:
    """How well the response matches the gold claims: the share matched, or for a list the F1 with five enough.

    in_documents: whether some document contains each claim, where only these count; 0 where none does.
    """
    counted = [True] * len(matched.claims) if in_documents is None else in_documents
    if not any(counted):
        return 0.0
    if correctness == "em5":
        gold = [wordings for wordings, yes in zip(matched.gold, counted, strict=True) if yes]
        return claims.list_score(matched, gold).f1_top5
    return _matched_and_contained(matched, counted) / sum(counted)


def grounded_share(matched: MatchedGold, in_documents: Sequence[bool], correctness: Correctness) -> float:
    """Share of all gold claims in both the response and some document; for a list, recall with five enough."""
    grounded = _matched_and_contained(matched, in_documents)
    if correctness == "em5":
        return min(claims.QAMPARI_CAP, grounded) / min(claims.QAMPARI_CAP, len(in_documents))
    return grounded / len(in_documents)


def _matched_and_contained(matched: MatchedGold, in_documents: Sequence[bool]) -> int:
    return sum(match and contained for match, contained in zip(matched.claims, in_documents, strict=True))


@metric(refusal_check, claims_in_response, over="data", caption="gold claims in the answers")
def answered_correctness(
    check: RefusalCheck, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """Correctness of the answers: how much of the gold claims they contain; refusals are excluded.

    correctness: "cm" by entailment, "em" as strings, "em5" as items of a list, scored by F1.
    """
    return Undefined(REFUSED) if check.refused else Share(match_score(matched, correctness), 1)


@metric(refusal_check, claims_in_documents, claims_in_response, over="data", caption="available claims in answers")
def calibrated_answered(
    check: RefusalCheck, gold: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims in the documents the answers contain; 0 where the documents contain none.

    The mean over the answered samples.
    """
    return Undefined(REFUSED) if check.refused else Share(_calibrated(check, gold, matched, correctness), 1)


@metric(refusal_check, claims_in_documents, claims_in_response, over="data", caption="available claims given")
def calibrated_answerable(
    check: RefusalCheck, gold: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims in the documents the responses contain; a refusal contains none.

    The mean over the answerable samples.
    """
    return Share(_calibrated(check, gold, matched, correctness), 1) if gold.answerable else Undefined(UNANSWERABLE)


@metric(refusal_check, claims_in_documents, claims_in_response, over="data", caption="available claims, both ways")
def calibrated_f1(
    check: RefusalCheck, gold: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> F1Counts:
    """Harmonic mean of calibrated_answered and calibrated_answerable."""
    score = _calibrated(check, gold, matched, correctness)
    return F1Counts(score, (not check.refused) - score, gold.answerable - score)


@metric(
    refusal_check,
    claims_in_documents,
    claims_in_response,
    better="lower",
    over="data",
    caption="claims without a document",
)
def parametric(
    check: RefusalCheck, gold: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims the answers contain that no document does: the model's parametric knowledge."""
    if check.refused:
        return Undefined(REFUSED)
    everywhere = [True] * len(gold.claims)
    in_all, in_documents = (grounded_share(matched, counted, correctness) for counted in (everywhere, gold.claims))
    return Share(in_all - in_documents, 1)


def _calibrated(check: RefusalCheck, gold: GoldInContexts, matched: MatchedGold, correctness: Correctness) -> float:
    refused = check.refused or check.refused_without_citations
    return 0.0 if refused else match_score(matched, correctness, gold.claims)


class MeanCitations(Counts, frozen=True):
    """The F1 of mean citation recall and precision: the number of samples with sentences, and the sums over them."""

    samples: float
    recall: float
    precision: float

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        if not self.samples or max(self.recall, self.precision) > self.samples * (1 + 1e-9):
            return None
        return claims.harmonic(self.recall / self.samples, self.precision / self.samples)


@metric(citations, over="data", caption="citations, with refusals")
def regular_citation_f1(citing: CitationSupport) -> MeanCitations | Undefined:
    """Harmonic mean of mean citation recall and mean citation precision, refusals with sentences included.

    A response without citations has a precision of 0.
    """
    return MeanCitations(*_citation_means(citing)) if citing.sentences else Undefined(claims.NO_SENTENCE)


@listed(aliases=("answered_citation_rec",))
@metric(refusal_check, citations, over="data", caption="sentences of answers")
def answered_citation_recall(check: RefusalCheck, citing: CitationSupport) -> Share | Undefined:
    """Mean citation_recall of the answers, refusals excluded."""
    return _excluded(check, citing) or Share(_citation_means(citing)[1], 1)


@listed(aliases=("answered_citation_prec",))
@metric(refusal_check, citations, over="data", caption="citations of answers")
def answered_citation_precision(check: RefusalCheck, citing: CitationSupport) -> Share | Undefined:
    """Mean citation_precision of the answers, refusals excluded; 0 for an answer without citations."""
    return _excluded(check, citing) or Share(_citation_means(citing)[2], 1)


@metric(refusal_check, citations, over="data", caption="citations of the answers")
def answered_citation_f1(check: RefusalCheck, citing: CitationSupport) -> MeanCitations | Undefined:
    """Harmonic mean of answered_citation_recall and answered_citation_precision."""
    return _excluded(check, citing) or MeanCitations(*_citation_means(citing))


def _excluded(check: RefusalCheck, citing: CitationSupport) -> Undefined | None:
    """Why the response does not count among the answers with sentences, or None."""
    if check.refused:
        return Undefined(REFUSED)
    return None if citing.sentences else Undefined(claims.NO_SENTENCE)


def _citation_means(citing: CitationSupport) -> tuple[int, float, float]:
    """The counts of `MeanCitations` for one sample."""
    supported, precise = citing.supported, citing.precise
    if not supported:
        return 0, 0.0, 0.0
    return 1, sum(supported) / len(supported), sum(precise) / max(1, len(precise))


class Trust(RefusalConfusion, frozen=True):
    """The counts of the trust score: those of `RefusalConfusion`, the calibrated sum, those of `MeanCitations`."""

    calibrated: float = 0
    cited: float = 0
    recall: float = 0
    precision: float = 0

    @property
    def value(self) -> float | None:
        """The score, or None where the counts contradict each other."""
        *cells, score, cited, recall, precision = msgspec.structs.astuple(self)
        answered = sum(cells) - self.refused_answerable - self.refused_unanswerable
        answerable = sum(cells[::2])
        slack = 1e-9 * (1 + sum(cells))
        if score > cells[0] + slack or max(recall, precision) > cited + slack or cited > answered + slack:
            return None
        correctness = F1Counts(score, answered - score, answerable - score).value or 0.0
        citation = MeanCitations(cited, recall, precision).value or 0.0
        return (correctness + (MeanF1(*cells).value or 0.0) + citation) / 3


@metric(
    refusal_check,
    claims_in_documents,
    claims_in_response,
    citations,
    over="data",
    caption="refusals, claims, citations",
)
def trust_score(
    check: RefusalCheck,
    gold: GoldInContexts,
    matched: MatchedGold,
    citing: CitationSupport,
    *,
    correctness: Correctness = "cm",
) -> Trust:
    """Mean of macro_f1, calibrated_f1 and answered_citation_f1, each 0 where it has nothing to count.

    From 0 to 1; Trust-Eval reports it in per cent. Parameters are those of its three parts.
    """
    score = _calibrated(check, gold, matched, correctness)
    cited = (0, 0.0, 0.0) if check.refused else _citation_means(citing)
    return Trust(*confusion(check, gold), score, *cited)


#: The prefix of the keys about refusals: in trust_eval, in trust-align, and in the documentation of the latter.
RefusalPrefix = Literal["reject", "refuse", "refusal"]


class TrustEvalItem(NamedTuple):
    """A sample with the evidence tables of Trust-Eval's needs."""

    sample: Sample
    refusal: RefusalCheck
    gold: GoldInContexts
    matched: MatchedGold
    citing: CitationSupport


_Items = Sequence[TrustEvalItem]


def needs(correctness: Correctness = "cm", at_most: int = 3) -> tuple[Need[EvidenceTable], ...]:
    """The needs of a `TrustEvalItem`, in the order of its fields."""
    units: Literal["items", "sentences"] = "items" if correctness == "em5" else "sentences"
    return (
        refusal_check("trust_eval"),
        claims_in_documents("given"),
        claims_in_response(correctness, "trust_eval"),
        citations("trust_eval", "brackets", units, at_most),
    )


def trust_eval_block(
    items: Sequence[TrustEvalItem], correctness: Correctness = "cm", prefix: RefusalPrefix = "reject"
) -> dict[str, float | None]:
    """The output of Trust-Eval for a data set; see `ragauge.analysis.trust_eval_block`."""
    if not items:
        raise BadParameter("Trust-Eval's values are shares of samples, and there is no sample")
    answered = [item for item in items if not item.refusal.refused]
    answerable = [item for item in items if any(item.gold.claims)]
    block = _refusal_values(items, answered, answerable)
    if correctness == "em5":
        values, f1 = _list_values(items, answered, answerable)
    else:
        values, f1 = _share_values(items, answered, answerable, correctness)
    block |= values | _citation_values("regular", items) | _citation_values("answered", answered)
    block["trust_score"] = _mean([f1, block["macro_f1"], block["answered_citation_f1"]])
    undefined = set()  # the means of nothing that Trust-Eval does not set to 0
    if not any(item.citing.sentences for item in items):
        undefined |= {"regular_citation_rec", "regular_citation_prec"}
    if correctness == "em5" and answered and not any(map(_wrong_in_documents, answered)):
        undefined |= {"qampari_presence", "qampari_absence"}
    return {key.replace("reject", prefix): None if key in undefined else value for key, value in block.items()}


def _mean(values: Iterable[float]) -> float:
    """The mean as numpy computes it, 0 of nothing."""
    listed = list(values)
    return float(np.mean(listed)) if listed else 0


def _harmonic(first: float, second: float) -> float:
    return 2 / (1 / first + 1 / second) if first and second else 0.0


def _words(item: TrustEvalItem) -> int:
    return len(trust_eval.without_citations(item.sample.response or "").split())


def _refusal_values(items: _Items, answered: _Items, answerable: _Items) -> dict[str, float]:
    n, n_answered, n_answerable = len(items), len(answered), len(answerable)
    both = sum(any(item.gold.claims) for item in answered)
    block: dict[str, float] = {
        "num_samples": n,
        "answered_ratio": round(100 * n_answered / n, 2),
        "answered_num": n_answered,
        "answerable_num": n_answerable,
        "overlapped_num": both,
        "regular_length": sum(map(_words, items)) / n,
        "answered_length": sum(map(_words, answered)) / n_answered if answered else 0,
    }
    for name, hits, recall_of, precision_of in (
        ("reject", n - n_answered - n_answerable + both, n - n_answerable, n - n_answered),
        ("answerable", both, n_answerable, n_answered),
    ):
        recall = 100 * hits / recall_of if recall_of else 0
        precision = 100 * hits / precision_of if precision_of else 0
        block |= {f"{name}_rec": recall, f"{name}_prec": precision, f"{name}_f1": claims.harmonic(precision, recall)}
    block["macro_avg"] = _mean([block["reject_rec"], block["answerable_rec"]])
    block["macro_f1"] = _mean([block["reject_f1"], block["answerable_f1"]])
    return block


def _citation_values(name: str, items: _Items) -> dict[str, float]:
    """Responses without a sentence are excluded from the means."""
    cited = [_citation_means(item.citing) for item in items if item.citing.sentences]
    recall, precision = 100 * _mean(means[1] for means in cited), 100 * _mean(means[2] for means in cited)
    f1 = claims.harmonic(precision, recall)
    return {f"{name}_citation_rec": recall, f"{name}_citation_prec": precision, f"{name}_citation_f1": f1}


def _share_values(
    items: _Items, answered: _Items, answerable: _Items, correctness: Correctness
) -> tuple[dict[str, float], float]:
    """The values for "cm", everywhere by the refusals detected without citations, and for "em"; and the F1."""
    name, parametric = ("claims_nli", "parametric_answered_") if correctness == "cm" else ("str_em", "parametric_")
    if correctness == "cm":
        answered = [item for item in items if not item.refusal.refused_without_citations]

    def calibrated(subset: _Items) -> float:
        return 100 * _mean(
            0.0 if item.refusal.refused_without_citations else match_score(item.matched, correctness, item.gold.claims)
            for item in subset
        )

    def matched(subset: _Items) -> float:
        return 100 * _mean(match_score(item.matched, correctness) for item in subset)

    of_answered, by_answered, by_answerable = matched(answered), calibrated(answered), calibrated(answerable)
    grounding = _grounding(answered, correctness)
    f1 = _harmonic(by_answered, by_answerable)
    return {
        f"regular_{name}": matched(items),
        f"answered_{name}": of_answered,
        f"calib_answered_{name}": by_answered,
        f"calib_answerable_{name}": by_answerable,
        f"calib_{name}_f1": f1,
        f"{parametric}{name}": of_answered - grounding,
    }, f1


def _grounding(items: _Items, correctness: Correctness) -> float:
    answers = [None if item.refusal.refused_without_citations else item for item in items]
    return 100 * _mean(grounded_share(item.matched, item.gold.claims, correctness) if item else 0.0 for item in answers)


def _list_values(items: _Items, answered: _Items, answerable: _Items) -> tuple[dict[str, float], float]:
    """The values for "em5", with the shares of the wrong items that do and do not occur in a document; and the F1."""

    def plain(item: TrustEvalItem) -> claims.ListScore:
        return claims.list_score(item.matched, item.matched.gold)

    def calibrated(item: TrustEvalItem) -> claims.ListScore:
        """Scored against the gold claims that some document contains, none of them for a refusal."""
        refused = item.refusal.refused_without_citations
        return claims.list_score(item.matched, [] if refused else _gold_in_documents(item.matched.gold, item))

    shares = [sum(wrong) / len(wrong) for item in answered if (wrong := _wrong_in_documents(item))]
    block: dict[str, float] = {
        "qampari_presence": 100 * _mean(shares),
        "qampari_absence": 100 * _mean(1 - share for share in shares),
    }
    for prefix, subset, score in (
        ("regular_", items, plain),
        ("answered_", answered, plain),
        ("calib_answered_", answered, calibrated),
        ("calib_answerable_", answerable, calibrated),
    ):
        block[f"{prefix}num_preds"] = _mean(len(item.matched.items) for item in subset)
        scores = list(map(score, subset))
        for column, name in enumerate(("prec", "rec", "rec_top5", "f1", "f1_top5")):
            block[f"{prefix}qampari_{name}"] = 100 * _mean(row[column] for row in scores)
    f1 = _harmonic(block["calib_answered_qampari_f1_top5"], block["calib_answerable_qampari_f1_top5"])
    grounding = _grounding(answered, "em5")
    block["calib_qampari_em_f1"] = f1
    block["parametric_qampari_rec_top5"] = block["answered_qampari_rec_top5"] - grounding
    return block, f1


def _wrong_in_documents(item: TrustEvalItem) -> list[bool]:
    """Per item without a gold claim of the documents, whether some document contains it."""
    gold = _gold_in_documents(item.sample.answers or (), item)
    bare = trust_eval.without_citations(item.sample.response or "")
    pieces = [bare[slice(*span)] for span in trust_eval.list_items(bare)]
    wrong = [piece for piece in pieces if piece and not any(trust_eval.contains(piece, wordings) for wordings in gold)]
    return [any(trust_eval.contains(chunk.text, [piece]) for chunk in item.sample.contexts or ()) for piece in wrong]


def _gold_in_documents(gold: Sequence[Sequence[str]], item: TrustEvalItem) -> list[Sequence[str]]:
    """Those of the gold claims that some document contains."""
    return [wordings for wordings, contained in zip(gold, item.gold.claims, strict=True) if contained]
