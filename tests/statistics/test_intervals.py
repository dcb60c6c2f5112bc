from __future__ import annotations

import os
import subprocess
import sys
from math import isfinite

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import BadParameter
from ragauge.statistics.intervals import Interval, aggregate_interval, difference_interval, mean_interval

shares = st.integers(1, 6).flatmap(lambda total: st.integers(0, total).map(lambda hits: hits / total))
scores = st.lists(st.one_of(shares, st.floats(0, 1)), min_size=1, max_size=40)


def ends(interval: Interval) -> tuple[float, float]:
    """The low and the high end, which must be there."""
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def test_nothing_scored_has_no_number() -> None:
    """Without a sample the value and both ends are None."""
    assert mean_interval([]) == Interval(None, None, None, "Gaffke")


@given(scores, st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_contains_the_mean_within_the_scale(values: list[float], confidence: float) -> None:
    """0 <= low <= mean <= high <= 1, all finite, and low < high."""
    interval = mean_interval(values, confidence=confidence)
    low, high = ends(interval)
    assert interval.value == pytest.approx(sum(values) / len(values))
    assert all(map(isfinite, (low, high)))
    assert interval.value is not None
    assert 0 <= low <= interval.value <= high <= 1
    assert low < high


@given(st.floats(0, 1), st.integers(1, 400))
def test_equal_scores_have_a_width(value: float, n: int) -> None:
    """All-equal scores, one score among them, leave room for an unseen worse and an unseen better sample."""
    low, high = ends(mean_interval([value] * n))
    room = 1 - 0.025 ** (1 / n)
    assert low == pytest.approx(value * (1 - room), abs=0.003)
    assert 1 - high == pytest.approx((1 - value) * (1 - room), abs=0.003)


@given(scores, st.floats(-0.02, 0.02), st.randoms(use_true_random=False))
def test_close_data_have_close_ends(values: list[float], most: float, random: object) -> None:
    """The ends move no further than the scores do: there is no jump from equal to almost equal scores."""
    moved = [min(1.0, max(0.0, value + random.uniform(-1, 1) * most)) for value in values]  # type: ignore[attr-defined]
    furthest = max(abs(a - b) for a, b in zip(values, moved, strict=True))
    for before, after in zip(ends(mean_interval(values)), ends(mean_interval(moved)), strict=True):
        assert abs(before - after) <= 1.1 * furthest + 1e-9


@given(scores, st.data())
def test_a_better_score_never_lowers_an_end(values: list[float], data: st.DataObject) -> None:
    """Raising one score raises both ends, or leaves them."""
    at = data.draw(st.integers(0, len(values) - 1))
    better = [*values[:at], data.draw(st.floats(values[at], 1)), *values[at + 1 :]]
    for before, after in zip(ends(mean_interval(values)), ends(mean_interval(better)), strict=True):
        assert after >= before - 1e-9


@given(scores)
def test_more_of_the_same_is_narrower(values: list[float]) -> None:
    """Four times the same data give a narrower interval."""
    low, high = ends(mean_interval(values))
    low_of_more, high_of_more = ends(mean_interval(values * 4))
    assert high_of_more - low_of_more < high - low


@given(scores)
def test_more_confidence_is_wider(values: list[float]) -> None:
    """A 99 % interval contains the 95 % interval."""
    low, high = ends(mean_interval(values))
    low_99, high_99 = ends(mean_interval(values, confidence=0.99))
    assert low_99 <= low <= high <= high_99


@given(scores, st.randoms(use_true_random=False))
def test_order_does_not_matter(values: list[float], random: object) -> None:
    """Permuted samples give exactly the same interval."""
    permuted = list(values)
    random.shuffle(permuted)  # type: ignore[attr-defined]
    assert mean_interval(permuted) == mean_interval(values)


@given(scores)
def test_mirror(values: list[float]) -> None:
    """The interval of 1 - x is the mirror image of that of x."""
    low, high = ends(mean_interval(values))
    assert ends(mean_interval([1 - value for value in values])) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(scores, st.floats(-5, 5), st.floats(0.1, 10))
def test_change_of_scale(values: list[float], start: float, width: float) -> None:
    """Scores moved to another scale have their interval moved along."""
    moved = mean_interval([start + width * value for value in values], scale=(start, start + width))
    expected = [start + width * end for end in ends(mean_interval(values))]
    assert ends(moved) == pytest.approx(expected, abs=1e-8)


@given(scores)
def test_every_sample_its_own_cluster(values: list[float]) -> None:
    """Clusters of one sample, named or None, are no clusters."""
    expected = ends(mean_interval(values))
    assert ends(mean_interval(values, clusters=[str(at) for at in range(len(values))])) == pytest.approx(expected)
    assert ends(mean_interval(values, clusters=[None] * len(values))) == pytest.approx(expected)


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abcde")), min_size=1, max_size=30))
def test_clusters_keep_the_mean_and_the_scale(rows: list[tuple[float, str]]) -> None:
    """With clusters the value is still the mean over samples, inside an interval inside the scale."""
    values, clusters = zip(*rows, strict=True)
    interval = mean_interval(values, clusters=clusters)
    low, high = ends(interval)
    assert interval.value == mean_interval(values).value
    assert interval.method == "Gaffke over clusters"
    assert interval.value is not None
    assert 0 <= low <= interval.value <= high <= 1
    assert low < high


@given(scores, st.integers(2, 5))
def test_copies_in_a_cluster_add_nothing(values: list[float], copies: int) -> None:
    """Clusters of equal size whose samples are copies have the interval of the samples without copies."""
    clusters = [str(at) for at in range(len(values))] * copies
    assert ends(mean_interval(values * copies, clusters=clusters)) == pytest.approx(ends(mean_interval(values)))


def test_one_cluster_says_almost_nothing() -> None:
    """A hundred samples of one document are one draw."""
    low, high = ends(mean_interval([0.0, 1.0] * 50, clusters=["a"] * 100))
    assert (low, high) == pytest.approx(ends(mean_interval([0.5])))
    assert high - low > 0.9


def test_uneven_clusters_cover_the_truth() -> None:
    """Over seeded draws of 30 clusters, one in ten of 20 samples, the true mean is inside at least 93 % of the time."""
    chance = np.random.default_rng(12)
    covered = 0
    for _ in range(150):
        sizes = chance.choice([1, 20], p=[0.9, 0.1], size=30)
        yes = chance.random(sizes.sum()) < np.repeat(chance.beta(2, 1, 30), sizes)
        names = np.repeat(np.arange(30), sizes).astype(str).tolist()
        low, high = ends(mean_interval(yes.astype(float).tolist(), clusters=names))
        covered += low <= 2 / 3 <= high
    assert covered >= 0.93 * 150


@settings(max_examples=5)
@given(st.sampled_from([0.02, 0.1, 0.5, 0.9, 0.98]))
def test_covers_the_truth(p: float) -> None:
    """Over seeded draws of 30 yes/no scores the true mean is inside at least 93 % of the time."""
    chance = np.random.default_rng(0)
    hits = [mean_interval((chance.random(30) < p).astype(float).tolist()) for _ in range(300)]
    inside = [low <= p <= high for low, high in map(ends, hits)]
    assert sum(inside) >= 0.93 * len(inside)


@pytest.mark.parametrize(
    ("values", "given", "message"),
    [
        ([0.5, 1.5], {}, r"values\[1\] = 1.5 is not on the scale \(0.0, 1.0\)"),
        ([float("nan")], {}, r"values\[0\] = nan is not on the scale"),
        ([0.5], {"scale": (1.0, 1.0)}, "the lower first"),
        ([0.5], {"scale": (0.0, float("inf"))}, "two finite numbers"),
        ([0.5], {"confidence": 95}, "such as 0.95"),
        ([0.5], {"confidence": 1.0}, "below 1"),
        ([0.5, 0.5], {"clusters": ["a"]}, "1 clusters for 2 samples"),
    ],
)
def test_bad_input_is_named(values: list[float], given: dict[str, object], message: str) -> None:
    """A value off the scale, a wrong scale, confidence or number of clusters is an error that says how to fix it."""
    with pytest.raises(BadParameter, match=message):
        mean_interval(values, **given)  # type: ignore[arg-type]


def test_importing_the_statistics_does_not_load_numpy() -> None:
    """numpy is loaded when an interval is made, not before."""
    code = "import sys, ragauge.statistics.intervals; print('numpy' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("scale", [(-1e308, 1e308), (0, 1e308), (0, float("inf")), (float("nan"), 1)])
def test_a_scale_that_cannot_be_computed_with_is_refused(scale: tuple[float, float]) -> None:
    """Ends whose difference or sums exceed the largest number are refused rather than give NaN."""
    with pytest.raises(BadParameter, match="two finite numbers, the lower first, of 1e\\+300 at most"):
        mean_interval([0.5, 1.0], scale=scale)


def test_counts_that_cannot_be_added_are_refused() -> None:
    """Counts whose sum exceeds the largest number are refused."""
    with pytest.raises(BadParameter, match="negative or infinite counts"):
        aggregate_interval([[1e308, 1e308]] * 3, lambda sums: sums[0] / sums[1])


@pytest.mark.parametrize(
    ("first", "second", "least", "most"), [(0.5, 0.5, 0, 0.05), (0.9, 0.9, 0, 0.05), (0.45, 0.85, 0.8, 1)]
)
def test_the_difference_of_two_parts(first: float, second: float, least: float, most: float) -> None:
    """Where parts are equal, the interval excludes 0 in at most 5 of 100 cases; where they differ much, in most."""
    chance = np.random.default_rng(0)
    excluded = 0
    for _ in range(300):
        parts = (chance.binomial(1, share, size).tolist() for share, size in ((first, 20), (second, 40)))
        low, high = ends(difference_interval(*map(mean_interval, parts)))
        excluded += not low <= 0 <= high
    assert least <= excluded / 300 <= most


def test_the_difference_to_a_part_without_a_score() -> None:
    """Where one part has no value there is no difference."""
    assert difference_interval(mean_interval([]), mean_interval([0.5])).value is None
