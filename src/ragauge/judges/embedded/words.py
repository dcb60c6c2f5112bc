"""A text as words with canonical keys: the stem of a word, or the value of a number ("#1500")."""

from __future__ import annotations

import math
import re
from enum import IntEnum
from functools import cache, lru_cache
from typing import NamedTuple
from unicodedata import combining, normalize

from ragauge.judges.embedded.layer import packaged
from ragauge.judges.embedded.numbers import read_number
from ragauge.text.tokens import stem

_FUNCTION_WORDS = frozenset(
    """
    a an the this that these those there here it its he him his she her hers they them their theirs we us our
    ours i me my mine you your yours who whom whose which what when where why how and or but if then than as at
    by for from in into of on onto to with within about over under between among through during per via upon is
    are was were be been being am do does did done doing has have had having will would shall should can could
    may might must ought also too very just so such both each any some other own same s t ve re ll d m up out
    off while because although though however thus therefore hence whether ever even still yet already again
    once itself himself herself themselves myself yourself one ones etc according accord say says
    said note notes mention mentions mentioned provide provided passage context contexts text document article
    information based base certain particular various likely typically generally usually often commonly actually
    indeed well like as please
    """.split()
)
_NEGATIONS = frozenset(
    "not no never none nobody nothing nowhere neither nor without cannot hardly barely scarcely".split()
)
AUXILIARIES = frozenset(
    "is are was were am do does did has have had will would shall should can could may might must".split()
)
QUESTION_WORDS = frozenset("who whom whose which what when where why how".split())


class Kind(IntEnum):
    """What a word is for the comparison."""

    FUNCTION = 0
    CONTENT = 1
    NAME = 2
    NUMBER = 3


class Word(NamedTuple):
    """One word: its key, its characters, its kind, and whether it is in the scope of a negation."""

    key: str
    start: int
    end: int
    kind: Kind
    negated: bool


#: Characters that are words by themselves, in scripts without spaces.
_UNSPACED = r"[\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u3005-\u3007\u3041-\u3096\u30a1-\u30ff\u3400-\u9fff]"
_TOKEN = re.compile(
    r"""(?P<number>\d{1,2}:\d{2}(?!\d)|(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:(?:st|nd|rd|th|k|m|bn)\b)?)
    |(?P<dotted>(?:[A-Za-z]\.){2,})
    |(?P<unspaced>{_UNSPACED})
    |(?P<word>(?:(?!{_UNSPACED})[^\W\d_])+(?:['’][^\W\d_]+)*\d*)
    |(?P<sign>[%$€£¥])
    |(?P<stop>[.,;:!?()\[\]"“”。、，；：！？]|\s[-–—]\s)""".replace("{_UNSPACED}", _UNSPACED),
    re.VERBOSE,
)
_SIGNS = {"%": "percent", "$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_CONTRACTION = re.compile(r"(.+?)(?:(n['’]t)|['’](?:s|re|ve|ll|d|m))?\Z", re.DOTALL)
_CONTRASTS = frozenset("but while whereas because although though however aber".split())
_SCOPE = 3  # content words in the scope of a negation
_FUNCTION_WEIGHT, _NUMBER_WEIGHT = 0.03, 0.7


class _Token(NamedTuple):
    lower: str
    start: int
    end: int
    stop: bool = False
    capital: bool = False


def words(text: str) -> tuple[Word, ...]:
    """The words of a text in order; punctuation only ends a negation's scope, and a sentence."""
    tokens = [token for match in _TOKEN.finditer(text) for token in _tokens(match)]
    lowers = [token.lower for token in tokens]
    found: list[Word] = []
    at = scope = 0
    opening = True
    while at < len(tokens):
        token, number = tokens[at], None if tokens[at].stop else read_number(lowers, at)
        if token.stop:
            scope, opening = 0, opening or token.lower in ".!?:"
        elif number is not None:
            found.append(Word(number[0], token.start, tokens[at + number[1] - 1].end, Kind.NUMBER, scope > 0))
            at, scope = at + number[1] - 1, max(scope - 1, 0)
        elif token.lower in _NEGATIONS:
            scope = 0 if lowers[at + 1 : at + 2] in (["only"], ["just"]) else _SCOPE
            found.append(Word(token.lower, token.start, token.end, Kind.FUNCTION, False))
        elif token.lower in _FUNCTION_WORDS or "\u3041" <= token.lower <= "\u309f":
            scope = 0 if token.lower in _CONTRASTS else scope
            found.append(Word(token.lower, token.start, token.end, Kind.FUNCTION, False))
        else:
            named = token.capital and (not opening or any(following.capital for following in tokens[at + 1 : at + 2]))
            kind = Kind.NAME if named else Kind.CONTENT
            found.append(Word(key_of(token.lower), token.start, token.end, kind, scope > 0))
            scope = max(scope - 1, 0)
        opening = opening and token.stop
        at += 1
    return tuple(found)


def _tokens(match: re.Match[str]) -> list[_Token]:
    """A match as tokens: two for a verb with "n't"."""
    start, end, raw = match.start(), match.end(), match.group()
    if match.lastgroup == "stop":
        return [_Token(raw.strip(), start, end, stop=True)]
    if match.lastgroup == "dotted":
        return [_Token(raw.replace(".", "").lower(), start, end, capital=raw.isupper())]
    base, negation = _CONTRACTION.match(raw).groups()  # type: ignore[union-attr]  # it matches any text
    token = _Token(base.lower(), start, end, capital=base[0].isupper())
    if not negation:
        return [token]
    verb = {"ca": "can", "wo": "will"}.get(token.lower, token.lower)
    return [token._replace(lower=verb), token._replace(lower="not", capital=False)]


@lru_cache(maxsize=1 << 15)
def key_of(lower: str) -> str:
    """The key of a word in lower case that is no number: its stem, without accents."""
    if not lower.isascii():
        lower = "".join(letter for letter in normalize("NFKD", lower) if not combining(letter))
    return stem(_SIGNS.get(lower, lower))


@cache
def _table() -> tuple[int, dict[str, int]]:
    """Number of texts counted, and in how many of them each stem occurs. Built by training/idf.py."""
    first, *lines = packaged("idf.txt").splitlines()
    counts: dict[str, int] = {}
    for line in lines:
        count, *stems = line.split(" ")
        counts.update(dict.fromkeys(stems, int(count)))
    return int(first), counts


def idf(key: str) -> float:
    """Inverse document frequency of a stem: 0 for a word in every text, 1 for a word never seen."""
    texts, counts = _table()
    return min(math.log(texts / counts.get(key, 2)) / math.log(texts / 2), 1.0)


def weight(word: Word) -> float:
    """The weight of `word` in a comparison, in 0..1."""
    if word.kind == Kind.FUNCTION:
        return _FUNCTION_WEIGHT
    return _NUMBER_WEIGHT if word.kind == Kind.NUMBER else idf(word.key)
