from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragauge.judges.nli.judge import ModelCard, PairScorer, TextPair, Tokens
from ragauge.judges.nli.models import TWO_WAY


class _Letters:
    """Reads a pair letter by letter."""

    def encode(self, pairs: Sequence[TextPair]) -> list[Tokens]:
        """The code of each letter."""
        return [Tokens([ord(letter) for letter in "".join(pair)], [0] * len("".join(pair))) for pair in pairs]

    def starts(self, text: str) -> list[int]:
        """Every letter is a token."""
        return list(range(len(text)))


class _Model:
    """Says support in proportion to the letters "y"; notes each batch, and gives no number at a "?"."""

    def __init__(self, batch_tokens: int = 40, window: int = 64) -> None:
        self.card = ModelCard("letters", "1", "true", TWO_WAY, window)
        self.batch_tokens = batch_tokens
        self.tokenizer: Any = _Letters()
        self.batches: list[tuple[int, int]] = []

    def logits(self, ids: Any, mask: Any, type_ids: Any) -> Any:
        """Two classes."""
        self.batches.append(ids.shape)
        if (ids == ord("?")).any():
            return np.full((len(ids), 2), np.nan)
        assert (ids * (1 - mask) == 0).all()
        return np.stack([mask.sum(axis=1) * 0.0, (ids == ord("y")).sum(axis=1)], axis=1)


def _never() -> bool:
    return False


def test_each_pair_is_read_once() -> None:
    """Pairs that are the same go to the model once, and not again in a later batch."""
    model = _Model()
    scorer = PairScorer(model)

    first = scorer.scores([("yy", "a"), ("n", "b"), ("yy", "a")], _never)
    again = scorer.scores([("n", "b"), ("n", "c")], _never)

    assert sum(rows for rows, _ in model.batches) == 3
    assert first["n", "b"] == again["n", "b"] == [(0.5, 0.5)]
    assert first["yy", "a"] == [(0.1192, 0.8808)]


def test_batches_are_of_like_length_within_the_budget() -> None:
    """The longest come first, together as many as the budget of padded tokens allows; one alone may exceed it."""
    model = _Model(batch_tokens=40)

    PairScorer(model).scores([("n" * size, "a") for size in (3, 49, 9, 19, 18, 5, 4)], _never)

    assert model.batches == [(1, 50), (2, 20), (4, 10)]


def test_long_premises_are_read_in_windows() -> None:
    """A premise beyond the window is read in several texts, each within it; and each has its score."""
    model = _Model(window=64)
    scorer = PairScorer(model)

    found = scorer.scores([(f"{'n ' * 80}y yy yyy", "a")], _never)

    assert sum(rows for rows, _ in model.batches) > 1
    assert max(length for _, length in model.batches) <= 64
    (windows,) = found.values()
    assert max(chances[1] for chances in windows if not isinstance(chances, str)) > 0.9


def test_a_hypothesis_that_leaves_no_room_is_refused() -> None:
    """A hypothesis as long as the window is not cut: that pair has no score, and the reason says so."""
    found = PairScorer(_Model(window=64)).scores([("n" * 80, "a" * 60)], _never)

    assert "takes 60 of the 64 tokens" in str(next(iter(found.values())))


def test_nobody_waits() -> None:
    """Once nobody waits for the answers the model is given nothing more."""
    model = _Model()
    with pytest.raises(InterruptedError):
        PairScorer(model).scores([("y", "a")], lambda: True)
    assert model.batches == []


def test_numbers_that_are_none_are_refused() -> None:
    """A model that gives no finite number raises, with a way out."""
    with pytest.raises(ArithmeticError, match="no finite number; with dtype=float32 it may"):
        PairScorer(_Model()).scores([("?", "a")], _never)


@pytest.mark.parametrize("size", [1, pytest.param(70_000, marks=pytest.mark.slow)])
def test_cache_is_bounded(size: int) -> None:
    """Pairs long past are forgotten, however many there were; a batch is answered whole."""
    scorer = PairScorer(_Model(batch_tokens=1 << 20))

    found = scorer.scores([(str(number), "a") for number in range(size)], _never)

    assert len(found) == size
    assert len(scorer._cache) <= 1 << 16
