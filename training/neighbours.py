"""Neighbours: of many documents those that share most with one by their rarer words."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

_NEAREST = 6  # of which one is drawn
_COMMON = 60  # documents from which on a word is too common to count


class Neighbours:
    """For a document, others that share many of its rarer words."""

    def __init__(self, documents: Sequence[str], chance: random.Random) -> None:
        self._documents, self._chance = documents, chance
        words = [set(re.findall(r"[a-z]{5,}", text.lower())) for text in documents]
        counts = Counter(word for found in words for word in found)
        self._words = [{word for word in found if counts[word] <= _COMMON} for found in words]
        self._having: dict[str, list[int]] = defaultdict(list)
        for at, found in enumerate(self._words):
            for word in found:
                self._having[word].append(at)

    def nearest(self, at: int, most: int) -> list[int]:
        """The places of the documents nearest to the one at a place, the nearest first; none that begins like it."""
        shared = Counter(other for word in sorted(self._words[at]) for other in self._having[word] if other != at)
        opening = self._documents[at][:60]
        return [other for other, _ in shared.most_common(most) if self._documents[other][:60] != opening]

    def of(self, at: int) -> str:
        """One of the documents nearest to the one at a place."""
        best = self.nearest(at, _NEAREST)
        return self._documents[self._chance.choice(best) if best else self._chance.randrange(len(self._documents))]
