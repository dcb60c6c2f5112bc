"""Numbers as values: "1,000", "one thousand" and "1000" are one, and so are "1.5 billion" and "1,500 million"."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DIGITS = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(st|nd|rd|th|['’]?s|k|bn)?\Z")

_SMALL = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    )
} | {word: 10 * tens for tens, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}

_ORDINALS = {
    word: value
    for value, word in enumerate(
        """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
        fifteenth sixteenth seventeenth eighteenth nineteenth""".split(),
        1,
    )
} | {
    word: 10 * tens
    for tens, word in enumerate("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth".split(), 2)
}

_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "millions": 1e6,
    "mn": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "trillion": 1e12,
}
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5}
_SUFFIX_SCALES = {"k": 1e3, "bn": 1e9}
_DECADES = {
    word: f"#{10 * tens}s"
    for tens, word in enumerate("twenties thirties forties fifties sixties seventies eighties nineties".split(), 2)
}
_CENTURY = re.compile(r"(1\d|20)00['’]?s\Z")
_AFTERNOON = re.compile(r"(1[3-9]|2[0-3]):([0-5]\d)\Z")


def read_number(words: Sequence[str], at: int) -> tuple[str, int] | None:
    """The number that begins at `words[at]` (lower case) as a key such as "#1500", and how many words it takes.

    None where no number begins. A fraction in words is "#2/3"; times of the day keep their colon. "The 1990s" and "the
    nineties" are "#90s".
    """
    first = words[at]
    if first[0].isdecimal():
        return _read_digits(words, at)
    if first in _SMALL or (first == "a" and at + 1 < len(words) and words[at + 1] in _SCALES):
        return _read_words(words, at)
    if first in _ORDINALS:
        return key(_ORDINALS[first]), 1
    return (_DECADES[first], 1) if first in _DECADES else None


def key(value: float) -> str:
    """The canonical name of a value."""
    return f"#{value:.12g}"


def century(years: str) -> tuple[str, str] | None:
    """The century that "1800s" is: "19th", "century"; None for anything else."""
    found = _CENTURY.match(years)
    return (f"{int(found.group(1)) + 1}th", "century") if found else None


def twelve_hours(time: str) -> tuple[str, str] | None:
    """A time after noon on the clock of twelve hours: "3:00", "pm" for "15:00"; None for anything else."""
    found = _AFTERNOON.match(time)
    return (f"{int(found.group(1)) - 12}:{found.group(2)}", "pm") if found else None


def value_of(key: str) -> float | None:
    """The value of a key; None for a fraction, a time of day and a decade."""
    try:
        return float(key[1:])
    except ValueError:
        return None


def is_ordinal(word: str) -> bool:
    """Whether a word that begins or ends a number, in lower case, counts places: "third", "21st"."""
    return word in _ORDINALS or (word[0].isdecimal() and word.endswith(("st", "nd", "rd", "th")))


def is_year(key: str) -> bool:
    """Whether a number's key looks like a year from 1000 to 2099."""
    return len(key) == 5 and key[0] == "#" and key[1] in "12" and key[1:].isdecimal() and key < "#2100"


def _read_digits(words: Sequence[str], at: int) -> tuple[str, int] | None:
    first = words[at]
    if ":" in first:
        return "#" + first.removesuffix(":00").lstrip("0"), 1
    match = _DIGITS.match(first)
    if match is None or len(first) > 30:
        return None
    whole, decimals, suffix = match.groups()
    value = float(whole.replace(",", "") + (decimals or "")) * _SUFFIX_SCALES.get(suffix or "", 1.0)
    length = 1
    while at + length < len(words) and words[at + length] in _SCALES:
        value *= _SCALES[words[at + length]]
        length += 1
    if suffix and suffix.endswith("s"):
        return key(value - 1900 if 1900 < value < 2000 else value) + "s", length
    return key(value), length


def _read_words(words: Sequence[str], at: int) -> tuple[str, int]:
    total, group, place = 0.0, 0.0, at
    while place < len(words):
        word = words[place]
        if word in _SMALL and _fits(group, _SMALL[word]):
            group += _SMALL[word]
        elif word == "hundred" and group:
            group *= 100
        elif word in _SCALES:
            total, group = total + max(group, 1.0) * _SCALES[word], 0.0
        elif word == "and" and place + 1 < len(words) and words[place + 1] in _SMALL and (total or group >= 100):
            pass
        elif not (word == "a" and place == at):
            break
        place += 1
    if place < len(words) and words[place] in _PARTS and not total and group:
        return f"#{group:.12g}/{_PARTS[words[place]]}", place + 1 - at
    if place < len(words) and words[place] in _ORDINALS and _fits(group, _ORDINALS[words[place]]) and group >= 20:
        return key(group + _ORDINALS[words[place]]), place + 1 - at
    return key(total + group), place - at


def _fits(group: float, value: int) -> bool:
    """Whether `value` may follow in the same group: "twenty" "five" and "hundred" "five", but not "five" "six"."""
    if group == 0:
        return True
    return group % 100 == 0 or (value < 10 and group % 10 == 0 and group % 100 >= 20)
