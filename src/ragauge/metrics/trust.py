"""Trust-Eval's measures over the whole data set, its score, and its output block (Song et al., ICLR 2025).

"Answered" leaves refusals out. "Calibrated" counts those gold claims alone that some document holds, on samples that
are answered and answerable, per answered or per answerable sample.

The behaviour is that of trust_eval 0.1.5, where a harmonic mean with a zero is 0, and so is a share of nothing; the few
means of nothing that it leaves NaN are None here. Which responses are refusals is told from the text as it stands, but
from the text without citations wherever gold claims are counted by entailment, or only those that the documents hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from ragauge.errors import BadParameter
from ragauge.metrics.base import metric
from ragauge.metrics.citations import NO_SENTENCE
from ragauge.metrics.claims import ListScore, calibrated, correct, grounded, harmonic, known, list_score
from ragauge.metrics.refusals import REFUSED, UNANSWERABLE, Groundedness, MeanF1, cells
from ragauge.needs.base import EvidenceTable, Need, Undefined
from ragauge.needs.checks import Refused, refusals
from ragauge.needs.citations import CitationSupport, citations
from ragauge.needs.gold import Correctness, GoldInContexts, MatchedGold, claims_in_documents, claims_in_response
from ragauge.scores import F1Counts, Share
from ragauge.text import trust_eval
from ragauge.types import Sample


@metric(refusals, claims_in_response, over="data")
def answered_correctness(
    refused: Refused, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims the answers hold, refusals left out.

    correctness: "cm" by entailment, "em" as strings, "em5" as items of a list, of which the F1 counts.
    """
    return Undefined(REFUSED) if refused.refused else Share(correct(matched, correctness), 1)


@metric(refusals, claims_in_documents, claims_in_response, over="data")
def calibrated_answered(
    refused: Refused, held: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims that the documents hold the answers hold too; 0 where they hold none.

    The mean over the answered samples.
    """
    return Undefined(REFUSED) if refused.refused else Share(_calibrated(refused, held, matched, correctness), 1)


@metric(refusals, claims_in_documents, claims_in_response, over="data")
def calibrated_answerable(
    refused: Refused, held: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims that the documents hold the responses hold too; a refusal holds none.

    The mean over the samples whose documents hold an answer.
    """
    if not held.answerable:
        return Undefined(UNANSWERABLE)
    return Share(_calibrated(refused, held, matched, correctness), 1)


@metric(refusals, claims_in_documents, claims_in_response, over="data")
def calibrated_f1(
    refused: Refused, held: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> F1Counts:
    """Harmonic mean of calibrated_answered and calibrated_answerable."""
    score = _calibrated(refused, held, matched, correctness)
    return F1Counts(score, (not refused.refused) - score, held.answerable - score)


@metric(refusals, claims_in_documents, claims_in_response, better="lower", over="data")
def parametric(
    refused: Refused, held: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims the answers hold that no document does: what the system knew by itself."""
    if refused.refused:
        return Undefined(REFUSED)
    return Share(known(matched, correctness) - grounded(matched, held.claims, correctness), 1)


def _calibrated(refused: Refused, held: GoldInContexts, matched: MatchedGold, correctness: Correctness) -> float:
    return 0.0 if refused.refused or refused.bare else calibrated(matched, held.claims, correctness)


class MeanCitations(msgspec.Struct, frozen=True):
    """Samples with sentences, and the sums of their citation recall and precision; the value is the F1 of the means."""

    samples: float
    recall: float
    precision: float

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        if not self.samples or max(self.recall, self.precision) > self.samples * (1 + 1e-9):
            return None
        return harmonic(self.recall / self.samples, self.precision / self.samples)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The counts, to be added over samples."""
        return msgspec.structs.astuple(self)


@metric(citations, over="data")
def regular_citation_f1(citing: CitationSupport) -> MeanCitations | Undefined:
    """Harmonic mean of the mean citation recall and the mean citation precision, refusals with sentences included.

    A response that cites nothing counts with a precision of 0.
    """
    return MeanCitations(*_means(citing)) if citing.sentences else Undefined(NO_SENTENCE)


@metric(refusals, citations, over="data")
def answered_citation_recall(refused: Refused, citing: CitationSupport) -> Share | Undefined:
    """Mean citation_recall of the answers, refusals left out."""
    return _of_answer(refused, citing) or Share(_means(citing)[1], 1)


@metric(refusals, citations, over="data")
def answered_citation_precision(refused: Refused, citing: CitationSupport) -> Share | Undefined:
    """Mean citation_precision of the answers, refusals left out; 0 for an answer that cites nothing."""
    return _of_answer(refused, citing) or Share(_means(citing)[2], 1)


@metric(refusals, citations, over="data")
def answered_citation_f1(refused: Refused, citing: CitationSupport) -> MeanCitations | Undefined:
    """Harmonic mean of answered_citation_recall and answered_citation_precision."""
    return _of_answer(refused, citing) or MeanCitations(*_means(citing))


def _of_answer(refused: Refused, citing: CitationSupport) -> Undefined | None:
    """Why the citations of a response do not count among those of answers."""
    if refused.refused:
        return Undefined(REFUSED)
    return None if citing.sentences else Undefined(NO_SENTENCE)


def _means(citing: CitationSupport) -> tuple[int, float, float]:
    """One sample as the counts of `MeanCitations`."""
    supported, precise = citing.supported, citing.precise
    if not supported:
        return 0, 0.0, 0.0
    return 1, sum(supported) / len(supported), sum(precise) / max(1, len(precise))


class Trust(msgspec.Struct, frozen=True):
    """What the trust score is made of: the cells of `Groundedness`, the calibrated sum, those of `MeanCitations`."""

    answered_answerable: float
    answered_unanswerable: float
    refused_answerable: float
    refused_unanswerable: float
    calibrated: float
    cited: float
    recall: float
    precision: float

    @property
    def value(self) -> float | None:
        """The score, or None where the counts contradict each other."""
        *grounds, score, cited, recall, precision = self.numbers
        table = Groundedness(*grounds)
        answered, answerable = grounds[0] + grounds[1], grounds[0] + grounds[2]
        slack = 1e-9 * (1 + sum(grounds))
        if score > grounds[0] + slack or max(recall, precision) > cited + slack or cited > answered + slack:
            return None
        correctness = F1Counts(score, answered - score, answerable - score).value or 0.0
        citation = MeanCitations(cited, recall, precision).value or 0.0
        return (correctness + (MeanF1(*table.numbers).value or 0.0) + citation) / 3

    @property
    def numbers(self) -> tuple[float, ...]:
        """The counts, to be added over samples."""
        return msgspec.structs.astuple(self)


@metric(refusals, claims_in_documents, claims_in_response, citations, over="data")
def trust_score(
    refused: Refused,
    held: GoldInContexts,
    matched: MatchedGold,
    citing: CitationSupport,
    *,
    correctness: Correctness = "cm",
) -> Trust:
    """Mean of macro_f1, calibrated_f1 and answered_citation_f1, each 0 where it has nothing to count.

    From 0 to 1; Trust-Eval gives it in per cent. The parameters are those of its three parts.
    """
    score = _calibrated(refused, held, matched, correctness)
    cited = (0, 0.0, 0.0) if refused.refused else _means(citing)
    return Trust(*cells(refused, held), score, *cited)


#: How the keys about refusals begin: in trust_eval, in trust-align, and in the documentation of the latter.
RefusalPrefix = Literal["reject", "refuse", "refusal"]

_Values = dict[str, float]


class TrustEvalItem(NamedTuple):
    """A sample with everything that was found out about it."""

    sample: Sample
    refused: Refused
    held: GoldInContexts
    matched: MatchedGold
    citing: CitationSupport

    @property
    def words(self) -> int:
        """The words of the response without its citations, parted by white space."""
        return len(trust_eval.bare(self.sample.response or "").split())


def needs(correctness: Correctness = "cm", at_most: int = 3) -> tuple[Need[EvidenceTable], ...]:
    """What must be known of a sample to make an `Item` of it: the needs of its fields, in their order."""
    units: Literal["items", "sentences"] = "items" if correctness == "em5" else "sentences"
    return (
        refusals("trust_eval"),
        claims_in_documents("given"),
        claims_in_response(correctness, "trust_eval"),
        citations("trust_eval", "brackets", units, at_most),
    )


def trust_eval_block(
    items: Sequence[TrustEvalItem], correctness: Correctness = "cm", prefix: RefusalPrefix = "reject"
) -> dict[str, float | None]:
    """The keys and values that Trust-Eval returns for a data set: 28 of them for "cm" and "em".

    correctness: "cm", "em" or "em5", as its eval_type. prefix: how the keys about refusals begin.
    Raises BadParameter without items.
    """
    if not items:
        raise BadParameter("Trust-Eval's values are shares of samples, and there is no sample")
    block = _basics(items) | _refusals(items)
    made, f1 = _CORRECTNESS[correctness](items)
    block |= made | _citations(items)
    block["trust_score"] = _mean([made[f1], block["macro_f1"], block["answered_citation_f1"]])
    nothing = _of_nothing(items, correctness)
    return {_spelt(key, prefix): None if key in nothing else value for key, value in block.items()}


def _spelt(key: str, prefix: RefusalPrefix) -> str:
    return prefix + key.removeprefix("reject") if key.startswith("reject") else key


def _of_nothing(items: Sequence[TrustEvalItem], correctness: Correctness) -> set[str]:
    """The keys whose value is a mean of nothing without being 0."""
    keys = set() if any(item.citing.sentences for item in items) else {"regular_citation_rec", "regular_citation_prec"}
    answered = _answered(items)
    if correctness == "em5" and answered and not any(map(_standing, answered)):
        keys |= {"qampari_presence", "qampari_absence"}
    return keys


def _mean(values: Iterable[float]) -> float:
    """The mean as numpy adds it up, 0 of nothing."""
    import numpy as np

    listed = list(values)
    return float(np.mean(listed)) if listed else 0


def _per_cent(values: Iterable[float]) -> float:
    return 100 * _mean(values)


def _harmonic(one: float, other: float) -> float:
    return 2 / (1 / one + 1 / other) if one and other else 0.0


def _answered(items: Sequence[TrustEvalItem]) -> list[TrustEvalItem]:
    return [item for item in items if not item.refused.refused]


def _answerable(items: Sequence[TrustEvalItem]) -> list[TrustEvalItem]:
    return [item for item in items if any(item.held.claims)]


def _basics(items: Sequence[TrustEvalItem]) -> _Values:
    answered = _answered(items)
    return {
        "num_samples": len(items),
        "answered_ratio": round(100 * len(answered) / len(items), 2),
        "answered_num": len(answered),
        "answerable_num": len(_answerable(items)),
        "overlapped_num": len(_answerable(answered)),
        "regular_length": sum(item.words for item in items) / len(items),
        "answered_length": sum(item.words for item in answered) / len(answered) if answered else 0,
    }


def _refusals(items: Sequence[TrustEvalItem]) -> _Values:
    answered, answerable, both = (
        len(some) for some in (_answered(items), _answerable(items), _answerable(_answered(items)))
    )
    block: _Values = {}
    neither = len(items) - answered - answerable + both
    for name, hits, recall_of, precision_of in (
        ("reject", neither, len(items) - answerable, len(items) - answered),
        ("answerable", both, answerable, answered),
    ):
        recall = 100 * hits / recall_of if recall_of else 0
        precision = 100 * hits / precision_of if precision_of else 0
        block |= {f"{name}_rec": recall, f"{name}_prec": precision, f"{name}_f1": harmonic(precision, recall)}
    block["macro_avg"] = _mean([block["reject_rec"], block["answerable_rec"]])
    block["macro_f1"] = _mean([block["reject_f1"], block["answerable_f1"]])
    return block


def _citations(items: Sequence[TrustEvalItem]) -> _Values:
    """Responses without a sentence are left out of the means."""
    block: _Values = {}
    for name, some in (("regular", items), ("answered", _answered(items))):
        cited = [(item.citing.supported, item.citing.precise) for item in some if item.citing.sentences]
        recall = _per_cent(sum(supported) / len(supported) for supported, _ in cited)
        precision = _per_cent(sum(precise) / len(precise) if precise else 0 for _, precise in cited)
        block |= {
            f"{name}_citation_rec": recall,
            f"{name}_citation_prec": precision,
            f"{name}_citation_f1": harmonic(precision, recall),
        }
    return block


def _claims(items: Sequence[TrustEvalItem]) -> tuple[_Values, str]:
    """Everywhere by the refusals that are told without citations."""
    return _shares(items, [item for item in items if not item.refused.bare], "cm", "claims_nli", "parametric_answered_")


def _strings(items: Sequence[TrustEvalItem]) -> tuple[_Values, str]:
    return _shares(items, _answered(items), "em", "str_em", "parametric_")


def _shares(
    items: Sequence[TrustEvalItem],
    answered: Sequence[TrustEvalItem],
    correctness: Correctness,
    name: str,
    parametric: str,
) -> tuple[_Values, str]:
    def mean(some: Sequence[TrustEvalItem], score: Callable[[TrustEvalItem], float]) -> float:
        return _per_cent(map(score, some))

    def of_supported(item: TrustEvalItem) -> float:
        return 0.0 if item.refused.bare else calibrated(item.matched, item.held.claims, correctness)

    def supported(item: TrustEvalItem) -> float:
        return 0.0 if item.refused.bare else grounded(item.matched, item.held.claims, correctness)

    by_answered, by_answerable = mean(answered, of_supported), mean(_answerable(items), of_supported)
    regular, right = (mean(some, lambda item: correct(item.matched, correctness)) for some in (items, answered))
    return {
        f"regular_{name}": regular,
        f"answered_{name}": right,
        f"calib_answered_{name}": by_answered,
        f"calib_answerable_{name}": by_answerable,
        f"calib_{name}_f1": _harmonic(by_answered, by_answerable),
        f"{parametric}{name}": right - mean(answered, supported),
    }, f"calib_{name}_f1"


def _lists(items: Sequence[TrustEvalItem]) -> tuple[_Values, str]:
    answered, answerable = _answered(items), _answerable(items)
    block = _wrong_items(answered)
    block |= _listed("regular_", items, _of_all) | _listed("answered_", answered, _of_all)
    block |= _listed("calib_answered_", answered, _of_held) | _listed("calib_answerable_", answerable, _of_held)
    f1 = _harmonic(block["calib_answered_qampari_f1_top5"], block["calib_answerable_qampari_f1_top5"])
    told = _per_cent(0.0 if item.refused.bare else grounded(item.matched, item.held.claims, "em5") for item in answered)
    block["calib_qampari_em_f1"] = f1
    block["parametric_qampari_rec_top5"] = block["answered_qampari_rec_top5"] - told
    return block, "calib_qampari_em_f1"


def _of_all(item: TrustEvalItem) -> ListScore:
    return list_score(item.matched, item.matched.gold)


def _of_held(item: TrustEvalItem) -> ListScore:
    """Held against the gold claims alone that some document holds, none of them for a refusal."""
    held = zip(item.matched.gold, item.held.claims, strict=True)
    return list_score(item.matched, [] if item.refused.bare else [wordings for wordings, yes in held if yes])


def _listed(prefix: str, items: Sequence[TrustEvalItem], score: Callable[[TrustEvalItem], ListScore]) -> _Values:
    scores = [score(item) for item in items]
    names = {"prec": 0, "rec": 1, "rec_top5": 2, "f1": 3, "f1_top5": 4}
    means = {f"{prefix}qampari_{name}": _per_cent(one[at] for one in scores) for name, at in names.items()}
    return {f"{prefix}num_preds": _mean(len(item.matched.items) for item in items), **means}


def _wrong_items(answered: Sequence[TrustEvalItem]) -> _Values:
    """Of the items that hold no gold claim of the documents, the shares that do and do not stand in a document."""
    shares = [sum(wrong) / len(wrong) for item in answered if (wrong := _standing(item))]
    return {
        "qampari_presence": _per_cent(shares),
        "qampari_absence": _per_cent(1 - share for share in shares),
    }


def _standing(item: TrustEvalItem) -> list[bool]:
    """For each wrong item of a list whether some document's text holds it."""
    gold = [wordings for wordings, yes in zip(item.sample.answers or (), item.held.claims, strict=True) if yes]
    bare = trust_eval.bare(item.sample.response or "")
    pieces = [bare[slice(*span)] for span in trust_eval.listed(bare)]
    wrong = [piece for piece in pieces if piece and not any(trust_eval.holds(piece, wordings) for wordings in gold)]
    return [any(trust_eval.holds(chunk.text, [piece]) for chunk in item.sample.contexts or ()) for piece in wrong]


_CORRECTNESS: Mapping[Correctness, Callable[[Sequence[TrustEvalItem]], tuple[_Values, str]]] = {
    "cm": _claims,
    "em": _strings,
    "em5": _lists,
}
