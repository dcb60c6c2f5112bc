"""Numbers as values: "1,000", "one thousand" and "1000" are one, and so are "1.5 billion" and "1,500 million"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

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


def read_number(words: Sequence[str], at: int) -> tuple[str, int] | None:
    """The key, such as "#1500", of the number that begins at a place of lower-case words, and how many words it takes.

    A time of day keeps its colon.
    """
    first = words[at]
    if first[0].isdecimal():
        return _read_digits(words, at)
    if first in _SMALL or (first == "a" and words[at + 1 : at + 2] and words[at + 1] in _SCALES):
        return _read_words(words, at)
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


def _read_digits(words: Sequence[str], at: int) -> tuple[str, int] | None:
    if ":" in words[at]:
        return "#" + (words[at].removesuffix(":00").lstrip("0") or "0"), 1
    match = _DIGITS.match(words[at])
    if match is None or len(words[at]) > 30:
        return None
    whole, decimals, suffix = match.groups()
    value = float(whole.replace(",", "") + (decimals or "")) * _SUFFIXES.get(suffix, 1.0)
    length = 1
    while words[at + length : at + length + 1] and words[at + length] in _SCALES:
        value, length = value * _SCALES[words[at + length]], length + 1
    return _key(value), length


def _read_words(words: Sequence[str], at: int) -> tuple[str, int]:
    total = group = 0.0
    place = at + (words[at] == "a")
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
    return _key(total + group), place - at


def _fits(group: float, value: int) -> bool:
    """Whether a value may follow in the same group: "twenty" "five" and "hundred" "five", but not "five" "six"."""
    return group == 0 or (group % 100 == 0 and value < 100) or (value < 10 and group % 10 == 0 and group % 100 >= 20)
