"""A text as words with canonical keys: the stem of a word, or the value of a number ("#1500").

"1,000", "one thousand" and "1000" are one number, and so are "1.5 billion" and "1,500 million".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from enum import IntEnum
from functools import cache, lru_cache
from typing import NamedTuple
from unicodedata import combining, normalize

from ragauge.judges.embedded.layer import packaged
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
    indeed well like as please yes not no never none nobody nothing nowhere neither nor without cannot hardly barely
    scarcely
    """.split()
)


class Kind(IntEnum):
    """The role of a word in the comparison."""

    FUNCTION = 0
    CONTENT = 1
    NUMBER = 2


class Word(NamedTuple):
    """One word: its key, its characters, and its kind."""

    key: str
    start: int
    end: int
    kind: Kind


#: Characters that are words of their own, in scripts without spaces.
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
_STOP = "."  # any mark between which a number ends
_FUNCTION_WEIGHT, _NUMBER_WEIGHT = 0.03, 0.7


class _Token(NamedTuple):
    lower: str
    start: int
    end: int


def words(text: str) -> tuple[Word, ...]:
    """The words of a text in order."""
    tokens = [token for match in _TOKEN.finditer(text) for token in _tokens(match)]
    lowers = [token.lower for token in tokens]
    read: list[Word] = []
    place = 0
    while place < len(tokens):
        lower, start, end = tokens[place]
        number = read_number(lowers, place)
        if number is not None:
            read.append(Word(number[0], start, tokens[place + number[1] - 1].end, Kind.NUMBER))
            place += number[1] - 1
        elif lower in _FUNCTION_WORDS or "\u3041" <= lower <= "\u309f":
            read.append(Word(lower, start, end, Kind.FUNCTION))
        elif lower != _STOP:
            read.append(Word(key_of(lower), start, end, Kind.CONTENT))
        place += 1
    return tuple(read)


def _tokens(match: re.Match[str]) -> list[_Token]:
    start, end, raw = match.start(), match.end(), match.group()
    if match.lastgroup == "stop":
        return [_Token(_STOP, start, end)]
    if match.lastgroup == "dotted":
        return [_Token(raw.replace(".", "").lower(), start, end)]
    base, negation = _CONTRACTION.match(raw).groups()  # type: ignore[union-attr]  # it matches any text
    token = _Token(base.lower(), start, end)
    if not negation:
        return [token]
    verb = {"ca": "can", "wo": "will"}.get(token.lower, token.lower)
    return [token._replace(lower=verb), token._replace(lower="not")]


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


_DIGITS = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:st|nd|rd|th|(k|m|bn))?\Z")
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SMALL = {word: value for value, word in enumerate(_ONES)} | {word: 10 * tens for tens, word in enumerate(_TENS, 2)}
_ORDINAL_WORDS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""".split()
_ORDINALS = {word: value for value, word in enumerate(_ORDINAL_WORDS, 1)} | {"thirtieth": 30}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SUFFIXES = {"k": 1e3, "m": 1e6, "bn": 1e9}


def read_number(words: Sequence[str], place: int) -> tuple[str, int] | None:
    """The key, such as "#1500", of the number that begins at a place of lower-case words, and how many words it takes.

    A time of day keeps its colon.
    """
    first = words[place]
    if first[0].isdecimal():
        return _read_digits(words, place)
    if first in _SMALL or (first == "a" and words[place + 1 : place + 2] and words[place + 1] in _SCALES):
        return _read_words(words, place)
    return (_key(_ORDINALS[first]), 1) if first in _ORDINALS else None


def _key(value: float) -> str:
    return f"#{value:.12g}"


def rounds_to(key: str, rounded: str) -> bool:
    """Whether a number becomes another when it is rounded to that one's last digit that is not 0: 4.68 and 4.7.

    Not for years and times, numbers of one such digit, or where they differ by more than 1 %: 3.14 is not 3.1.
    """
    if ":" in key + rounded or is_year(key) or is_year(rounded):
        return False
    value, other = float(key[1:]), float(rounded[1:])
    digits = Decimal(rounded[1:]).normalize().as_tuple()
    near = min(10.0 ** int(digits.exponent) / 2, 0.01 * abs(other))
    return len(digits.digits) >= 2 and abs(value - other) <= near


def is_year(key: str) -> bool:
    """Whether a number's key looks like a year from 1000 to 2099."""
    return len(key) == 5 and key[1:].isdecimal() and "#1000" <= key < "#2100"


def _read_digits(words: Sequence[str], place: int) -> tuple[str, int] | None:
    if ":" in words[place]:
        return "#" + (words[place].removesuffix(":00").lstrip("0") or "0"), 1
    match = _DIGITS.match(words[place])
    if match is None or len(words[place]) > 30:
        return None
    whole, decimals, suffix = match.groups()
    value = float(whole.replace(",", "") + (decimals or "")) * _SUFFIXES.get(suffix, 1.0)
    length = 1
    while words[place + length : place + length + 1] and words[place + length] in _SCALES:
        value, length = value * _SCALES[words[place + length]], length + 1
    return _key(value), length


def _read_words(words: Sequence[str], start: int) -> tuple[str, int]:
    total = group = 0.0
    place = start + (words[start] == "a")
    while place < len(words):
        word, following = words[place], words[place + 1 : place + 2]
        if word in _SMALL and _fits(group, _SMALL[word]):
            group += _SMALL[word]
        elif word == "hundred" and group:
            group *= 100
        elif word in _SCALES:
            total, group = total + max(group, 1.0) * _SCALES[word], 0.0
        elif not (word == "and" and (total or group >= 100) and following and following[0] in _SMALL):
            break
        place += 1
    if place < len(words) and group >= 20 and _fits(group, _ORDINALS.get(words[place], 100)):
        group, place = group + _ORDINALS[words[place]], place + 1
    return _key(total + group), place - start


def _fits(group: float, value: int) -> bool:
    """Whether a value may follow in the same group: "twenty" "five" and "hundred" "five", but not "five" "six"."""
    return group == 0 or (group % 100 == 0 and value < 100) or (value < 10 and group % 10 == 0 and group % 100 >= 20)
