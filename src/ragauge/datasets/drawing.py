"""Drawing passages so that they cover a corpus, and finding those that are alike: by their words, without a model.

Passages are hashed tf-idf vectors (Weinberger et al., 2009), clustered by spherical k-means (Dhillon & Modha, 2001),
which begins as k-means++ (Arthur & Vassilvitskii, 2007).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import permutations, zip_longest
from random import Random
from typing import Any
from zlib import crc32

import numpy as np

from ragauge.datasets.retrieval import words_of

#: Numbers of a vector, rounds of k-means, and the most clusters.
_SIZE, _ROUNDS, _MOST_CLUSTERS = 256, 5, 256
#: The most passages that a name links.
_FEW = 5
_WORD = re.compile(r"[^\W\d_]\w+")
#: From this cosine on, two passages say the same.
_SAME = 0.95


class PassageMap:
    """The vectors of passages. frequency: word -> the number of passages that have it."""

    def __init__(self, texts: Sequence[str]) -> None:
        ids: dict[str, int] = {}
        counted = []
        for text in texts:
            words = [ids.setdefault(word, len(ids)) for word in words_of(text)]
            counted.append(np.unique(np.array(words, np.int32), return_counts=True))
        passages_with = np.zeros(len(ids), np.int32)
        for words_in, _ in counted:
            passages_with[words_in] += 1
        self.frequency = dict(zip(ids, passages_with.tolist(), strict=True))
        self._ids, hashes = ids, np.array([crc32(word.encode()) for word in ids], np.int64)
        self._places = (hashes >> 1) % _SIZE
        self._weights = np.log((1 + len(texts)) / passages_with) * np.where(hashes & 1, 1.0, -1.0)
        self.vectors = np.zeros((len(texts), _SIZE), np.float32)
        for row, (words_in, counts) in zip(self.vectors, counted, strict=True):
            row[:] = self._vector(words_in, counts)
        self.vectors = _normalised(self.vectors)

    def covering_order(self, count: int, rng: Random, ranks: Sequence[float] = ()) -> list[int]:
        """All positions, in an order of which any beginning covers the corpus: a passage of each cluster in turn.

        count: how many passages will be drawn about, which decides the number of clusters. ranks: of the passages; a
        cluster gives the one with the highest first.
        """
        cluster = self._clusters(min(count, len(self.vectors), _MOST_CLUSTERS), rng)
        members: list[list[int]] = [np.flatnonzero(cluster == number).tolist() for number in range(cluster.max() + 1)]
        rng.shuffle(members)
        for positions in members:
            rng.shuffle(positions)
            if ranks:
                positions.sort(key=lambda position: -ranks[position])
        return [position for turn in zip_longest(*members) for position in turn if position is not None]

    def _clusters(self, count: int, rng: Random) -> Any:
        """The cluster of each passage; the first centres are drawn apart, as in k-means++."""
        centres = np.zeros((count, _SIZE), np.float32)
        distance = np.ones(len(self.vectors))
        for centre in centres:
            reached = np.cumsum(distance)
            position = int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
            centre[:] = self.vectors[min(position, len(reached) - 1)]
            distance = np.minimum(distance, np.maximum(0, 1 - self.vectors @ centre))
        for _ in range(_ROUNDS):
            nearest = np.argmax(self.vectors @ centres.T, axis=1)
            order = np.argsort(nearest, kind="stable")
            filled, starts = np.unique(nearest[order], return_index=True)
            centres[filled] = _normalised(np.add.reduceat(self.vectors[order], starts))
        return nearest

    def alike(self, position: int, count: int) -> list[int]:
        """The passages that are most alike, best first, without those that say the same."""
        cosines = self.vectors @ self.vectors[position]
        order = np.argsort(-cosines, kind="stable")
        different = (other for other in order.tolist() if other != position and cosines[other] < _SAME)
        return [other for other, _ in zip(different, range(count), strict=False)]

    def nearest(self, text: str, count: int) -> list[int]:
        """The passages that are most like a text, best first."""
        words = [self._ids[word] for word in words_of(text) if word in self._ids]
        cosines = self.vectors @ self._vector(*np.unique(np.array(words, np.int32), return_counts=True))
        positions: list[int] = np.argsort(-cosines, kind="stable")[:count].tolist()
        return positions

    def _vector(self, words: Any, counts: Any) -> Any:
        return np.bincount(self._places[words], np.log1p(counts) * self._weights[words], _SIZE)


class NameLinks:
    """Which passages share a name: a word that no passage has with a small letter, and that few passages have."""

    def __init__(self, texts: Sequence[str]) -> None:
        words_of_each = [set(_WORD.findall(text)) for text in texts]
        small = {word for words in words_of_each for word in words if word[0].islower()}
        having: defaultdict[str, list[int]] = defaultdict(list)
        for position, words in enumerate(words_of_each):
            for name in {word.casefold() for word in words} - small:
                having[name].append(position)
        self._shared: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for positions in having.values():
            for first, second in permutations(positions, 2) if len(positions) <= _FEW else ():
                self._shared[first][second] += 1

    def of(self, position: int) -> list[int]:
        """The passages that share a name with one, those first that share most."""
        return [other for other, _ in self._shared[position].most_common()] if position in self._shared else []


def _normalised(vectors: Any) -> Any:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
