"""Signals: what words and the reader tell of a claim, as named values for the fitted layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ragauge.judges.embedded.layer import logit
from ragauge.judges.embedded.lexical.entailment import Finding
from ragauge.judges.embedded.trained.likeness import Likeness
from ragauge.judges.embedded.trained.matching import Counted, matched, tokens_of
from ragauge.judges.embedded.trained.reader import Said
from ragauge.types import Label

if TYPE_CHECKING:
    from ragauge.judges.embedded.trained.reader import Floats

_MOST = 6.0  # logits beyond are as good as this


class Heard(NamedTuple):
    """What a window says about a sentence, and how like the two are."""

    said: Said
    like: Likeness


class Part(NamedTuple):
    """A sentence of a claim. heard: what each window says about it. own: what each of its tokens counts."""

    heard: Sequence[Heard]
    own: Counted


def signals(words: Finding, parts: Sequence[Part]) -> Mapping[str, float]:
    """The values of one claim, read sentence by sentence.

    words: what the words of the same texts say. A sentence may have its support in any window, and each of its tokens
    what is most like it; a claim is supported no better than its weakest sentence.
    """
    return {
        "words": logit(words.probability),
        "words_against": float(words.label == Label.CONTRADICTED),
        "entailed": min(max(entailed(one.said) for one in part.heard) for part in parts),
        "against": max(against(one) for part in parts for one in part.heard),
        "near": min(max(one.like.near for one in part.heard) for part in parts),
        "matched": matched(tokens(parts)),
    }


def tokens(parts: Sequence[Part]) -> Floats:
    """What is seen of each token of a claim for `matched`."""
    import numpy as np

    return np.concatenate([tokens_of([one.like for one in part.heard], part.own) for part in parts])


def entailed(said: Said) -> float:
    """The logit of "entailed" against the other two."""
    return _bounded(said.entailed - _either(said.neutral, said.contradicted))


def against(one: Heard) -> float:
    """The logit of "contradicted", less where window and claim are about different things."""
    return _bounded(one.said.contradicted - _either(one.said.neutral, one.said.entailed)) + min(
        0.0, 8 * (one.like.near - 0.5)
    )


def _either(one: float, two: float) -> float:
    return max(one, two) + math.log1p(math.exp(-abs(one - two)))


def _bounded(value: float) -> float:
    return max(-_MOST, min(_MOST, value))
