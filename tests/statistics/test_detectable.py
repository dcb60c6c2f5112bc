"""The smallest difference that a comparison would find."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from ragauge.statistics.paired import detectable, paired_mean


def test_the_detectable_difference_is_found_four_times_in_five() -> None:
    """A true difference of that size comes to p < 0.05 in about 80 of 100 comparisons of that size."""
    chance = np.random.default_rng(0)
    size = detectable(chance.normal(0, 0.2, 20_000).tolist())
    assert size is not None
    size *= (20_000 / 60) ** 0.5
    found = [paired_mean(chance.normal(size, 0.2, 60).clip(-1, 1).tolist(), resamples=400) for _ in range(200)]
    assert 0.7 <= fmean(one.p is not None and one.p < 0.05 for one in found) <= 0.9


def test_the_detectable_difference_shrinks_with_the_root_of_n() -> None:
    """Four times the samples detect half the difference, nearly; copies within clusters detect no more."""
    differences = [0.5, -0.25, 0.1, 0.0, 0.4, -0.3, 0.2, 0.05] * 5
    one, four = detectable(differences), detectable(differences * 4)
    copies = detectable(differences * 4, clusters=[str(at) for at in range(40)] * 4)
    assert one is not None
    assert four == pytest.approx(one / 2, rel=0.02)
    assert copies == pytest.approx(one)


@pytest.mark.parametrize("differences", [[], [0.5], [0.1, 0.2, 0.3, 0.4, 0.5], [0.5] * 20, [0.0] * 20 + [1.0] * 5])
def test_what_is_detectable_cannot_always_be_told(differences: list[float]) -> None:
    """None where fewer than six samples differ, and where all differ by the same."""
    assert detectable(differences) is None
