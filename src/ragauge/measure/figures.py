"""Figures of agreement: what a judge said of labelled cases, held against what people said."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ragauge.measure.outcomes import Outcome
from ragauge.measure.sets import Case
from ragauge.statistics.agreement import METHOD, auc, balanced_accuracy, group_difference, group_interval, spearman
from ragauge.statistics.intervals import Interval
from ragauge.statistics.paired import holm

if TYPE_CHECKING:
    from ragauge.statistics.agreement import Statistic

#: What counts as significant: the chance of any false alarm among all sets.
LEVEL = 0.05


class Against(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two judges on the rows of a set that both answered.

    rows: how many. by: "auc", or "balanced_accuracy" where one of them tells no probabilities, or "f1" for claims. one,
    other: that figure of the measured judge and of the other. difference: one less the other, with its 95 % interval.
    p: two-sided, of there being none; p_adjusted: by Holm over all sets, None until `adjusted`.
    """

    rows: int
    by: str
    one: float
    other: float
    difference: Interval
    p: float
    p_adjusted: float | None = None

    @property
    def verdict(self) -> str:
        """What the measured judge is: "better", "worse" or "not told apart".

        It is told apart where p_adjusted, or p where there is none, is below 0.05 and the interval leaves 0 out.
        """
        low, high = self.difference.low, self.difference.high
        p = self.p if self.p_adjusted is None else self.p_adjusted
        if p >= LEVEL or low is None or high is None or low <= 0 <= high:
            return "not told apart"
        return "better" if low > 0 else "worse"


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """A judge on one set.

    rows: cases with an answer. failed: cases without one; failure: the first reason. auc: of its probabilities or
    grades, None where some answer has none. balanced_accuracy: of its labels. words: the AUC of the share of words that
    occur in the text, on the same rows, None where there is no second text. correlation: Spearman's, of its grades with
    people's. f1: of claims, the mean over texts; sentences: that of whole sentences on the same texts. Each has its
    95 % interval, and is None where it is undefined. against: the same rows by another judge. seconds: the judge's own
    time. note: why it has no figures.
    """

    name: str
    rows: int = 0
    failed: int = 0
    auc: Interval | None = None
    balanced_accuracy: Interval | None = None
    words: Interval | None = None
    correlation: Interval | None = None
    f1: Interval | None = None
    sentences: Interval | None = None
    against: Against | None = None
    seconds: float = 0.0
    note: str = ""
    failure: str = ""


def measured(name: str, cases: Sequence[Case], outcomes: Sequence[Outcome | None]) -> Measured:
    """The figures of one set. outcomes: what the judge says of each case, None where an answer is missing."""
    pairs = [(case, outcome) for case, outcome in zip(cases, outcomes, strict=True) if outcome is not None]
    kept, told = [case for case, _ in pairs], [outcome for _, outcome in pairs]
    labels, groups = [case.label for case in kept], [case.group for case in kept]
    chances, words, grades = _chances(told), _known([case.words for case in kept]), _known([c.grade for c in kept])
    return Measured(
        name,
        rows=len(pairs),
        failed=len(cases) - len(pairs),
        auc=figure(labels, chances, groups, auc),
        balanced_accuracy=figure(labels, _said(told), groups, balanced_accuracy),
        words=figure(labels, words, groups, auc),
        correlation=figure(grades, chances, groups, spearman) if grades else None,
    )


def figure(
    labels: Sequence[float], scores: Sequence[float] | None, groups: Sequence[Hashable], statistic: Statistic
) -> Interval | None:
    """A figure with its 95 % interval by resampling groups; None without scores, and where it is undefined."""
    import numpy as np

    value = None if scores is None else statistic(np.asarray(labels, dtype=float), np.asarray(scores, dtype=float))
    if value is None or scores is None:
        return None
    low, high = group_interval(labels, scores, groups, statistic) or (None, None)
    return Interval(value, low, high, METHOD)


def against(cases: Sequence[Case], one: Sequence[Outcome | None], other: Sequence[Outcome | None]) -> Against | None:
    """What two judges say of the same cases, compared; None where a figure is undefined."""
    both = [(case, a, b) for case, a, b in zip(cases, one, other, strict=True) if a is not None and b is not None]
    labels, groups = [case.label for case, _, _ in both], [case.group for case, _, _ in both]
    ours, theirs = [a for _, a, _ in both], [b for _, _, b in both]
    a, b = _chances(ours), _chances(theirs)
    if a is not None and b is not None:
        return _compared("auc", auc, labels, a, b, groups)
    return _compared("balanced_accuracy", balanced_accuracy, labels, _said(ours), _said(theirs), groups)


def _compared(
    by: str,
    statistic: Statistic,
    labels: Sequence[float],
    one: Sequence[float],
    other: Sequence[float],
    groups: Sequence[Hashable],
) -> Against | None:
    import numpy as np

    truth = np.asarray(labels, dtype=float)
    a, b = (statistic(truth, np.asarray(scores, dtype=float)) for scores in (one, other))
    found = group_difference(labels, one, other, groups, statistic)
    if a is None or b is None or found.p is None:
        return None
    return Against(len(labels), by, a, b, found.interval, found.p)


def adjusted(results: Sequence[Measured]) -> list[Measured]:
    """The results with the p-values of all comparisons adjusted (Holm), so that verdicts are of all sets together."""
    tested = {one.name: one.against for one in results if one.against is not None}
    p = holm({name: found.p for name, found in tested.items()})
    return [_with(one, p) for one in results]


def _with(one: Measured, p: Mapping[str, float]) -> Measured:
    if one.against is None:
        return one
    return msgspec.structs.replace(one, against=msgspec.structs.replace(one.against, p_adjusted=p[one.name]))


def _chances(outcomes: Sequence[Outcome]) -> list[float] | None:
    return _known([outcome.probability for outcome in outcomes])


def _said(outcomes: Sequence[Outcome]) -> list[float]:
    return [float(outcome.said) for outcome in outcomes]


def _known(values: Sequence[float | None]) -> list[float] | None:
    """The values, None where one is missing or there are none."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None
