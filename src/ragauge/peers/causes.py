"""Why two numbers for one row differ."""

from __future__ import annotations

from math import floor

from ragauge.peers.columns import Column
from ragauge.peers.figures import Scale, closeness, on
from ragauge.report.explaining import is_share
from ragauge.scores import ScoreRecord

#: cause -> what it means, in the order in which reports have them.
CAUSES = {
    "undefined_here": "nothing to count here, a number there",
    "failed_here": "no answer of the judge here, a number there",
    "missing_there": "a number here, none there (NaN, empty or an error)",
    "scale": "their number is off our scale",
    "definition": "another definition",
    "pieces": "other claims: their number is no share of as many pieces as were found here",
    "verdicts": "other verdicts or other claims",
    "numbers": "other numbers, with no verdicts behind ours",
}

#: How exact a peer's numbers are at least, and up to how many pieces that tells one number of pieces from another.
_EXACT, _FEW = 0.005, 50


def cause_of(theirs: float | None, ours: ScoreRecord, column: Column, scale: Scale, of_theirs: Scale) -> str | None:
    """The cause of a difference, None where there is none. scale: of ours; of_theirs: of theirs, as converted."""
    if theirs is None or ours.value is None:
        return _one_sided(theirs, ours)
    if not on(theirs, of_theirs):
        return "scale"
    if abs(theirs - ours.value) <= closeness(scale):
        return None
    if column.differs:
        return "definition"
    if not ours.evidence:
        return "numbers"
    return "verdicts" if _could_be_of_as_many(theirs, ours) else "pieces"


def _one_sided(theirs: float | None, ours: ScoreRecord) -> str | None:
    if ours.value is not None:
        return "missing_there"
    if theirs is None:
        return None
    return "failed_here" if ours.failed else "undefined_here"


def _could_be_of_as_many(value: float, ours: ScoreRecord) -> bool:
    """Whether a number can be a share of as many pieces as ours is a share of, as exactly as numbers are written."""
    if not is_share(ours) or ours.counts[1] > _FEW:
        return True
    nearest = floor(value * ours.counts[1] + 0.5) / ours.counts[1]
    return abs(value - nearest) <= _EXACT
