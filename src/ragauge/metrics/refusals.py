"""Does the system refuse where the documents hold no answer, and only there?

Refusal groundedness of Trust-Eval (Song et al., ICLR 2025). A sample is answerable where some document holds some gold
claim. Those metrics are values of the whole data set; a harmonic mean with a zero, or of nothing, is 0.
"""

from __future__ import annotations

import msgspec

from ragauge.metrics.base import metric
from ragauge.needs.base import Undefined
from ragauge.needs.checks import Refused, refusals
from ragauge.needs.gold import GoldInContexts, answerability
from ragauge.scores import F1Counts, Share

ANSWERABLE = "the documents hold an answer"
UNANSWERABLE = "the documents hold no answer"
REFUSED = "the response is a refusal"
ANSWERED = "the response is an answer"


class Groundedness(msgspec.Struct, frozen=True):
    """How many samples were refused and how many answered, where the documents hold an answer and where not."""

    answered_answerable: float = 0
    answered_unanswerable: float = 0
    refused_answerable: float = 0
    refused_unanswerable: float = 0

    @property
    def numbers(self) -> tuple[float, ...]:
        """The counts, to be added over samples."""
        return msgspec.structs.astuple(self)

    @property
    def refusing(self) -> F1Counts:
        """Refusals held against unanswerable samples."""
        return F1Counts(self.refused_unanswerable, self.refused_answerable, self.answered_unanswerable)

    @property
    def answering(self) -> F1Counts:
        """Answers held against answerable samples."""
        return F1Counts(self.answered_answerable, self.answered_unanswerable, self.refused_answerable)


class MeanRecall(Groundedness, frozen=True):
    """The mean of both recalls."""

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        refused, answered = self.refused_unanswerable, self.answered_answerable
        refusing = Share(refused, refused + self.answered_unanswerable).value
        answering = Share(answered, answered + self.refused_answerable).value
        return None if refusing is None or answering is None else (refusing + answering) / 2


class MeanF1(Groundedness, frozen=True):
    """The mean of both F1."""

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        return ((self.refusing.value or 0.0) + (self.answering.value or 0.0)) / 2


def cells(refused: Refused, held: GoldInContexts) -> tuple[float, float, float, float]:
    """One sample as the counts of `Groundedness`."""
    declined, answerable = refused.refused, held.answerable
    return (
        answerable and not declined,
        not answerable and not declined,
        answerable and declined,
        not answerable and declined,
    )


@metric(refusals, better="lower")
def refusal(refused: Refused) -> Share:
    """Whether the response declines to answer; over the data, the share that does. An empty response is no refusal.

    refusals: who tells. "rules": sentences such as "I don't know" or "the documents do not say", and nothing told
    beside them; also the one under "refusal_sentence" in the sample's metadata, which the system was told to say
    (`ragauge generate --refusal`). "trust_eval": a fuzzy match with the sentence that Trust-Eval prescribes. "judge":
    a grade.
    """
    return Share(refused.refused, 1)


@metric(refusals)
def answered_ratio(refused: Refused) -> Share:
    """Whether the response answers instead of declining; over the data, the share that does."""
    return Share(not refused.refused, 1)


@metric(refusals, answerability, over="data")
def reject_recall(refused: Refused, held: GoldInContexts) -> Share | Undefined:
    """Of the samples whose documents hold no answer, the share that was refused.

    labels: "asked" lets the judge tell which documents hold which gold claims where the data has no labels for it
    (`answerable`, or `answers_found` of each document); "given" leaves such samples undefined.
    """
    return Undefined(ANSWERABLE) if held.answerable else Share(refused.refused, 1)


@metric(refusals, answerability, over="data")
def reject_precision(refused: Refused, held: GoldInContexts) -> Share | Undefined:
    """Of the refusals, the share whose documents hold no answer."""
    return Share(not held.answerable, 1) if refused.refused else Undefined(ANSWERED)


@metric(refusals, answerability, over="data")
def reject_f1(refused: Refused, held: GoldInContexts) -> F1Counts:
    """Harmonic mean of reject_recall and reject_precision."""
    return Groundedness(*cells(refused, held)).refusing


@metric(refusals, answerability, over="data")
def answerable_recall(refused: Refused, held: GoldInContexts) -> Share | Undefined:
    """Of the samples whose documents hold an answer, the share that was answered."""
    return Share(not refused.refused, 1) if held.answerable else Undefined(UNANSWERABLE)


@metric(refusals, answerability, over="data")
def answerable_precision(refused: Refused, held: GoldInContexts) -> Share | Undefined:
    """Of the answers, the share whose documents hold an answer."""
    return Undefined(REFUSED) if refused.refused else Share(held.answerable, 1)


@metric(refusals, answerability, over="data")
def answerable_f1(refused: Refused, held: GoldInContexts) -> F1Counts:
    """Harmonic mean of answerable_recall and answerable_precision."""
    return Groundedness(*cells(refused, held)).answering


@metric(refusals, answerability, over="data")
def macro_avg(refused: Refused, held: GoldInContexts) -> MeanRecall:
    """Mean of reject_recall and answerable_recall."""
    return MeanRecall(*cells(refused, held))


@metric(refusals, answerability, over="data")
def macro_f1(refused: Refused, held: GoldInContexts) -> MeanF1:
    """Mean of reject_f1 and answerable_f1; at most 0.5 where every sample is answerable, or none is."""
    return MeanF1(*cells(refused, held))
