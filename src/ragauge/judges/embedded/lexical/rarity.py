"""How much a word weighs: the rarer in written English, the more it says about what a sentence is about."""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files

from ragauge.judges.embedded.lexical.words import Kind, Word

_FUNCTION_WEIGHT = 0.03
_NUMBER_WEIGHT = 0.7


@cache
def _table() -> tuple[int, dict[str, int]]:
    """Number of texts counted, and in how many of them each stem occurs. Built by training/rarity.py."""
    first, *lines = table_text().splitlines()
    counts: dict[str, int] = {}
    for line in lines:
        count, *stems = line.split(" ")
        counts.update(dict.fromkeys(stems, int(count)))
    return int(first), counts


def table_text() -> str:
    """The packaged table as it is, for hashing."""
    return (files("ragauge.judges.embedded") / "data/rarity.txt").read_text(encoding="utf-8")


@cache
def _rarest() -> float:
    return math.log(_table()[0] / 2)


def rarity(key: str) -> float:
    """0 for a word in every text, 1 for a word never seen."""
    texts, counts = _table()
    return min(math.log(texts / counts.get(key, 2)) / _rarest(), 1.0)


def weight(word: Word) -> float:
    """What `word` counts in a comparison, in 0..1."""
    if word.kind == Kind.FUNCTION:
        return _FUNCTION_WEIGHT
    if word.kind == Kind.NUMBER:
        return _NUMBER_WEIGHT
    return rarity(word.key)
