"""Exact match and token F1, as SQuAD scores short answers.

Rajpurkar et al., "SQuAD: 100,000+ questions for machine comprehension of text", 2016; the empty cases are those of the
SQuAD 2.0 evaluation (Rajpurkar, Jia and Liang, "Know what you don't know", 2018).
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Final

from ragauge.text.ngrams import overlap
from ragauge.text.references import checked

_ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """The text lower-cased, without ASCII punctuation and the articles a, an and the, its words parted by one space."""
    plain = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", plain).split())


def exact_match(response: str, references: Sequence[str]) -> bool:
    """Whether the response equals any reference once both are normalised; ValueError without references."""
    said = normalise(response)
    return any(said == normalise(reference) for reference in checked(references))


def token_f1(response: str, references: Sequence[str]) -> float:
    """The F1 in 0..1 of the words the response shares with a reference, normalised; the maximum over the references.

    If nothing is left of either text, 1 if nothing is left of both and else 0. ValueError without references.
    """
    said = normalise(response).split()
    return max(_f1(said, normalise(reference).split()) for reference in checked(references))


def _f1(said: Sequence[str], golden: Sequence[str]) -> float:
    if not said or not golden:
        return float(said == golden)
    hits = overlap(said, golden)
    if not hits:
        return 0.0
    precision, recall = hits / len(said), hits / len(golden)
    return 2 * precision * recall / (precision + recall)
