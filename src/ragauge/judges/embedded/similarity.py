"""Similarity of a claim to texts in the encoder's space: of both whole, and token by token.

Each token of the claim, encoded alone, is compared with the tokens of a text: the late interaction of ColBERT (Khattab
and Zaharia 2020, arXiv:2004.12832). A small network sees of each token its similarity to the nearest token of all
texts, to the nearest in the sentence that holds most of its own sentence, and to the nearest that is the same word
piece; its weight; and the kind of its word. Of the values that it gives to tokens, it weighs the mean and the softened
minimum over the claim (training/fit_matching.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ragauge.host import LazyModule
from ragauge.judges.embedded.encoder import Encoder, Floats
from ragauge.judges.embedded.layer import packaged
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.words import Kind, weight, words

if TYPE_CHECKING:
    import numpy as np
else:
    np = LazyModule("numpy")

SEEN = 4 + len(Kind)  # values that the network sees of a token
LEAST = 0.05  # weight of a token whose word has none
SHARP = 4.0  # how near the softened minimum is to the minimum
RARE = 5.0  # weight of a rare word


class Similarity(NamedTuple):
    """Cosines of a claim with a text.

    whole: of both whole. nearest: (sentences of the text, tokens of the claim), of each token with the nearest in that
    sentence. same: (tokens), with the nearest that is the same word piece, or 0.
    """

    whole: float
    nearest: Floats
    same: Floats


def similarity(encoder: Encoder, text: str, claim: str) -> Similarity:
    """The similarity of a claim to a text, as far as the encoder reads both."""
    theirs, mine = encoder.encoded(text), encoder.encoded(claim)
    whole = float(theirs.embedding @ mine.embedding)
    if not len(theirs.ids):
        nothing = np.zeros((1, len(mine.ids)), np.float32)
        return Similarity(whole, nothing, nothing[0])
    cosines = theirs.tokens.astype(np.float32) @ mine.tokens.astype(np.float32).T
    same = np.where(theirs.ids[:, None] == mine.ids, cosines, 0).max(axis=0)
    starts = [start for start, _ in theirs.spans]
    opening = np.searchsorted(starts, [sentence.start for sentence in passage(text).sentences]).tolist()
    sentences = sorted({0, *(place for place in opening if place < len(starts))})
    return Similarity(whole, np.maximum.reduceat(cosines, sentences), same)


class TokenWeights(NamedTuple):
    """The weight of each token of a sentence, and the kind of its word: (tokens, kinds), a 1 in each row."""

    weights: Floats
    kinds: Floats


@lru_cache(maxsize=1024)
def token_weights(sentence: str, spans: Sequence[tuple[int, int]], query_length: int) -> TokenWeights:
    """Each token has its share of the weight of its word.

    The first `query_length` characters have no weight, and neither do function words. Where no word has weight all
    tokens weigh alike.
    """
    weights = np.zeros(len(spans), np.float32)
    kinds = np.zeros((len(spans), len(Kind)), np.float32)
    kinds[:, Kind.FUNCTION] = 1
    for word in words(sentence):
        inside = [at for at, (start, end) in enumerate(spans) if start < word.end and end > word.start]
        kinds[inside] = np.eye(len(Kind))[word.kind]
        if word.kind != Kind.FUNCTION and word.start >= query_length:
            weights[inside] += weight(word) / max(len(inside), 1)
    return TokenWeights(weights if weights.any() else np.ones_like(weights), kinds)


def token_features(similarities: Sequence[Similarity], own: TokenWeights) -> Floats:
    """What the network sees of a sentence of a claim: (tokens, SEEN). similarities: to each text, one or more."""
    nearest = np.concatenate([one.nearest for one in similarities])
    holds_most = nearest[(nearest @ own.weights).argmax()]
    same = np.max([one.same for one in similarities], axis=0)
    seen = (nearest.max(axis=0), holds_most, same, own.weights / RARE)
    return np.concatenate([np.stack(seen, axis=1), own.kinds], axis=1)


def matched(tokens: Floats) -> float:
    """The logit that a claim is supported. tokens: (tokens, SEEN), of all its sentences."""
    if not len(tokens):
        return 0.0
    first, second, third, last = _network()
    hidden = np.maximum(second.of(np.maximum(first.of(tokens), 0)), 0)
    values = third.of(hidden)
    token_weight = tokens[:, 3] * RARE + LEAST
    mean = token_weight @ values / token_weight.sum()
    lowest = values.min(axis=0)
    softened = lowest - np.log(np.exp(-SHARP * (values - lowest)).sum(axis=0)) / SHARP
    return float(last.of(np.concatenate([mean, softened]))[0])


class _Linear(NamedTuple):
    """A linear step of the network. weights: (values out, values in)."""

    weights: Floats
    constants: Floats

    def of(self, values: Floats) -> Floats:
        found: Floats = values @ self.weights.T + self.constants
        return found


@cache
def _network() -> tuple[_Linear, ...]:
    """The network in data/matching.json."""
    return tuple(
        _Linear(np.array(step["weights"], np.float32), np.array(step["constants"], np.float32))
        for step in json.loads(packaged("matching.json"))
    )
