"""Refusals: does the system refuse where the documents contain no answer, and only there?

The grounded refusal metrics of Trust-Eval (Song et al., ICLR 2025). A sample is answerable if some document contains
some gold claim. They are values of the whole data set; an F1 without a true positive is 0.
"""

from __future__ import annotations

from ragauge.metrics.base import metric
from ragauge.needs.base import Undefined
from ragauge.needs.checks import RefusalCheck, refusals
from ragauge.needs.gold import GoldInContexts, answerability
from ragauge.scores import Counts, F1Counts, Share

ANSWERABLE = "the documents hold an answer"
UNANSWERABLE = "the documents hold no answer"
REFUSED = "the response is a refusal"
ANSWERED = "the response is an answer"


class RefusalConfusion(Counts, frozen=True):
    """The confusion matrix of refusal: refused or answered by answerable or not."""

    answered_answerable: float = 0
    answered_unanswerable: float = 0
    refused_answerable: float = 0
    refused_unanswerable: float = 0

    @property
    def refusing(self) -> F1Counts:
        """Refusal as the prediction that a sample is unanswerable."""
        return F1Counts(self.refused_unanswerable, self.refused_answerable, self.answered_unanswerable)

    @property
    def answering(self) -> F1Counts:
        """Answering as the prediction that a sample is answerable."""
        return F1Counts(self.answered_answerable, self.answered_unanswerable, self.refused_answerable)


class MeanRecall(RefusalConfusion, frozen=True):
    """The mean of the recalls of refusing and answering."""

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        refused, answered = self.refused_unanswerable, self.answered_answerable
        refusing = Share(refused, refused + self.answered_unanswerable).value
        answering = Share(answered, answered + self.refused_answerable).value
        return None if refusing is None or answering is None else (refusing + answering) / 2


class MeanF1(RefusalConfusion, frozen=True):
    """The mean of the F1 of refusing and answering."""

    @property
    def value(self) -> float:
        """The score."""
        return (self.refusing.value + self.answering.value) / 2


def confusion(check: RefusalCheck, gold: GoldInContexts) -> tuple[float, float, float, float]:
    """The counts of `RefusalConfusion` for one sample."""
    refused, answerable = check.refused, gold.answerable
    return answerable and not refused, not (answerable or refused), answerable and refused, refused and not answerable


@metric(refusals, better="lower")
def refusal(check: RefusalCheck) -> Share:
    """Whether the response is a refusal; over the data, the share of refusals. An empty response is none.

    refusals: how they are detected. "rules": sentences such as "I don't know" or "the documents do not say", without
    any information; also the refusal that the system was instructed to give, under "refusal_sentence" in the sample's
    metadata (`ragauge generate --refusal`). "trust_eval": a fuzzy match with the refusal that Trust-Eval prescribes.
    "judge": a grade.
    """
    return Share(check.refused, 1)


@metric(refusals)
def answered_ratio(check: RefusalCheck) -> Share:
    """Whether the response is an answer, not a refusal; over the data, the share of answers."""
    return Share(not check.refused, 1)


@metric(refusals, answerability, over="data")
def reject_recall(check: RefusalCheck, gold: GoldInContexts) -> Share | Undefined:
    """Share of the samples whose documents hold no answer that were refused.

    labels: "asked" lets the judge decide which documents contain which gold claims where the data has no labels
    (`answerable`, or `answers_found` of each document); "given" leaves such samples undefined.
    """
    return Undefined(ANSWERABLE) if gold.answerable else Share(check.refused, 1)


@metric(refusals, answerability, over="data")
def reject_precision(check: RefusalCheck, gold: GoldInContexts) -> Share | Undefined:
    """Share of the refusals whose documents hold no answer."""
    return Share(not gold.answerable, 1) if check.refused else Undefined(ANSWERED)


@metric(refusals, answerability, over="data")
def reject_f1(check: RefusalCheck, gold: GoldInContexts) -> F1Counts:
    """Harmonic mean of reject_recall and reject_precision."""
    return RefusalConfusion(*confusion(check, gold)).refusing


@metric(refusals, answerability, over="data")
def answerable_recall(check: RefusalCheck, gold: GoldInContexts) -> Share | Undefined:
    """Share of the samples whose documents hold an answer that were answered."""
    return Share(not check.refused, 1) if gold.answerable else Undefined(UNANSWERABLE)


@metric(refusals, answerability, over="data")
def answerable_precision(check: RefusalCheck, gold: GoldInContexts) -> Share | Undefined:
    """Share of the answers whose documents hold an answer."""
    return Undefined(REFUSED) if check.refused else Share(gold.answerable, 1)


@metric(refusals, answerability, over="data")
def answerable_f1(check: RefusalCheck, gold: GoldInContexts) -> F1Counts:
    """Harmonic mean of answerable_recall and answerable_precision."""
    return RefusalConfusion(*confusion(check, gold)).answering


@metric(refusals, answerability, over="data")
def macro_avg(check: RefusalCheck, gold: GoldInContexts) -> MeanRecall:
    """Mean of reject_recall and answerable_recall."""
    return MeanRecall(*confusion(check, gold))


@metric(refusals, answerability, over="data")
def macro_f1(check: RefusalCheck, gold: GoldInContexts) -> MeanF1:
    """Mean of reject_f1 and answerable_f1; at most 0.5 where every sample is answerable, or none is."""
    return MeanF1(*confusion(check, gold))
