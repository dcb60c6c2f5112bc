"""Summaries of samples merge like the samples themselves."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.errors import BadParameter
from ragauge.scores import F1Counts
from ragauge.statistics import intervals
from ragauge.statistics.intervals import (
    Interval,
    Summary,
    aggregate_interval,
    interval_of_aggregate,
    interval_of_groups,
    interval_of_mean,
    mean_interval,
)

clusters = st.sampled_from([None, None, "a", "b", "c"])
scores = st.tuples(st.tuples(st.floats(1, 5)), clusters)
counts = st.tuples(st.tuples(*[st.integers(0, 4).map(float)] * 3), clusters)
rows = st.one_of(st.lists(scores, max_size=30), st.lists(counts, max_size=30))

Rows = Sequence[tuple[tuple[float, ...], str | None]]


def summary(samples: Rows) -> Summary:
    """The summary of scores on 1..5, or of counts."""
    found = Summary((1.0, 5.0) if samples and len(samples[0][0]) == 1 else None)
    for row, cluster in samples:
        found.add(row, cluster)
    return found


def merged(*parts: Summary) -> Summary:
    """Copies of the parts, merged from left to right."""
    copies: list[Summary] = [pickle.loads(pickle.dumps(part)) for part in parts]
    first, *rest = copies
    for other in rest:
        first.merge(other)
    return first


def interval(found: Summary) -> Interval:
    """The mean or the pooled F1."""
    if found.scale:
        return interval_of_mean(found)
    return interval_of_aggregate(found, lambda sums: F1Counts(*sums).value, resamples=50)


def same(one: Summary, other: Summary) -> None:
    """The two summaries give the same estimate, to 1e-9."""
    assert (one.n, one.clustered) == (other.n, other.clustered)
    a, b = interval(one), interval(other)
    assert a.method == b.method
    if a.value is None:
        assert b.value is None
        return
    assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=0, abs=1e-9)
    assert not one.scale or a.value == b.value


@given(rows, st.integers(0, 30), st.integers(0, 30), st.booleans())
def test_merging_is_associative_and_commutative(samples: Rows, i: int, j: int, bounded: bool) -> None:
    """Three parts in any order and grouping give what one summary gives, within the bounds and beyond them."""
    with pytest.MonkeyPatch.context() as patch:
        if bounded:
            patch.setattr(intervals, "EXACT", 4)
        patch.setattr(intervals, "BUFFER", 7)
        i, j = sorted((i, j))
        whole = summary(samples)
        parts = [summary(samples[:i]), summary(samples[i:j]), summary(samples[j:])]
        for part in parts:
            part.scale = whole.scale
        a, b, c = parts
        same(merged(a, b, c), whole)
        same(merged(a, merged(b, c)), whole)
        same(merged(c, a, b), whole)
        same(merged(b, c, a), whole)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_hundred_thousand_samples_in_blocks_are_exact(clustered: bool) -> None:
    """The summaries of 50 blocks give what the estimator gives for the list of 100,000 distinct scores."""
    values = np.random.default_rng(0).beta(8, 2, 100_000).tolist()
    names = [f"user {i % 30_000}" for i in range(len(values))] if clustered else [None] * len(values)
    blocks = []
    for start in range(0, len(values), 2000):
        block = Summary((0.0, 1.0))
        for value, name in zip(values[start : start + 2000], names[start : start + 2000], strict=True):
            block.add((value,), name)
        blocks.append(block)
    found = interval_of_mean(reduce(merged, reversed(blocks)))
    expected = mean_interval(values, clusters=names if clustered else None)
    assert found.value == expected.value
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0, abs=1e-9)


def test_beyond_the_bound_the_mean_is_exact_and_its_interval_within_half_a_step() -> None:
    """Of 150,000 distinct scores the value is the mean, the ends are those of all scores, and the size is bounded."""
    values = np.random.default_rng(1).beta(1, 30, 150_000).tolist()
    whole = Summary((0.0, 1.0))
    for value in values:
        whole.add((value,))
    assert len(whole.tables()[0]) <= intervals.STEPS + 1
    found = interval_of_mean(whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "EXACT", len(values))
        expected = mean_interval(values)
    assert found.value == expected.value
    half = 0.5 / intervals.STEPS
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0, abs=half)


@pytest.mark.parametrize("clustered", [False, True])
def test_beyond_the_bound_counts_and_clusters_keep_the_value_and_the_width(
    monkeypatch: pytest.MonkeyPatch, clustered: bool
) -> None:
    """With tables bounded to 2,000 rows the pooled value is the same, and its interval nearly."""
    random = np.random.default_rng(2)
    rows = random.poisson([80, 30, 20], (20_000, 3)).astype(float).tolist()
    names = [f"page {i // 2}" for i in range(len(rows))] if clustered else None

    def f1(sums: Sequence[float]) -> float | None:
        return F1Counts(*sums).value

    exact = aggregate_interval(rows, f1, clusters=names)
    monkeypatch.setattr(intervals, "EXACT", 2000)
    monkeypatch.setattr(intervals, "STEPS", 2000)
    bounded = aggregate_interval(rows, f1, clusters=names)
    assert bounded.value == pytest.approx(exact.value, abs=1e-12)
    assert exact.low is not None
    assert exact.high is not None
    added = 1 / 2000 if clustered else 0  # the additional sample is a larger cluster
    slack = 0.08 * (exact.high - exact.low) + added
    assert (bounded.low, bounded.high) == pytest.approx((exact.low, exact.high), rel=0, abs=slack)


def test_rows_of_different_lengths_are_rejected() -> None:
    """A sample with another number of counts than the samples before it is named."""
    found = Summary(None)
    found.add((1.0, 2.0))
    with pytest.raises(BadParameter, match="a sample has 3 counts, others have 2"):
        found.add((1.0, 2.0, 3.0))


def test_values_of_joined_groups_are_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric with a value for each group has one up to the number of groups that a summary tells apart, then none."""

    def all_pass(sums: Sequence[float]) -> float:
        return float(sums[0] == sums[1])

    rows, groups = [(1, 1), (0, 1), (1, 1)], ["a", "a", "b"]
    monkeypatch.setattr(intervals, "EXACT", 2)
    found, samples = interval_of_groups(Summary.of(rows, groups, None), all_pass)
    assert (found.value, samples) == (0.5, 3)
    monkeypatch.setattr(intervals, "EXACT", 1)
    assert interval_of_groups(Summary.of(rows, groups, None), all_pass)[0].value is None
