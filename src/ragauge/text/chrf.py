"""chrF and chrF++: the F-score of shared character (and word) n-grams.

Popović, "chrF: character n-gram F-score for automatic MT evaluation", 2015, and "chrF++: words helping character
n-grams", 2017, as computed by sacreBLEU 2.6's `sentence_chrf` with its defaults: case kept, whitespace left out, and
only those orders averaged of which both texts have n-grams.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Final

from ragauge.text.ngrams import ngrams, overlap
from ragauge.text.references import checked

_PUNCTUATION: Final = frozenset(string.punctuation)


def chrf(response: str, references: Sequence[str], order: int = 6, beta: float = 2.0, words: int = 0) -> float:
    """The chrF score in 0..1; with several references, the maximum over them. `words=2` gives chrF++.

    `order` and `words` are the largest n of the character and the word n-grams, `beta` says how many times more recall
    weighs than precision. 100 times the value is sacreBLEU's score to the last digit. A text without characters scores
    0. Raises ValueError for no references, `order` below 1, `words` below 0 and `beta` not positive and finite.
    """
    if order < 1 or words < 0 or not 0 < beta < math.inf:
        raise ValueError(
            f"chrF needs order >= 1, words >= 0 and a finite beta > 0, not order={order}, words={words}, beta={beta}"
        )
    return max(_f_score(response, reference, order, beta, words) for reference in checked(references))


def _f_score(response: str, reference: str, order: int, beta: float, words: int) -> float:
    shared = _shared(_characters(response), _characters(reference), order)
    shared += _shared(_words(response), _words(reference), words)
    precision = recall = 0.0
    for hits, said, golden in shared:  # one by one: from Python 3.12 on, sum() rounds differently
        precision += hits / said
        recall += hits / golden
    if not precision:
        return 0.0
    precision, recall = precision / len(shared), recall / len(shared)
    factor = beta**2
    return (1 + factor) * precision * recall / (factor * precision + recall)


def _shared(said: Sequence[str], golden: Sequence[str], order: int) -> list[tuple[int, int, int]]:
    """The n-grams that both share, those of the one and those of the other, for each order that both have any of."""
    return [
        (overlap(ngrams(said, n), ngrams(golden, n)), len(said) - n + 1, len(golden) - n + 1)
        for n in range(1, min(order, len(said), len(golden)) + 1)
    ]


def _characters(text: str) -> str:
    return "".join(text.split())


def _words(text: str) -> list[str]:
    return [part for word in text.split() for part in _part_punctuation(word)]


def _part_punctuation(word: str) -> list[str]:
    """A word and one punctuation mark at its end, or else at its start, as two tokens."""
    if len(word) == 1:
        return [word]
    if word[-1] in _PUNCTUATION:
        return [word[:-1], word[-1]]
    return [word[0], word[1:]] if word[0] in _PUNCTUATION else [word]
