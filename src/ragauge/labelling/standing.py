"""What people's labels come to for one metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ragauge.labelling.agreement import Agreement
from ragauge.scores import Better, Estimate
from ragauge.statistics.agreement import corrected_mean
from ragauge.statistics.intervals import Interval, mean_interval


class Standing(msgspec.Struct, frozen=True):
    """A metric as the judge scores it, and as people's labels correct it; the two are never mixed.

    judge: the mean of the judge's scores over the samples that have one. corrected: what people would give all of them,
    by the samples that were drawn at random and answered in full; its ends are None where there is none.
    samples: how many the judge scored. labelled: in how many people labelled something, for whatever reason.
    drawn: how many chance drew and people answered in full; counted: those of them with a score by both.
    agreement: of judge and people on what was drawn at random, by kind of question.
    """

    better: Better
    judge: Interval
    corrected: Interval
    samples: int
    labelled: int
    drawn: int
    counted: int
    agreement: tuple[Agreement, ...]


def standing(
    estimate: Estimate,
    scale: tuple[float, float],
    by_judge: Sequence[float | None],
    by_people: Mapping[int, float],
    groups: Sequence[str | None],
    labelled: int,
    drawn: int,
    agreement: Sequence[Agreement],
    peopled: bool,
) -> Standing:
    """by_judge: the judge's score of each sample, None for none. by_people: people's, of those drawn, by position.

    estimate: of the run, which is the judge's unless the run was `peopled`: made with people's labels.
    """
    scores = {at: value for at, value in enumerate(by_judge) if value is not None}
    rest = [at for at in scores if at not in by_people]
    corrected = corrected_mean(
        list(by_people.values()),
        [scores[at] for at in by_people],
        [scores[at] for at in rest],
        scale=scale,
        clusters=_clusters(by_people, groups),
        rest_clusters=_clusters(rest, groups),
    )
    judge = Interval(estimate.value, estimate.low, estimate.high, estimate.method)
    if peopled:
        judge = mean_interval(list(scores.values()), scale=scale, clusters=_clusters(scores, groups))
    return Standing(estimate.better, judge, corrected, len(scores), labelled, drawn, len(by_people), tuple(agreement))


def _clusters(positions: Mapping[int, float] | Sequence[int], groups: Sequence[str | None]) -> list[str | None] | None:
    found = [groups[at] for at in positions]
    return found if any(group is not None for group in found) else None
