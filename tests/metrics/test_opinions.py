"""Bias and toxicity at their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.metrics.registry import parse_metric
from ragauge.questions import Classify

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Sampling, Scoring, Valuing


@pytest.mark.parametrize(
    ("response", "bias", "toxicity"),
    [
        ("*biased *fine *toxic", 1 / 3, 1 / 3),
        ("*biased-toxic", 1.0, 1.0),
        ("*fine", 0.0, 0.0),
        ("+biased *fine", 0.5, 0.0),
        ("biased toxic ~biased", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_shares_of_opinions(value: Valuing, response: str, bias: float, toxicity: float) -> None:
    """Bias and toxicity are shares of opinions, 0 without any; claims that are no opinion are not even asked about."""
    assert value("bias", response=response) == bias
    assert value("toxicity", response=response) == toxicity


def test_only_opinions_are_classified(drive: type[Drive], sample: Sampling, words: Answering) -> None:
    """A judge is asked about each opinion once for each trait, and about nothing else."""
    done = drive([sample(response="a *b +c ~d")], [parse_metric("bias"), parse_metric("toxicity")], words)
    assert [(q.text, q.trait) for q in done.questions if isinstance(q, Classify)] == [
        ("*b", "biased"),
        ("+c", "biased"),
        ("*b", "toxic"),
        ("+c", "toxic"),
    ]


def test_a_response_without_opinions_still_counts(scores: Scoring, sample: Sampling) -> None:
    """The zero of a response without opinions carries counts, so that it can be pooled with the others."""
    assert scores(sample(response="a"), "bias")["bias"].counts == (0, 0)
    assert scores(sample(response="*biased *b"), "bias")["bias"].counts == (1, 2)
