from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.errors import BadParameter
from ragauge.statistics.agreement import corrected_mean, corrected_share
from ragauge.statistics.intervals import Interval, mean_interval

scores = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(scores, scores, scores)
def test_the_value_is_the_judges_mean_and_the_mean_difference(
    people: list[float], judge: list[float], rest: list[float]
) -> None:
    """The corrected mean is the judge's mean over all plus the mean difference on the drawn, kept on the scale."""
    drawn = list(zip(people, judge, strict=False))
    found = corrected_mean([one for one, _ in drawn], [other for _, other in drawn], rest)
    everything = [other for _, other in drawn] + rest
    plain = sum(everything) / len(everything) + sum(one - other for one, other in drawn) / len(drawn)
    assert found.value == pytest.approx(min(max(plain, 0), 1), abs=1e-9)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_where_all_is_drawn_people_alone_count() -> None:
    """Without a rest the judge drops out: value and interval are those of people's mean."""
    people, judge = [1.0, 0.5, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]
    found, plain = corrected_mean(people, judge, []), mean_interval(people)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_nothing_drawn_is_nothing_known() -> None:
    """Without a drawn sample there is no corrected mean."""
    assert corrected_mean([], [], [1.0, 0.0]).value is None


def test_agreement_leaves_a_width() -> None:
    """Where people and judge agree on all that was drawn, the interval has a width, which shrinks with the draws."""
    widths = []
    for n in (5, 50, 500):
        found = corrected_mean([1.0, 0.0] * n, [1.0, 0.0] * n, [1.0, 0.0] * 500)
        assert found.value == 0.5
        widths.append((found.high or 0) - (found.low or 0))
    assert widths[0] > widths[1] > widths[2] > 0


def test_the_interval_covers_whatever_the_judge_is_like() -> None:
    """A judge that is too lenient on half of the samples leaves 95 of 100 intervals around the truth."""
    chance = random.Random(0)
    covered = 0
    for _ in range(100):
        people = [float(chance.random() < 0.6) for _ in range(200)]
        judge = [min(1.0, one + (chance.random() < 0.5)) for one in people]
        found = corrected_mean(people[:40], judge[:40], judge[40:])
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.6 <= found.high
    assert covered >= 95


def test_scales_and_lengths_are_checked() -> None:
    """A score off the scale and lists of different lengths are refused."""
    with pytest.raises(BadParameter, match="2 scores by people and 1 by the judge"):
        corrected_mean([1, 1], [1], [])
    with pytest.raises(BadParameter, match="not on the scale"):
        corrected_mean([1], [1], [7])
    assert corrected_mean([5.0], [4.0], [1.0], scale=(1, 5)).value == 3.5


@given(st.floats(0, 1), st.floats(0.55, 1), st.floats(0.55, 1))
def test_a_share_is_what_error_rates_would_have_made_it(truth: float, sensitivity: float, specificity: float) -> None:
    """The share of positive verdicts that a judge of known error rates would give leads back to the true share."""
    positive = sensitivity * truth + (1 - specificity) * (1 - truth)
    exact = (Interval(one, one, one, "exact") for one in (positive, sensitivity, specificity))
    found = corrected_share(*exact)
    assert (found.value, found.low, found.high) == pytest.approx((truth, truth, truth), abs=1e-9)


@pytest.mark.parametrize("labels", [[], [1.0], [1.0, 0.0] * 20])
def test_labels_that_show_no_better_than_guessing_correct_no_share(labels: list[float]) -> None:
    """Without labels, with few and with a judge that guesses there is no corrected share."""
    share, rate = mean_interval([1.0] * 30 + [0.0] * 10), mean_interval(labels)
    assert corrected_share(share, rate, rate).value is None


@pytest.mark.parametrize("share", [0.97, 0.0])
def test_a_share_that_error_rates_cannot_make_is_not_corrected(share: float) -> None:
    """Where the judge affirms more, or less, than it could with these error rates, no sure 1 or 0 is made of that."""
    rates = Interval(0.85, 0.75, 0.92, ""), Interval(0.9, 0.8, 0.96, "")
    assert corrected_share(Interval(share, max(share - 0.02, 0.0), share + 0.02, ""), *rates).value is None


@pytest.mark.parametrize(("truth", "right", "rejected"), [(0.8, 0.9, 0.8), (0.5, 0.75, 0.75), (0.95, 0.95, 0.7)])
def test_intervals_of_a_corrected_share_hold_it(truth: float, right: float, rejected: float) -> None:
    """Of 100 corrected shares, by 100 labels of other texts, at least 90 have the truth in their interval."""
    chance = random.Random(0)

    def verdicts(count: int, rate: float) -> list[float]:
        return [float(chance.random() < rate) for _ in range(count)]

    held = 0
    for _ in range(100):
        positive = sum(verdicts(100, truth))
        rates = mean_interval(verdicts(int(positive), right)), mean_interval(verdicts(100 - int(positive), rejected))
        said = verdicts(200, truth * right + (1 - truth) * (1 - rejected))
        found = corrected_share(mean_interval(said), *rates)
        held += found.value is None or (found.low or 0.0) <= truth <= (found.high or 0.0)
    assert held >= 90
