"""What words alone say about a claim: which of its words, numbers and names a passage holds, weighted by rarity."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from enum import IntEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple
from unicodedata import combining, normalize

from ragauge.text.sentences import sentences
from ragauge.text.tokens import stem
from ragauge.types import Span

_TOKEN = re.compile(
    r"(?P<number>\d+(?:[,.]\d+)*)"
    r"|(?P<unspaced>[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff])"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)"
)
_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_UNITS += "seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = {word: value for value, word in enumerate(_UNITS)} | {word: 20 + 10 * at for at, word in enumerate(_TENS)}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_NEGATIONS = frozenset("no not never none nobody nothing neither nor without cannot".split())
_NUMBER_WEIGHT = 0.7
_COMMON = 0.3  # words of a smaller weight join others and are not looked for


class Kind(IntEnum):
    """What a word is for the comparison."""

    CONTENT = 0
    NAME = 1
    NUMBER = 2


class Word(NamedTuple):
    """A word: its stem, or the value of a number as "#1500"; its characters in the text; its kind and weight."""

    key: str
    span: Span
    kind: Kind
    weight: float


class Sentence(NamedTuple):
    """A sentence of a passage: its characters, its words' keys, and whether it negates."""

    span: Span
    keys: frozenset[str]
    negated: bool


class Overlap(NamedTuple):
    """What a passage holds of a claim.

    Args:
        whole: the weighted share of the claim's words that the passage holds.
        sentence: the largest share that one sentence holds.
        numbers: how many of the claim's numbers the passage lacks.
        names: how many of its names.
        negated: whether the claim or the best sentence negates, but not both.
        best: the characters of the sentence that holds most; None where none holds anything.
    """

    whole: float
    sentence: float
    numbers: int
    names: int
    negated: bool
    best: Span | None


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[Word, ...]:
    """The words of a text in order, numbers in digits or letters as values."""
    found: list[Word] = []
    opening = True
    last = 0
    for match in _TOKEN.finditer(text):
        raw, span = match.group(), match.span()
        opening = opening or any(stop in text[last : span[0]] for stop in ".!?\n:")
        last = span[1]
        if match.lastgroup == "number":
            found.append(Word(_number(raw), span, Kind.NUMBER, _NUMBER_WEIGHT))
        elif (value := _spelt(raw.lower(), found, text)) is not None:
            found.append(Word(f"#{value:.12g}", span, Kind.NUMBER, _NUMBER_WEIGHT))
        else:
            key = key_of(raw.lower())
            kind = Kind.NAME if raw[0].isupper() and not opening else Kind.CONTENT
            found.append(Word(key, span, kind, idf(key)))
        opening = False
    return tuple(found)


def _number(raw: str) -> str:
    """The key of digits: thousands separators go, decimals stay."""
    whole = re.sub(r",(?=\d{3}(?!\d))", "", raw)
    try:
        return f"#{float(whole):.12g}"
    except ValueError:
        return f"#{raw}"


def _spelt(lower: str, found: list[Word], text: str) -> float | None:
    """The value of a number word; with a scale ("3 million") it takes the number before it."""
    if lower in _SCALES and found and found[-1].kind == Kind.NUMBER:
        before = found[-1].key[1:]
        if text[found[-1].span[1] :].lstrip(" -").lower().startswith(lower) and re.fullmatch(r"[\d.e+]+", before):
            return float(found.pop().key[1:]) * _SCALES[lower]
    if lower not in _NUMBERS or lower == "one":
        return None
    tens = found and found[-1].kind == Kind.NUMBER and text[found[-1].span[0] : found[-1].span[1] + 1].lower()
    if tens and tens[-1] == "-" and tens[:-1] in _TENS and 0 < _NUMBERS[lower] < 10:
        return float(found.pop().key[1:]) + _NUMBERS[lower]
    return float(_NUMBERS[lower])


@lru_cache(maxsize=1 << 15)
def key_of(lower: str) -> str:
    """The key of a lower-case word: its stem without accents and possessive."""
    if not lower.isascii():
        lower = "".join(letter for letter in normalize("NFKD", lower.replace("’", "'")) if not combining(letter))
    return stem(lower.removesuffix("'s"))


def content(found: Iterable[Word]) -> dict[str, Word]:
    """The distinct words worth looking for, by key."""
    return {word.key: word for word in found if word.weight >= _COMMON}


@lru_cache(maxsize=512)
def passage_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a passage with their keys."""
    return tuple(_sentence(text, span) for span in sentences(text))


def _sentence(text: str, span: Span) -> Sentence:
    raw = text[slice(*span)]
    return Sentence(span, frozenset(word.key for word in words(raw)), negates(raw))


def negates(text: str) -> bool:
    """Whether a text has a word of negation."""
    found = re.findall(r"[a-z]+(?:n['’]t\b)?", text.lower())
    return any(word in _NEGATIONS or word.endswith(("n't", "n’t")) for word in found)


def overlap(claim: str, passage: str, given: str = "") -> Overlap:
    """What `passage` holds of `claim`; the words of `given`, a query, are not looked for."""
    wanted = content(words(claim))
    for key in {word.key for word in words(given)} if given else ():
        if len(wanted) > 1:
            wanted.pop(key, None)
    total = sum(word.weight for word in wanted.values())
    if not total:
        return Overlap(0.0, 0.0, 0, 0, False, None)
    lines = passage_sentences(passage)
    shares = [sum(wanted[key].weight for key in line.keys & wanted.keys()) / total for line in lines]
    held = frozenset().union(*(line.keys for line in lines))
    missing = [word.kind for key, word in wanted.items() if key not in held]
    at = max(range(len(lines)), key=shares.__getitem__, default=None)
    if at is None or not shares[at]:
        return Overlap(0.0, 0.0, missing.count(Kind.NUMBER), missing.count(Kind.NAME), False, None)
    whole = sum(word.weight for key, word in wanted.items() if key in held) / total
    negated = negates(claim) != lines[at].negated
    return Overlap(whole, shares[at], missing.count(Kind.NUMBER), missing.count(Kind.NAME), negated, lines[at].span)


@cache
def _table() -> tuple[int, dict[str, int]]:
    """The number of texts counted, and in how many of them each stem occurs. Built by training/idf.py."""
    first, *lines = table_text().splitlines()
    counts: dict[str, int] = {}
    for line in lines:
        count, *stems = line.split(" ")
        counts.update(dict.fromkeys(stems, int(count)))
    return int(first), counts


def table_text() -> str:
    """The packaged table, for hashing."""
    return (files("ragauge.judges.embedded") / "data/idf.txt").read_text(encoding="utf-8")


def idf(key: str) -> float:
    """Inverse document frequency, scaled: 0 for a word in every text, 1 for a word never seen."""
    texts, counts = _table()
    return min(math.log(texts / counts.get(key, 2)) / math.log(texts / 2), 1.0)
