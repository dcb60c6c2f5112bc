"""Matching: what the tokens of a claim that texts hold, and those that they do not, tell of the whole claim.

Of each token a small net sees how like it is to the likest of all texts, to the likest in the sentence that holds most
of its own sentence, and to the likest that is the same word piece; what its word counts; and of what kind the word is.
It makes a few values of these, and weighs their mean and their softened least over the claim.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ragauge.judges.embedded.layer import text_of
from ragauge.judges.embedded.lexical.rarity import weight
from ragauge.judges.embedded.lexical.words import Kind, words
from ragauge.judges.embedded.trained.likeness import Likeness

if TYPE_CHECKING:
    from ragauge.judges.embedded.trained.reader import Floats

SEEN = 4 + len(Kind)  # values that the net sees of a token
LEAST = 0.05  # weight of a token that counts nothing
SHARP = 4.0  # how near the softened least is to the least
RARE = 5.0  # weight of a rare word


class Counted(NamedTuple):
    """What each token of a sentence counts, and the kind of the word that it is of."""

    weights: Floats
    kinds: Floats  # (tokens, kinds), a 1 in each row


@lru_cache(maxsize=1024)
def counted(sentence: str, spans: Sequence[tuple[int, int]], given: int) -> Counted:
    """Each token counts its share of the weight of its word.

    given: characters that open the sentence and are the query's; they count nothing, and neither do function words.
    Where no word has weight all tokens count alike.
    """
    import numpy as np

    weights = np.zeros(len(spans), np.float32)
    kinds = np.zeros((len(spans), len(Kind)), np.float32)
    kinds[:, Kind.FUNCTION] = 1
    for word in words(sentence):
        inside = [at for at, (start, end) in enumerate(spans) if start < word.end and end > word.start]
        kinds[inside] = np.eye(len(Kind))[word.kind]
        if word.kind != Kind.FUNCTION and word.start >= given:
            weights[inside] += weight(word) / max(len(inside), 1)
    return Counted(weights if weights.any() else np.ones_like(weights), kinds)


def tokens_of(likenesses: Sequence[Likeness], own: Counted) -> Floats:
    """What the net sees of a sentence of a claim: (tokens, SEEN). likenesses: to each text, one or more."""
    import numpy as np

    nearest = np.concatenate([one.nearest for one in likenesses])
    holds_most = nearest[(nearest @ own.weights).argmax()]
    same = np.max([one.same for one in likenesses], axis=0)
    seen = (nearest.max(axis=0), holds_most, same, own.weights / RARE)
    return np.concatenate([np.stack(seen, axis=1), own.kinds], axis=1)


def matched(tokens: Floats) -> float:
    """The logit that a claim is supported. tokens: (tokens, SEEN), of all its sentences."""
    import numpy as np

    if not len(tokens):
        return 0.0
    first, second, third, last = _net()
    values = third.of(np.maximum(second.of(np.maximum(first.of(tokens), 0)), 0))
    weights = tokens[:, 3] * RARE + LEAST
    mean = weights @ values / weights.sum()
    lowest = values.min(axis=0)
    least = lowest - np.log(np.exp(-SHARP * (values - lowest)).sum(axis=0)) / SHARP
    return float(last.of(np.concatenate([mean, least]))[0])


class _Step(NamedTuple):
    """A step of the net. weights: (values out, values in)."""

    weights: Floats
    constants: Floats

    def of(self, values: Floats) -> Floats:
        """The values that come out."""
        found: Floats = values @ self.weights.T + self.constants
        return found


@cache
def _net() -> tuple[_Step, ...]:
    """The steps of data/matching.json. Made by training/fit_matching.py."""
    import numpy as np

    return tuple(
        _Step(np.array(step["weights"], np.float32), np.array(step["constants"], np.float32))
        for step in json.loads(text_of("matching"))
    )
