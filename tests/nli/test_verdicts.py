from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.nli.judge import ClassProbabilities, ModelCard, verdict_of_windows
from ragauge.judges.nli.models import TWO_WAY
from ragauge.types import ChunkVerdict, Label

THREE = ModelCard("m", "1", "classifier", (Label.CONTRADICTED, Label.NEUTRAL, Label.ENTAILED), 64)
TWO = ModelCard("m", "1", "hhem", TWO_WAY, 64)

SURE, UNSURE, UNRELATED, AGAINST = (0.01, 0.02, 0.97), (0.1, 0.3, 0.6), (0.6, 0.3, 0.1), (0.98, 0.01, 0.01)
NEITHER: ClassProbabilities = (0.1, 0.8, 0.1)


@pytest.mark.parametrize(
    ("windows", "verdict"),
    [
        ([SURE, UNRELATED], ChunkVerdict(Label.ENTAILED, 0.97)),
        ([UNRELATED, UNRELATED, SURE, NEITHER], ChunkVerdict(Label.ENTAILED, 0.97)),
        ([SURE, AGAINST], ChunkVerdict(Label.CONTRADICTED, 0.01)),
        ([UNSURE, UNRELATED], ChunkVerdict(Label.ENTAILED, 0.6)),
        ([NEITHER, UNRELATED], ChunkVerdict(Label.CONTRADICTED, 0.1)),
        ([NEITHER, (0.0, 0.6, 0.4)], ChunkVerdict(Label.NEUTRAL, 0.4)),
        ([(0.4, 0.4, 0.2)], ChunkVerdict(Label.NEUTRAL, 0.2)),
        ([], ChunkVerdict(Label.NEUTRAL, 0.0)),
    ],
)
def test_the_surest_window_that_asserts_something_decides(
    windows: list[ClassProbabilities], verdict: ChunkVerdict
) -> None:
    """Support and contradiction weigh by their probability, neither of them by its kind; neutral windows by nothing."""
    assert verdict_of_windows(THREE, windows) == verdict


@pytest.mark.parametrize(
    ("windows", "verdict"),
    [
        ([(0.9, 0.1), (0.2, 0.8)], ChunkVerdict(Label.ENTAILED, 0.8)),
        ([(0.9, 0.1), (0.7, 0.3)], ChunkVerdict(Label.NOT_ENTAILED, 0.3)),
        ([(0.5, 0.5)], ChunkVerdict(Label.NOT_ENTAILED, 0.5)),
        ([], ChunkVerdict(Label.NOT_ENTAILED, 0.0)),
    ],
)
def test_two_way_models_support_where_any_window_does(windows: list[ClassProbabilities], verdict: ChunkVerdict) -> None:
    """Their other class asserts nothing."""
    assert verdict_of_windows(TWO, windows) == verdict


CHANCES = st.tuples(*[st.integers(1, 9)] * 3).map(lambda parts: tuple(part / sum(parts) for part in parts))


@given(windows=st.lists(CHANCES, min_size=1, max_size=6), order=st.randoms(use_true_random=False))
def test_windows_count_in_any_order_and_any_number_of_times(windows: list[ClassProbabilities], order: Random) -> None:
    """The label is that of the same windows shuffled, and one of them repeated."""
    shuffled = [*windows, windows[0]]
    order.shuffle(shuffled)
    assert verdict_of_windows(THREE, shuffled).label == verdict_of_windows(THREE, windows).label


@given(windows=st.lists(CHANCES, min_size=1, max_size=6))
def test_a_window_that_asserts_nothing_changes_no_label_that_does(windows: list[ClassProbabilities]) -> None:
    """One more window for neither leaves support and contradiction as they are."""
    label = verdict_of_windows(THREE, windows).label
    assert verdict_of_windows(THREE, [*windows, NEITHER]).label == label
