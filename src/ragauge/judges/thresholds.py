"""The confidence from which a judge is right often enough, as people's labels show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log

import msgspec

from ragauge.judges.composite import VERDICTS, confidence
from ragauge.questions import Question
from ragauge.statistics.intervals import mean_interval
from ragauge.types import POSITIVE, Answer, Failure, Verdict


class FittedThreshold(msgspec.Struct, frozen=True):
    """How often a judge is right from a confidence on, for questions of one kind with human labels.

    at: the lowest confidence that qualifies (then `threshold` too), or comes nearest; share: of the questions beyond
    it; accuracy: how many of these are right; bound: the lower end of its one-sided 95 % interval.
    """

    labelled: int
    threshold: float | None = None
    at: float | None = None
    share: float = 0.0
    accuracy: float | None = None
    bound: float = 0.0

    @property
    def nearest(self) -> str:
        """What comes nearest, in words; "" where no confidence is high enough to be tested."""
        if self.at is None:
            return ""
        right = f"{self.accuracy or 0.0:.0%} of these are right (at least {self.bound:.0%}, with texts as clusters)"
        return f"the nearest is {self.at:g}: {self.share:.0%} of {self.labelled} labelled verdicts lie beyond, {right}"


def fewest_labels(accuracy: float) -> int:
    """The fewest labels that can show an accuracy with 95 % confidence, all of them right."""
    return ceil(log(0.05) / log(accuracy))


def fit_thresholds(
    yes: Mapping[Question, bool], answers: Mapping[Question, Answer | Failure], accuracy: float
) -> dict[str, FittedThreshold]:
    """For each kind of verdict, the lowest confidence from which a judge's answers agree with people often enough.

    The lower end of a one-sided 95 % interval has to reach `accuracy`, by clusters of questions on one text.
    Confidences are tested from the highest beyond which a quarter of the labels lie, and at least `fewest_labels`,
    down to the first that fails, so that the chance of a threshold which is too low is 5 % at most, for any judge
    (fixed sequence testing; Angelopoulos et al., "Learn then test", 2021).

    Args:
        yes: whether people answered "entailed", "yes" or "right".
        answers: of the judge.
        accuracy: above 0 and below 1.
    """
    kinds = {name: [question for question in answers if question.kind == name] for name in VERDICTS}
    return {name: _fitted(asked, yes, answers, accuracy) for name, asked in kinds.items() if asked}


def _fitted(
    asked: Sequence[Question],
    yes: Mapping[Question, bool],
    answers: Mapping[Question, Answer | Failure],
    accuracy: float,
) -> FittedThreshold:
    """The lowest threshold in hundredths that qualifies, or the one that comes nearest."""
    lowest = nearest = FittedThreshold(len(asked))
    sure = {question: confidence(answers[question]) for question in asked}
    fewest = max(fewest_labels(accuracy), len(asked) / 4)
    for level in sorted({floor(value * 100) / 100 for value in sure.values() if value >= 0.5}, reverse=True):
        beyond = [question for question, value in sure.items() if value >= level]
        right = [float(says_yes(answers[question]) == yes[question]) for question in beyond]
        texts = [question.subject for question in beyond]
        shown = mean_interval(right, clusters=texts, confidence=0.9)  # one-sided 95 %
        reached = FittedThreshold(len(asked), None, level, len(beyond) / len(asked), shown.value, shown.low or 0.0)
        nearest = max(nearest, reached, key=lambda fitted: fitted.bound)
        if len(beyond) >= fewest:
            if reached.bound < accuracy:
                break
            lowest = msgspec.structs.replace(reached, threshold=level)
    return lowest if lowest.threshold is not None else nearest


def says_yes(answer: Answer | Failure, level: float | None = None) -> bool:
    """Whether an answer is "entailed", "yes" or "right"; level: the probability from which it is so."""
    if not isinstance(answer, Verdict) or level is None or answer.probability is None:
        return isinstance(answer, Verdict) and answer.label in POSITIVE
    return answer.probability >= level
