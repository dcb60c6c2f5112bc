"""Metrics of what a question's answer should hold: nuggets and criteria that belong to the question."""

from __future__ import annotations

from typing import Annotated, Literal

from ragauge.metrics.base import metric
from ragauge.needs.base import Grades, Undefined
from ragauge.needs.nuggets import (
    NUGGET,
    MetCriteria,
    NuggetCredits,
    criteria_met,
    nuggets_in_response,
    nuggets_of_question,
)
from ragauge.scores import Share


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


@metric(criteria_met, scale=(-1.0, 1.0), caption="points of the criteria")
def criteria(met: MetCriteria) -> float:
    """Points gained over points possible, by the criteria of the sample; -1 at least.

    A criterion with points below 0 describes a fault, and takes points off where the response has it. As in HealthBench
    (Arora et al., 2025), which then raises a mean below 0 to 0.
    """
    gained = sum(value * points for value, points in zip(met.values, met.points, strict=True))
    return max(gained / sum(points for points in met.points if points > 0), -1.0)


@metric(nuggets_of_question, caption="proposed nuggets that are vital")
def nuggets(grades: Grades) -> Share:
    """Share of the claims that an answer may hold that are vital: what `ragauge dataset nuggets` proposes.

    Claims of references and relevant chunks that help to answer the query, each once. A person's grade counts first.
    """
    kept = [value for value in grades.values if value > NUGGET.low]
    return Share(sum(value == NUGGET.high for value in kept), len(kept))
