"""Differences of metrics between two runs: tested, adjusted for their number, and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ragauge.analysis.pairing import Cells
from ragauge.analysis.preference import Preferred
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.report.text import rich_table
from ragauge.report.wording import arrow, number, p_value, signed
from ragauge.scores import Better
from ragauge.statistics.intervals import Clusters, CountFunction, Interval, count_rows, sums_by_cluster
from ragauge.statistics.paired import CONFIDENCE, Paired, detectable, holm, paired_aggregate, paired_mean

if TYPE_CHECKING:
    from rich.table import Table


#: The significance level of adjusted p-values: the chance of any false positive among all that is compared.
LEVEL = 0.05


def is_significant(p: float | None, low: float | None, high: float | None) -> bool:
    """Whether an adjusted p-value is below 0.05 and the interval of the difference excludes 0."""
    return p is not None and p < LEVEL and low is not None and high is not None and not low <= 0 <= high


class Missing(msgspec.Struct, frozen=True):
    """The samples without a value in each run. p: for being undefined equally often; p_adjusted: by Holm."""

    undefined_a: int
    undefined_b: int
    failed_a: int
    failed_b: int
    p: float | None
    p_adjusted: float | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A metric in two runs, over the n samples in which it has a value in both; None where a value is undefined.

    difference: b - a with its 95 % interval. p: two-sided, for no difference; p_adjusted: by Holm over all compared
    metrics. low_adjusted, high_adjusted: the interval that agrees with p_adjusted, which excludes 0 where b is better
    or worse, and contains it elsewhere. wins, ties, losses: the number of samples on which b is better, equal, worse.
    detectable: the smallest true difference that n samples would show in 80 of 100 comparisons. The last four are None
    for a metric over the data set.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    method: str
    p: float | None
    p_adjusted: float | None = None
    better: Better
    n: int
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    detectable: float | None = None
    missing: Missing
    low_adjusted: float | None = None
    high_adjusted: float | None = None

    @property
    def verdict(self) -> str:
        """Whether b is significantly "better" or "worse", else ""; see `is_significant`."""
        if not is_significant(self.p_adjusted, self.low, self.high):
            return ""
        assert self.low is not None
        return "better" if (self.low > 0) == (self.better == "higher") else "worse"


#: The columns. p: adjusted. +/=/−: the number of samples on which B is better, equal, worse; their sum is n. can
#: detect: the smallest true difference that n samples would show in 80 of 100 comparisons.
HEAD = ("metric", "A", "B", "B − A", "95 % interval", "p", "+/=/−", "B is", "can detect")


#: The columns that a narrow terminal drops, in this order.
SPARED = ("can detect", "+/=/−", "A")


_STYLES = {"better": "green", "worse": "red", "": None}


def differences_table(differences: Mapping[str, Difference], width: int, heads: Sequence[str] = HEAD) -> Table:
    """The differences, without the columns in SPARED that do not fit, at three spaces between columns."""
    rows = [dict(zip(HEAD, difference_cells(key, one), strict=True)) for key, one in differences.items()]
    heads, spared = list(heads), [head for head in SPARED if head in heads]
    while spared and sum(3 + max(map(len, (name, *(row[name] for row in rows)))) for name in heads) > width:
        heads.remove(spared.pop(0))
    styles = [_STYLES[one.verdict] for one in differences.values()]
    return rich_table(heads, ([row[name] for name in heads] for row in rows), left=("metric", "B is"), styles=styles)


def difference_cells(key: str, one: Difference) -> list[str]:
    """A row of the table, in the order of HEAD."""
    interval = "–" if one.low_adjusted is None else f"[{signed(one.low_adjusted)}, {signed(one.high_adjusted)}]"
    won = f"n {one.n}" if one.wins is None else f"{one.wins}/{one.ties}/{one.losses}"
    return [
        *(f"{key} {arrow(one.better)}", number(one.a), number(one.b), signed(one.difference), interval),
        *(p_value(one.p_adjusted), won, one.verdict, number(one.detectable)),
    ]


def compared(
    keys: Iterable[str],
    cells_of: Callable[[str], Cells],
    groups: Clusters,
    measures: Mapping[str, Measure],
    better: Mapping[str, Better],
) -> dict[str, Difference]:
    """The differences of several values, adjusted for their number."""

    def paired_values(key: str) -> tuple[Cells, Clusters, Measure | None]:
        cells, measure = cells_of(key), measures.get(key)
        if isinstance(measure, DatasetMetric) and measure.by_group:
            return _of_groups(cells, groups, measure.total), None, measure
        return cells, groups, measure

    alone = {key: _difference(*paired_values(key), better[key]) for key in keys}
    return _adjusted_intervals(adjusted(alone), lambda key, confidence: _tested(*paired_values(key), confidence))


def halved(preferred: Iterable[Preferred]) -> Cells:
    """Preferences as values of two runs: half of each counts for either, so that the difference is the preference."""
    return [(-value / 2, value / 2) if isinstance(value, float) else (value, value) for value in preferred]


def of_pairs(difference: Difference) -> Difference:
    """A difference of preferences, of which neither run has a value alone."""
    return msgspec.structs.replace(difference, a=None, b=None)


T = TypeVar("T")


#: Values that differ by no more than this count as ties.
EQUAL = 1e-9


def _of_groups(cells: Cells, groups: Clusters, total: CountFunction) -> Cells:
    """The value of each group in the two runs, for a metric that has one for each."""
    firsts, seconds, clusters = _both(cells, groups, tuple)
    if not firsts:
        return []
    first, second = (sums_by_cluster(count_rows(rows), clusters).tolist() for rows in (firsts, seconds))
    pairs = (map(total, sums) for sums in zip(first, second, strict=True))
    return [tuple("undefined" if value is None else value for value in pair) for pair in pairs]  # type: ignore[misc]


def _tested(cells: Cells, groups: Clusters, measure: Measure | None, confidence: float = CONFIDENCE) -> Paired:
    """The difference of one metric with its interval and unadjusted p-value. measure: None for a custom metric."""
    if isinstance(measure, DatasetMetric) and not measure.by_group:
        sums, others, clusters = _both(cells, groups, tuple)
        scale, total = measure.scale, measure.total
        return paired_aggregate(sums, others, total, scale=scale, clusters=clusters, confidence=confidence)
    firsts, seconds, clusters = _both(cells, groups, float)
    # the scale of a custom metric is 0 to 1, or wider if its values are
    low, high = measure.scale if measure else (min([0.0, *firsts, *seconds]), max([1.0, *firsts, *seconds]))
    apart = [other - one for one, other in zip(firsts, seconds, strict=True)]
    return paired_mean(apart, scale=(low - high, high - low), clusters=clusters, confidence=confidence)


def _difference(cells: Cells, groups: Clusters, measure: Measure | None, better: Better) -> Difference:
    """The difference of one metric, not adjusted for others. measure: None for a custom metric."""
    found = _tested(cells, groups, measure)
    counts: dict[str, Any] = {}
    if isinstance(measure, DatasetMetric) and not measure.by_group:
        sums, others, _ = _both(cells, groups, tuple)
        n, totals = len(sums), [[fsum(column) for column in zip(*one, strict=True)] for one in (sums, others)]
        values = [measure.total(one) if n else None for one in totals]
    else:
        firsts, seconds, clusters = _both(cells, groups, float)
        n, apart = len(firsts), [other - one for one, other in zip(firsts, seconds, strict=True)]
        values = [fsum(one) / n if n else None for one in (firsts, seconds)]
        rises, falls = sum(one > EQUAL for one in apart), sum(-one > EQUAL for one in apart)
        wins, losses = (rises, falls) if better == "higher" else (falls, rises)
        counts = {"wins": wins, "ties": n - wins - losses, "losses": losses}
        counts["detectable"] = detectable(apart, clusters=clusters)
    return Difference(
        a=values[0],
        b=values[1],
        difference=found.interval.value,
        low=found.interval.low,
        high=found.interval.high,
        method=found.interval.method,
        p=found.p,
        better=better,
        n=n,
        missing=_missing(cells, groups),
        **counts,
    )


def _both(cells: Cells, groups: Clusters, kind: type[T]) -> tuple[list[T], list[T], Clusters]:
    """The cells of the samples with a number (or counts) in both runs, and the groups of those samples."""
    there = [
        (at, one, other) for at, (one, other) in enumerate(cells) if isinstance(one, kind) and isinstance(other, kind)
    ]
    clusters = None if groups is None else [groups[at] for at, _, _ in there]
    return [one for _, one, _ in there], [other for _, _, other in there], clusters


def _missing(cells: Cells, groups: Clusters) -> Missing:
    """The samples without a value in each run, and whether one run is undefined more often."""
    counts = {
        f"{why}_{name}": sum(pair[at] == why for pair in cells)
        for why in ("undefined", "failed")
        for at, name in enumerate("ab")
    }
    apart = [float((other == "undefined") - (one == "undefined")) for one, other in cells]
    return Missing(**counts, p=paired_mean(apart, clusters=groups).p if any(apart) else None)


def adjusted(found: Mapping[str, Difference]) -> dict[str, Difference]:
    """The differences with adjusted p-values; those of missing values are adjusted separately."""
    of_values = holm({key: one.p for key, one in found.items() if one.p is not None})
    of_missing = holm({key: one.missing.p for key, one in found.items() if one.missing.p is not None})
    return {
        key: msgspec.structs.replace(
            one,
            p_adjusted=of_values.get(key),
            missing=msgspec.structs.replace(one.missing, p_adjusted=of_missing.get(key)),
        )
        for key, one in found.items()
    }


def _adjusted_intervals(
    differences: Mapping[str, Difference], tested: Callable[[str, float], Paired]
) -> dict[str, Difference]:
    """The differences with intervals that agree with the verdicts: those of the values that Holm's test does not decide
    have a confidence of 95 % together (Strassburger and Bretz 2008). tested: of a metric, at a confidence.
    """
    undecided = sum(not one.verdict for one in differences.values() if one.p is not None)
    confidence = 1 - LEVEL / max(1, undecided)
    return {
        key: _adjusted_interval(one, tested(key, confidence).interval if undecided > 1 else None)
        for key, one in differences.items()
    }


def _adjusted_interval(one: Difference, wider: Interval | None) -> Difference:
    """The difference with its adjusted interval: one that excludes 0 if it is significant, and else contains it."""
    low, high = (wider.low, wider.high) if wider else (one.low, one.high)
    if low is None or high is None:
        return one
    if one.verdict and low <= 0 <= high:
        low, high = one.low, one.high
    elif not one.verdict:
        low, high = min(low, 0.0), max(high, 0.0)
    return msgspec.structs.replace(one, low_adjusted=low, high_adjusted=high)
