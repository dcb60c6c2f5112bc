"""Likeness: how near the meaning of a claim is to that of a text, as a whole and word by word.

Word by word each token of the claim, read alone, is compared with the tokens of the text: the late interaction of
ColBERT (Khattab and Zaharia 2020, arXiv:2004.12832).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ragauge.judges.embedded.lexical.passages import passage
from ragauge.judges.embedded.trained.reader import Encoded, Reader

if TYPE_CHECKING:
    from ragauge.judges.embedded.trained.reader import Floats


class Likeness(NamedTuple):
    """Cosines of a claim with a text. near: of both whole. nearest: (sentences of the text, tokens of the claim), of
    each token with the one in that sentence most like it. same: (tokens), with the likest that is the same word piece,
    or 0."""

    near: float
    nearest: Floats
    same: Floats


def likeness(reader: Reader, text: str, claim: str) -> Likeness:
    """The likeness of a claim to a text; both as far as they are read."""
    import numpy as np

    whole, mine = reader.encoded(text), reader.encoded(claim)
    near = float(whole.embedding @ mine.embedding)
    if not len(whole.ids):
        nothing = np.zeros((1, len(mine.ids)), np.float32)
        return Likeness(near, nothing, nothing[0])
    cosines = whole.tokens.astype(np.float32) @ mine.tokens.astype(np.float32).T
    same = np.where(whole.ids[:, None] == mine.ids, cosines, 0).max(axis=0)
    return Likeness(near, np.maximum.reduceat(cosines, _openings(text, whole)), same)


def _openings(text: str, encoded: Encoded) -> list[int]:
    """The tokens of a text that open a sentence."""
    import numpy as np

    starts = [start for start, _ in encoded.spans]
    opens = np.searchsorted(starts, [sentence.start for sentence in passage(text).sentences])
    return sorted({0, *(place for place in opens.tolist() if place < len(starts))})
