"""Trust-Eval's measures of answers as values of the whole data set, and its score (Song et al., ICLR 2025).

"Answered" leaves refusals out. "Calibrated" counts those gold claims alone that some document holds, on samples that
are answered and answerable, per answered or per answerable sample.
"""

from __future__ import annotations

import msgspec

from ragauge.metrics.citations import NO_SENTENCE
from ragauge.metrics.gold import calibrated, correct, grounded, harmonic, known
from ragauge.metrics.metric import metric
from ragauge.metrics.refusals import REFUSED, UNANSWERABLE, Groundedness, MeanF1, cells
from ragauge.needs.base import Undefined
from ragauge.needs.checks import Refused, refusals
from ragauge.needs.citations import CitationSupport, citations
from ragauge.needs.gold import Correctness, GoldInContexts, MatchedGold, claims_in_documents, claims_in_response
from ragauge.scores import F1Counts, Share


@metric(refusals, claims_in_response)
def answered_correctness(
    refused: Refused, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims the answers hold, refusals left out.

    correctness: "cm" by entailment, "em" as strings, "em5" as items of a list, of which the F1 counts.
    """
    return Undefined(REFUSED) if refused.refused else Share(correct(matched, correctness), 1)


@metric(refusals, claims_in_documents, claims_in_response)
def calibrated_answered(
    refused: Refused, held: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims that the documents hold the answers hold too; 0 where they hold none.

    The mean over the answered samples.
    """
    return Undefined(REFUSED) if refused.refused else Share(_calibrated(refused, held, matched, correctness), 1)


@metric(refusals, claims_in_documents, claims_in_response)
def calibrated_answerable(
    refused: Refused, held: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> Share | Undefined:
    """How much of the gold claims that the documents hold the responses hold too; a refusal holds none.

    The mean over the samples whose documents hold an answer.
    """
    if not held.answerable:
        return Undefined(UNANSWERABLE)
    return Share(_calibrated(refused, held, matched, correctness), 1)


@metric(refusals, claims_in_documents, claims_in_response)
def calibrated_f1(
    refused: Refused, held: GoldInContexts, matched: MatchedGold, *, correctness: Correctness = "cm"
) -> F1Counts:
    """Harmonic mean of calibrated_answered and calibrated_answerable."""
    score = _calibrated(refused, held, matched, correctness)
    return F1Counts(score, (not refused.refused) - score, held.answerable - score)


@metric(refusals, claims_in_documents, claims_in_response, better="lower")
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


@metric(citations)
def regular_citation_f1(citing: CitationSupport) -> MeanCitations | Undefined:
    """Harmonic mean of the mean citation recall and the mean citation precision, refusals with sentences included.

    A response that cites nothing counts with a precision of 0.
    """
    return MeanCitations(*_means(citing)) if citing.sentences else Undefined(NO_SENTENCE)


@metric(refusals, citations)
def answered_citation_recall(refused: Refused, citing: CitationSupport) -> Share | Undefined:
    """Mean citation_recall of the answers, refusals left out."""
    return _of_answer(refused, citing) or Share(_means(citing)[1], 1)


@metric(refusals, citations)
def answered_citation_precision(refused: Refused, citing: CitationSupport) -> Share | Undefined:
    """Mean citation_precision of the answers, refusals left out; 0 for an answer that cites nothing."""
    return _of_answer(refused, citing) or Share(_means(citing)[2], 1)


@metric(refusals, citations)
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


@metric(refusals, claims_in_documents, claims_in_response, citations)
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
