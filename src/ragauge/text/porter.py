"""The Porter stemmer, in the variant that NLTK calls NLTK_EXTENSIONS and rouge-score uses.

Sources: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980; and NLTK's documented departures: a
table of irregular forms, words of one or two letters left alone, -ies and -ied in four-letter words, y -> i only after
a consonant, -alli tried before the other endings, -bli, -fulli and -logi, and a vowel and a consonant as a short stem.
Functions are named after the paper's steps and conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

_IRREGULAR: Final = {
    "sky": "sky",
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
# The first ending that fits decides, even when its condition then fails: the order matters.
_STEP_2: Final = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP_3: Final = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4: Final = (
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
)


@lru_cache(maxsize=2**16)
def stem(word: str) -> str:
    """The stem of an English word, lower-cased; equal to `nltk.stem.porter.PorterStemmer().stem(word)`."""
    lower = word.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if len(word) <= 2:
        return lower
    for step in _STEPS:
        lower = step(lower)
    return lower


def _step_1a(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _step_1b(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        kept = word.removesuffix(ending)
        if kept != word and "v" in _shape(kept):
            return _repair(kept)
    return word


def _repair(word: str) -> str:
    """Give back what the loss of -ed or -ing took: an e, or one of two equal consonants."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double_consonant(word):
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _step_1c(word: str) -> str:
    after_consonant = word.endswith("y") and len(word) > 2 and _shape(word)[-2] == "c"
    return word[:-1] + "i" if after_consonant else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace_ending(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replace_ending(word, _STEP_3)


def _step_4(word: str) -> str:
    ending = next(filter(word.endswith, _STEP_4), "")
    kept = word.removesuffix(ending)
    removable = _measure(kept) > 1 and (ending != "ion" or kept.endswith(("s", "t")))
    return kept if removable else word


def _step_5a(word: str) -> str:
    kept = word.removesuffix("e")
    measure = _measure(kept)
    return kept if measure > 1 or (measure == 1 and not _ends_short(kept)) else word


def _step_5b(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


_STEPS: Final[tuple[Callable[[str], str], ...]] = (
    _step_1a,
    _step_1b,
    _step_1c,
    _step_2,
    _step_3,
    _step_4,
    _step_5a,
    _step_5b,
)


def _replace_ending(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for ending, replacement in rules:
        if word.endswith(ending):
            kept = word.removesuffix(ending)
            return kept + replacement if _measure(kept) > 0 else word
    return word


def _shape(word: str) -> str:
    """Each letter as c or v: a, e, i, o and u are vowels, and so is a y after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """The paper's m: how many times a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _ends_double_consonant(word: str) -> bool:
    """The paper's *d."""
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


def _ends_short(word: str) -> bool:
    """The paper's *o: consonant, vowel, consonant other than w, x or y; or just a vowel and a consonant."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")
