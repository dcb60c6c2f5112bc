"""Tokenizers, each identical to that of the metric it comes from, SQuAD normalisation, and the Porter stemmer.

Every tokenizer treats a line break as whitespace, so the tokens of a text are those of its lines, concatenated.

The stemmer: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with NLTK's documented departures:
a table of irregular forms, words of one or two letters unchanged, -ies and -ied in four-letter words, y -> i only after
a consonant, -alli tried before the other endings, -bli, -fulli and -logi, and a vowel and a consonant as a short stem.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Final
from unicodedata import normalize

from ragauge.text.patterns import regex


def _rules(listed: str) -> list[tuple[str, str]]:
    """Suffixes with their replacements. The first that matches decides, even if its condition then fails."""
    return [(suffix, replacement) for suffix, _, replacement in (rule.partition(":") for rule in listed.split())]


_IRREGULAR: Final = dict(
    _rules("""sky:sky skies:sky dying:die lying:lie tying:tie news:news innings:inning inning:inning
    outings:outing outing:outing cannings:canning canning:canning howe:howe proceed:proceed exceed:exceed
    succeed:succeed""")
)
_STEP_2: Final = _rules("""ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e
    ousli:ous ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive
    biliti:ble fulli:ful""")
_STEP_4: Final = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()


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
            return _restore(kept)
    return word


def _restore(word: str) -> str:
    """Restore what removing -ed or -ing left incomplete: add an e, or drop one of two equal consonants."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c"):
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


def _step_4(word: str) -> str:
    ending = next(filter(word.endswith, _STEP_4), "")
    kept = word.removesuffix(ending)
    removable = _measure(kept) > 1 and (ending != "ion" or kept.endswith(("s", "t")))
    return kept if removable else word


def _step_5(word: str) -> str:
    kept = word.removesuffix("e")
    measure = _measure(kept)
    word = kept if measure > 1 or (measure == 1 and not _ends_short(kept)) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _replace_ending(word: str, rules: Sequence[tuple[str, str]]) -> str:
    for ending, replacement in rules:
        if word.endswith(ending):
            kept = word.removesuffix(ending)
            return kept + replacement if _measure(kept) > 0 else word
    return word


_STEPS: Final = (
    *(_step_1a, _step_1b, _step_1c, _step_2),
    partial(_replace_ending, rules=_rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")),
    *(_step_4, _step_5),
)


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


def _ends_short(word: str) -> bool:
    """The paper's *o: consonant, vowel, consonant other than w, x or y; or just a vowel and a consonant."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")


Tokenizer = Callable[[str], list[str]]

_KEEP_ALPHANUMERIC: Final = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)
_VALOR_TOKEN_OF_ASCII: Final = re.compile(r"\w+|\$\d+|[^. \t-\r]+")
_ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_INVISIBLE_JOINERS: Final = re.compile("[\u00ad\u200c\u200d\u2060]")
_WRITTEN_WITHOUT_SPACES: Final = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"  # Hiragana and Katakana
    "\u3105-\u312f\u31a0-\u31bf"  # Bopomofo
    "\u0e01-\u0e4f"  # Thai
    "\u0e81-\u0ecf\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17df"  # Khmer
    "\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7f\uaa80-\uaadf"  # Tai Le, New Tai Lue, Tai Tham, Tai Viet
)


def rouge_tokens(text: str) -> list[str]:
    """The tokens of Google's rouge-score 0.1.2: runs of a-z and 0-9 in the lower-cased text."""
    ascii_only = text.lower().encode("ascii", "replace")
    return ascii_only.translate(_KEEP_ALPHANUMERIC).decode("ascii").split()


def valor_tokens(text: str) -> list[str]:
    """The tokens of Valor's sentence BLEU: words, a dollar sign with its digits, or other runs without space or period.

    Word characters are those of the `regex` library, with which NLTK 3.10 compiles Valor's pattern.
    """
    return list((_VALOR_TOKEN_OF_ASCII if text.isascii() else _valor_token()).findall(text))


def unicode_tokens(text: str) -> list[str]:
    """Words of letters, marks and digits in any script (NFKC, casefold); one letter each in scripts without spaces."""
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return list(_unicode_word().findall(_INVISIBLE_JOINERS.sub("", folded)))


def chrf_characters(text: str) -> str:
    """The characters of sacreBLEU's chrF: all but whitespace."""
    return "".join(text.split())


def chrf_words(text: str) -> list[str]:
    """The words of sacreBLEU's chrF++: split at whitespace, one punctuation mark at an end of a word set apart."""
    return [token for word in text.split() for token in _split_punctuation(word)]


def _split_punctuation(word: str) -> list[str]:
    if len(word) == 1:
        return [word]
    if word[-1] in string.punctuation:
        return [word[:-1], word[-1]]
    return [word[0], word[1:]] if word[0] in string.punctuation else [word]


def squad_normalise(text: str) -> str:
    """SQuAD normalisation: lower case, without ASCII punctuation and the articles a, an and the, single spaces."""
    return " ".join(squad_tokens(text))


def squad_tokens(text: str) -> list[str]:
    """The tokens of SQuAD's F1: those of the normalised text, split at whitespace."""
    return _ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


TOKENIZERS: Final[Mapping[str, Tokenizer]] = {
    "rouge": rouge_tokens,
    "unicode": unicode_tokens,
    "valor": valor_tokens,
    "whitespace": str.split,
}


def tokenizer_named(name: str) -> Tokenizer:
    """The tokenizer of that name. Raises ValueError, listing the known names, for any other."""
    if name not in TOKENIZERS:
        raise ValueError(f"unknown tokenizer {name!r}; use one of {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]


def stem_tokens(tokens: Iterable[str]) -> list[str]:
    """The tokens, those longer than three characters stemmed, as in rouge-score."""
    return [stem(token) if len(token) > 3 else token for token in tokens]


@cache
def _valor_token() -> regex.Pattern[str]:
    return regex.compile(r"\w+|\$\d+|[^.\s]+")


@cache
def _unicode_word() -> regex.Pattern[str]:
    """One letter of a script written without spaces, or a run of other letters and digits, with combining marks."""
    alone = rf"[[\p{{L}}\p{{N}}]&&[{_WRITTEN_WITHOUT_SPACES}]]"
    spaced = rf"[[\p{{L}}\p{{N}}]--[{_WRITTEN_WITHOUT_SPACES}]]"
    return regex.compile(rf"(?V1){alone}\p{{M}}*|{spaced}[{spaced}\p{{M}}]*")
