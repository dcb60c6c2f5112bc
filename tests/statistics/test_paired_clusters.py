"""Paired differences of samples that belong together."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistics.signs import FEW, MANY, SHARES, ends, p_by_signs, pooled

from ragauge.statistics.paired import paired_aggregate, paired_mean

GROUPED = st.lists(st.tuples(SHARES, st.sampled_from("abcdefgh")), min_size=1, max_size=16)


@given(MANY)
def test_every_sample_its_own_cluster(differences: list[float]) -> None:
    """Clusters of one sample, named or None, are no clusters."""
    expected = paired_mean(differences, resamples=200)
    for names in ([str(at) for at in range(len(differences))], [None] * len(differences)):
        found = paired_mean(differences, clusters=names, resamples=200)
        assert found.p == expected.p
        assert ends(found) == pytest.approx(ends(expected), abs=1e-9)


@given(FEW, st.integers(2, 4))
def test_copies_in_a_cluster_add_nothing(differences: list[float], copies: int) -> None:
    """Clusters of equal size whose samples are copies tell as much as the samples without copies."""
    names = [str(at) for at in range(len(differences))] * copies
    found, expected = paired_mean(differences * copies, clusters=names), paired_mean(differences)
    assert found.p == expected.p
    assert ends(found) == pytest.approx(ends(expected), abs=1e-9)


@given(GROUPED)
def test_the_samples_of_a_cluster_change_sign_together(rows: list[tuple[float, str]]) -> None:
    """With clusters p is the share of all ways to swap the systems on whole clusters."""
    differences, clusters = zip(*rows, strict=True)
    sums = [sum(one for one, name in rows if name == cluster) for cluster in sorted(set(clusters))]
    found = paired_mean(differences, clusters=clusters)
    assert found.p == pytest.approx(p_by_signs(sums), abs=1e-12)
    assert found.interval.method in ("halves of clusters", "Gaffke over clusters")
    assert found.interval.value == pytest.approx(fmean(differences))


@given(GROUPED, st.randoms(use_true_random=False))
def test_clusters_in_another_order(rows: list[tuple[float, str]], random: Any) -> None:
    """Permuted samples with their clusters give the same p, and the same interval but for rounding."""
    permuted = list(rows)
    random.shuffle(permuted)
    found, again = (
        paired_mean([one for one, _ in each], clusters=[name for _, name in each]) for each in (rows, permuted)
    )
    assert found.p == again.p
    assert ends(found) == pytest.approx(ends(again), abs=1e-12)


def test_clusters_widen() -> None:
    """Samples that agree within documents say less than independent ones."""
    chance = np.random.default_rng(0)
    shared = chance.normal(0.05, 0.2, 20)
    differences = (np.repeat(shared, 5) + chance.normal(0, 0.02, 100)).clip(-1, 1).tolist()
    low, high = ends(paired_mean(differences, clusters=[str(at // 5) for at in range(100)]))
    low_alone, high_alone = ends(paired_mean(differences))
    assert low < low_alone < high_alone < high


def test_clusters_widen_over_the_data_set() -> None:
    """Counts that agree within documents say less than independent ones."""
    first = [(1, 4)] * 30 + [(2, 4)] * 30
    second = [(2, 4)] * 30 + [(1, 4)] * 20 + [(4, 4)] * 10
    clustered = paired_aggregate(first, second, pooled, clusters=[str(at // 5) for at in range(60)])
    alone = paired_aggregate(first, second, pooled)
    assert clustered.interval.method == "halves of clusters"
    assert clustered.interval.value == alone.interval.value
    assert ends(clustered)[0] < ends(alone)[0] < ends(alone)[1] < ends(clustered)[1]
