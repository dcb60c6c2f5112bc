"""Bets on the mean of bounded scores, and the intervals that they give."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import BadParameter
from ragauge.statistics.sequential import Bets, ConfidenceSequence

scores = st.lists(st.floats(0, 1), min_size=1, max_size=60)
sides = st.sampled_from(["below", "above"])


@given(scores, st.floats(0, 1), sides)
def test_nobody_loses_more_than_everything(values: list[float], bound: float, side: str) -> None:
    """The capital is a number that is never below 0, whatever the scores, the bound and the side."""
    bets = Bets([bound], side)  # type: ignore[arg-type]
    for value in values:
        bets.add(value)
        assert 0 <= bets.capital[0] < float("inf")


@given(st.floats(0.05, 0.95), st.lists(st.floats(0, 1), max_size=20), sides)
@settings(max_examples=50)
def test_a_fair_score_neither_wins_nor_loses(bound: float, before: list[float], side: str) -> None:
    """Over both outcomes of a yes/no score whose mean is the bound, the expected capital is that before it."""
    expected = 0.0
    for outcome, chance in ((1.0, bound), (0.0, 1 - bound)):
        bets = Bets([bound], side, restarted=False)  # type: ignore[arg-type]
        for value in before:
            bets.add(value)
        start = float(bets.capital[0]) if before else 1.0
        bets.add(outcome)
        expected += chance * float(bets.capital[0])
    assert expected == pytest.approx(start, rel=1e-9, abs=1e-12)


@given(scores, st.floats(0.01, 0.99))
def test_the_sides_are_mirror_images(values: list[float], bound: float) -> None:
    """Bets on a mean below a bound have the capital of bets above its mirror image on mirrored scores."""
    below, above = Bets([bound], "below"), Bets([1 - bound], "above")
    for value in values:
        below.add(value)
        above.add(1 - value)
    assert below.capital == pytest.approx(above.capital, rel=1e-6)


@given(scores, st.integers(0, 60))
def test_a_state_goes_on_where_it_was_taken(values: list[float], cut: int) -> None:
    """Bets that were kept and restored at any point end with the same capital."""
    whole, kept = Bets([0.7], "below"), Bets([0.7], "below")
    for value in values:
        whole.add(value)
    for value in values[:cut]:
        kept.add(value)
    again = Bets([0.7], "below")
    if values[:cut]:
        again.restore(kept.state())
    for value in values[cut:]:
        again.add(value)
    assert again.capital.tolist() == whole.capital.tolist()


def test_the_parts_that_start_later_never_exceed_the_whole() -> None:
    """However long a stream is, the parts of the capital that have started are 1 together at most."""
    bets = Bets([0.5], "below")
    for _ in range(5000):
        bets.add(0.5)
    assert 0.9 < bets.capital[0] <= 1


@pytest.mark.parametrize("restarted", [True, False])
def test_a_false_alarm_is_as_rare_as_it_says(restarted: bool) -> None:
    """Of 400 streams of 1,000 scores whose mean is the bound, at most 5 % ever reach a capital of 20."""
    chance = np.random.default_rng(1)
    raised = 0
    for values in chance.random((400, 1000)) < 0.8:
        bets, highest = Bets([0.8], "below", restarted=restarted), 0.0
        for value in values:
            bets.add(float(value))
            highest = max(highest, float(bets.capital[0]))
        raised += highest >= 20
    assert raised <= 400 * 0.05


def test_good_scores_of_long_ago_hide_no_bad_ones() -> None:
    """After 3,000 scores of 0.95, scores of 0.6 are noticed within 150; without restarts they are not."""
    delays = {}
    for restarted in (True, False):
        bets = Bets([0.8], "below", restarted=restarted)
        for _ in range(3000):
            bets.add(0.95)
        delays[restarted] = 0
        while bets.capital[0] < 20 and delays[restarted] < 1000:
            bets.add(0.6)
            delays[restarted] += 1
    assert delays[True] <= 150
    assert delays[False] == 1000


@given(scores, st.sampled_from([0.5, 0.9, 0.95]))
@settings(max_examples=30)
def test_an_interval_contains_the_mean_within_the_scale(values: list[float], confidence: float) -> None:
    """The ends lie on the scale and around the mean of the scores, in whatever unit the scale is."""
    sequence, stretched = ConfidenceSequence(confidence=confidence), ConfidenceSequence((1, 5), confidence)
    sequence.add(values)
    stretched.add([1 + 4 * value for value in values])
    found, other = sequence.interval(), stretched.interval()
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.value == pytest.approx(sum(values) / len(values))
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert other.low == pytest.approx(1 + 4 * found.low, abs=0.03)


def test_an_interval_covers_at_all_times_and_gets_narrow() -> None:
    """Of 60 streams at least 57 - 3 have the mean in every one of 1,000 intervals, which end less than 0.12 wide."""
    chance = random.Random(2)
    covered, widths = 0, []
    for _ in range(60):
        sequence, inside, width = ConfidenceSequence(), True, 1.0
        for _ in range(50):
            sequence.add(chance.betavariate(3, 1) for _ in range(20))
            interval = sequence.interval()
            assert interval.low is not None
            assert interval.high is not None
            inside = inside and interval.low <= 0.75 <= interval.high
            width = interval.high - interval.low
        covered += inside
        widths.append(width)
    assert covered >= 54
    assert max(widths) < 0.12


def test_nothing_seen_has_no_number_and_bad_input_is_refused() -> None:
    """Without scores all is None; a score off the scale and an impossible confidence are told."""
    assert ConfidenceSequence().interval().value is None
    with pytest.raises(BadParameter, match="not on the scale"):
        ConfidenceSequence().add([1.5])
    with pytest.raises(BadParameter, match="at least 0"):
        ConfidenceSequence(confidence=1)
