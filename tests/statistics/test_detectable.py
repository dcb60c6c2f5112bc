"""The smallest difference that a comparison would find."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.errors import BadParameter
from ragauge.statistics.paired import detectable, fewest_differing, holm, paired_mean


@pytest.mark.parametrize(
    ("units", "tests", "per_unit"), [(6, 1, 1), (8, 6, 1), (12, 1, 1), (12, 6, 3), (48, 1, 1), (48, 6, 1)]
)
def test_the_detectable_difference_is_found_four_times_in_five(units: int, tests: int, per_unit: int) -> None:
    """A true difference of that size, in one metric of several, is shown in about 80 of 100 comparisons like it."""
    chance = np.random.default_rng(0)
    clusters = [str(unit) for unit in range(units)] * per_unit if per_unit > 1 else None

    def sample(spread: np.ndarray, mean: float = 0.0) -> list[float]:
        return [float(value) for value in np.tile(spread, per_unit) + mean]

    noise = chance.normal(0, 1, units)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * 0.1
    size = detectable(sample(noise), clusters=clusters, tests=tests)
    assert size is not None
    shown = []
    for _ in range(400):
        means = [size] + [0.0] * (tests - 1)
        drawn = [sample(chance.normal(0, 0.1, units), mean) for mean in means]
        p_values = [paired_mean(values, clusters=clusters, resamples=2000).p for values in drawn]
        shown.append(holm({str(test): p for test, p in enumerate(p_values) if p is not None})["0"] < 0.05)
    assert 0.74 <= fmean(shown) <= 0.86


def test_the_detectable_difference_shrinks_with_the_root_of_n() -> None:
    """Four times the samples detect half the difference, nearly; copies within clusters detect no more."""
    differences = [0.5, -0.25, 0.1, 0.0, 0.4, -0.3, 0.2, 0.05] * 5
    one, four = detectable(differences), detectable(differences * 4)
    copies = detectable(differences * 4, clusters=[str(at) for at in range(40)] * 4)
    assert one is not None
    assert four == pytest.approx(one / 2, rel=0.04)
    assert copies == pytest.approx(one)


@pytest.mark.parametrize("differences", [[], [0.5], [0.1, 0.2, 0.3, 0.4, 0.5], [0.5] * 20, [0.0] * 20 + [1.0] * 5])
def test_what_is_detectable_cannot_always_be_told(differences: list[float]) -> None:
    """None where fewer than six samples differ, and where all differ by the same."""
    assert detectable(differences) is None


def test_no_test_is_no_number_of_tests() -> None:
    """A number of tests below 1 is an error."""
    with pytest.raises(BadParameter, match="tests=0 must be at least 1"):
        detectable([0.1] * 8, tests=0)


@given(st.integers(1, 100))
def test_more_tests_need_more_samples_that_differ(tests: int) -> None:
    """One of so many tests can reach its level where as many samples differ as are needed, and with one fewer not."""
    fewest = fewest_differing(0.05 / tests)
    most, fewer = (paired_mean([0.05 * n for n in range(1, count + 1)]).p for count in (fewest, fewest - 1))
    assert most is not None
    assert fewer is not None
    assert most < 0.05 / tests <= fewer
    assert detectable([0.01 * n for n in range(1, fewest)], tests=tests) is None
    assert detectable([0.01 * n for n in range(1, fewest + 1)], tests=tests) is not None
