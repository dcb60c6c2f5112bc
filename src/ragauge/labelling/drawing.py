"""Drawing: which sample a person is given next, now at random and now where a label teaches most."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

import msgspec

from ragauge.labelling.said import Said
from ragauge.labelling.survey import Survey


class Draw(msgspec.Struct, frozen=True):
    """A sample to be labelled: its position in the run, and whether chance alone chose it."""

    position: int
    at_random: bool


def order(data_hash: str, size: int) -> list[int]:
    """The positions of a run in the order in which chance draws them: the same for all runs over the same data."""
    positions = list(range(size))
    random.Random(data_hash).shuffle(positions)
    return positions


def reached(survey: Survey, metric: str, said: Said, positions: Sequence[int]) -> list[int]:
    """The samples that chance has come to so far, whether people answered all that the metric counts there or not.

    positions: as `order` gives them. What has its labels for another reason, because it was thought to teach much or
    asks the very same as another sample, is among them once chance has come to it, or all is labelled.
    """
    seen: set[str] = set()
    last = -1
    judged = [at for at in positions if survey.rows[at].keys_of(metric)]
    for rank, position in enumerate(judged):
        keys = survey.rows[position].keys_of(metric)
        if any(key in said.chance and key not in seen for key in keys):
            last = rank
        seen.update(keys)
    return judged if all(key in said.blind for key in seen) else judged[: last + 1]


def answered(survey: Survey, metric: str, said: Said, positions: Sequence[int]) -> list[int]:
    """Those of the samples of which people answered blind all that the metric counts."""
    return [at for at in positions if all(key in said.blind for key in survey.rows[at].keys_of(metric))]


def draw(
    survey: Survey, metric: str, said: Said, positions: Sequence[int], passed: Collection[int] = ()
) -> Draw | None:
    """The next sample to label for a metric, None where all is labelled.

    Every other sample is the next that chance draws; the ones between are those where one label is expected to settle
    most of the score. passed: samples that the person has passed over.
    """
    keys = {at: found for at in positions if (found := survey.rows[at].keys_of(metric))}
    left = [at for at in keys if at not in passed and not all(key in said.blind for key in keys[at])]
    if not left:
        return None
    telling = max(left[1:], key=lambda at: survey.rows[at].yield_of(metric), default=None)
    by_chance = len(answered(survey, metric, said, reached(survey, metric, said, positions)))
    labelled = len(answered(survey, metric, said, list(keys)))
    if telling is None or by_chance <= labelled - by_chance:
        return Draw(left[0], True)
    return Draw(telling, False)
