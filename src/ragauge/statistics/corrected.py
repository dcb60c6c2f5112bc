"""A mean of a judge's scores, corrected by people's scores of samples that were drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from ragauge.errors import BadParameter
from ragauge.statistics.clusters import Clusters
from ragauge.statistics.intervals import Interval, mean_interval


def corrected_mean(
    people: Sequence[float],
    judge: Sequence[float],
    rest: Sequence[float],
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    clusters: Clusters = None,
    rest_clusters: Clusters = None,
    confidence: float = 0.95,
) -> Interval:
    """The mean that people would give all samples: the judge's, plus the mean of people less judge on those drawn.

    people, judge: both scores of each drawn sample. rest: the judge's scores of the samples that were not drawn.
    clusters, rest_clusters: as in `mean_interval`, of the drawn samples and of the rest.

    This is the difference estimator of survey sampling (Särndal, Swensson, Wretman: Model Assisted Survey Sampling,
    1992), which as prediction-powered inference (Angelopoulos et al., Science 382, 2023; arXiv:2311.01453 with its
    weight λ) holds however bad the judge is. With λ the share of the rest among all it is mean(people - λ judge) +
    λ mean(rest), two parts from samples that are independent. Each has the interval of `mean_interval`; the ends of
    their sum are by Zou and Donner (Statistics in Medicine 27, 2008). The sum is kept on `scale`.

    Raises BadParameter for lists of different lengths, and for what `mean_interval` refuses.
    """
    if len(people) != len(judge):
        raise BadParameter(f"{len(people)} scores by people and {len(judge)} by the judge; give both for each sample")
    method = "difference estimator"
    if not people:
        return Interval(None, None, None, method)
    low, high = scale
    share = len(rest) / (len(people) + len(rest))
    differences = [one - share * other for one, other in zip(people, judge, strict=True)]
    spread = (low - share * high, high - share * low)
    drawn = _part(mean_interval(differences, scale=spread, clusters=clusters, confidence=confidence))
    others = _part(mean_interval(rest, scale=scale, clusters=rest_clusters, confidence=confidence), share)
    value = drawn[0] + others[0]
    below, above = hypot(drawn[1], others[1]), hypot(drawn[2], others[2])
    kept, lowest, highest = (min(max(one, low), high) for one in (value, value - below, value + above))
    return Interval(kept, lowest, highest, method)


def _part(interval: Interval, weight: float = 1.0) -> tuple[float, float, float]:
    """A weighted mean, and how far its interval reaches below and above it; nothing where there is no sample."""
    if interval.value is None or interval.low is None or interval.high is None:
        return 0.0, 0.0, 0.0
    return weight * interval.value, weight * (interval.value - interval.low), weight * (interval.high - interval.value)
