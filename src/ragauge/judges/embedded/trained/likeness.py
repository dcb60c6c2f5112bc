"""Likeness: how near the meaning of a claim is to that of a text, as a whole and word by word.

Word by word each token of the claim, read alone, is compared with the token of the text that is most like it: the late
interaction of ColBERT (Khattab and Zaharia 2020, arXiv:2004.12832).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ragauge.judges.embedded.lexical.passages import passage
from ragauge.judges.embedded.lexical.rarity import weight
from ragauge.judges.embedded.lexical.words import Kind, words
from ragauge.judges.embedded.trained.reader import Reader


class Likeness(NamedTuple):
    """Cosines of a claim with a text. near: of both whole. nearest: with the sentence most like it. tokens: of each
    token of the claim with the one most like it."""

    near: float
    nearest: float
    tokens: tuple[float, ...]


def likeness(reader: Reader, text: str, claim: str) -> Likeness:
    """The likeness of a claim to a text; both as far as they are read."""
    import numpy as np

    whole, mine = reader.encoded(text), reader.encoded(claim)
    near = float(whole.embedding @ mine.embedding)
    if not len(whole.spans):
        return Likeness(near, near, (0.0,) * len(mine.spans))
    theirs = whole.tokens.astype(np.float32)
    starts = np.array([start for start, _ in whole.spans])
    sentences = [theirs[(starts >= one.start) & (starts < one.end)] for one in passage(text).sentences]
    means = np.stack([rows.mean(axis=0) for rows in sentences if len(rows)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    best = (mine.tokens.astype(np.float32) @ theirs.T).max(axis=1)
    return Likeness(near, float((means @ mine.embedding).max()), tuple(best.tolist()))


@lru_cache(maxsize=4096)
def weights(claim: str, spans: Sequence[tuple[int, int]], given: int) -> tuple[float, ...]:
    """What each token of a claim counts: the weight of its word, shared among the word's tokens.

    given: characters that open the claim and are the query's; they count nothing, and neither do function words. Where
    no word has weight all tokens count alike.
    """
    found = [0.0] * len(spans)
    for word in words(claim):
        if word.kind == Kind.FUNCTION or word.start < given:
            continue
        inside = [at for at, (start, end) in enumerate(spans) if start < word.end and end > word.start]
        for at in inside:
            found[at] += weight(word) / len(inside)
    return tuple(found) if any(found) else (1.0,) * len(spans)
