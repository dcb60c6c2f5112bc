"""Sentence BLEU: the geometric mean of clipped n-gram precisions, with a penalty for brevity.

Papineni et al., "BLEU: a method for automatic evaluation of machine translation", 2002, as computed by NLTK 3.10's
`sentence_bleu`, which Valor and the Dataworkz framework use. Every value equals theirs to the last digit.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import reduce
from operator import or_
from typing import Final

from ragauge.text.ngrams import draw, ngrams
from ragauge.text.references import checked
from ragauge.text.tokens import tokenizer_named

DEFAULT_WEIGHTS: Final = (0.25, 0.25, 0.25, 0.25)
_NEGLIGIBLE: Final = 1e-9
_EPSILON: Final = 0.1


def bleu(
    response: str,
    references: Sequence[str],
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    tokenizer: str = "valor",
    smoothing: str = "none",
) -> float:
    """Sentence BLEU in 0..1; several references clip jointly and the one closest in length sets the penalty.

    `weights` has one weight for each n-gram order from 1; they need not sum to 1. `tokenizer` is a name from
    `ragauge.text.tokens.TOKENIZERS`. `smoothing` says what a precision without a match counts as: "none", the smallest
    positive float, with a result below 1e-9 taken as 0 (Valor); "method1", 0.1 matches (Chen and Cherry, 2014; the
    Dataworkz framework, with `tokenizer="whitespace"`). Without a single shared token the value is 0.

    Raises ValueError for no references, an unknown tokenizer or smoothing, and weights that are empty, negative or not
    finite; NLTK accepts the last two and then leaves 0..1.
    """
    _check(weights, smoothing)
    tokenize = tokenizer_named(tokenizer)
    said = tokenize(response)
    golden = [tokenize(reference) for reference in checked(references)]
    matches = _matches(said, golden, len(weights))
    if not matches[0]:
        return 0.0
    totals = [max(1, len(said) - order) for order in range(len(weights))]
    logs = [math.log(_precision(hits, total, smoothing)) for hits, total in zip(matches, totals, strict=True)]
    mean = math.exp(math.fsum(weight * log for weight, log in zip(weights, logs, strict=True)))
    value = _brevity_penalty(len(said), [len(tokens) for tokens in golden]) * mean
    return 0.0 if smoothing == "none" and value < _NEGLIGIBLE else value


def _check(weights: Sequence[float], smoothing: str) -> None:
    if not weights or not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise ValueError(f"BLEU weights must be one or more finite numbers of at least 0, not {weights!r}")
    if smoothing not in ("none", "method1"):
        raise ValueError(f"unknown BLEU smoothing {smoothing!r}; use none or method1")


def _matches(said: Sequence[str], golden: Sequence[Sequence[str]], orders: int) -> list[int]:
    """For each order from 1, the response's n-grams found in the references; zero from the first order without any."""
    matches: list[int] = []
    for order in range(1, orders + 1):
        matches.append(draw(ngrams(said, order), _most_in_any(golden, order)))
        if not matches[-1]:
            break
    return matches + [0] * (orders - len(matches))


def _most_in_any(golden: Sequence[Sequence[str]], order: int) -> Counter[Hashable]:
    """Each n-gram as often as the reference that has it most."""
    return reduce(or_, (Counter(ngrams(tokens, order)) for tokens in golden))


def _precision(hits: int, total: int, smoothing: str) -> float:
    if hits:
        return hits / total
    return sys.float_info.min if smoothing == "none" else _EPSILON / total


def _brevity_penalty(length: int, reference_lengths: Sequence[int]) -> float:
    closest = min(reference_lengths, key=lambda other: (abs(other - length), other))
    return 1.0 if length > closest else math.exp(1 - closest / length)
