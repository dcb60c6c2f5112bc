"""Similarity of a claim to texts in the encoder's space: of both whole, and token by token.

Each token of the claim, encoded alone, is compared with the tokens of a text: the late interaction of ColBERT (Khattab
and Zaharia 2020, arXiv:2004.12832). Of each token a small network then sees how similar it is to the most similar of
all texts, to that in the sentence that holds most of its own sentence, and to that which is the same word piece; what
its word counts; and of what kind the word is. It makes a few values of these, and weighs their mean and their softened
minimum over the claim (training/fit_matching.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ragauge.judges.embedded.encoder import Encoded, Reader
from ragauge.judges.embedded.layer import text_of
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.words import Kind, weight, words

if TYPE_CHECKING:
    from ragauge.judges.embedded.encoder import Floats

SEEN = 4 + len(Kind)  # values that the net sees of a token
LEAST = 0.05  # weight of a token that counts nothing
SHARP = 4.0  # how near the softened least is to the least
RARE = 5.0  # weight of a rare word


class Similarity(NamedTuple):
    """Cosines of a claim with a text. near: of both whole. nearest: (sentences of the text, tokens of the claim), of
    each token with the one in that sentence most like it. same: (tokens), with the likest that is the same word piece,
    or 0."""

    near: float
    nearest: Floats
    same: Floats


def similarity(reader: Reader, text: str, claim: str) -> Similarity:
    """The similarity of a claim to a text; both as far as they are read."""
    import numpy as np

    whole, mine = reader.encoded(text), reader.encoded(claim)
    near = float(whole.embedding @ mine.embedding)
    if not len(whole.ids):
        nothing = np.zeros((1, len(mine.ids)), np.float32)
        return Similarity(near, nothing, nothing[0])
    cosines = whole.tokens.astype(np.float32) @ mine.tokens.astype(np.float32).T
    same = np.where(whole.ids[:, None] == mine.ids, cosines, 0).max(axis=0)
    return Similarity(near, np.maximum.reduceat(cosines, _openings(text, whole)), same)


def _openings(text: str, encoded: Encoded) -> list[int]:
    """The tokens of a text that open a sentence."""
    import numpy as np

    starts = [start for start, _ in encoded.spans]
    opens = np.searchsorted(starts, [sentence.start for sentence in passage(text).sentences])
    return sorted({0, *(place for place in opens.tolist() if place < len(starts))})


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


def tokens_of(similarities: Sequence[Similarity], own: Counted) -> Floats:
    """What the net sees of a sentence of a claim: (tokens, SEEN). similarities: to each text, one or more."""
    import numpy as np

    nearest = np.concatenate([one.nearest for one in similarities])
    holds_most = nearest[(nearest @ own.weights).argmax()]
    same = np.max([one.same for one in similarities], axis=0)
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
