"""Ways to cut a text into tokens, each exactly as the measure it comes from has it.

Every tokenizer here treats a line break as a gap, so the tokens of a text are those of its lines, one after another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final
from unicodedata import normalize

from ragauge.text.characters import category_class, characters
from ragauge.text.porter import stem

Tokenizer = Callable[[str], list[str]]

_KEEP_ALPHANUMERIC: Final = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)
_NO_PERIOD_OR_SPACE: Final = r"[^. \t-\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
_VALOR_TOKEN: Final = re.compile(rf"\w+|\$\d+|{_NO_PERIOD_OR_SPACE}")
_CIRCLED_LETTERS: Final = "\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"
_JOINERS: Final = "\u200c\u200d"
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


def rouge_tokens(text: str, stemmer: bool = False) -> list[str]:
    """The tokens of Google's rouge-score 0.1.2: runs of a-z and 0-9 in the lower-cased text.

    Every other character, accented letters and other scripts included, separates tokens. With `stemmer`, tokens longer
    than three characters are stemmed.
    """
    ascii_only = text.lower().encode("ascii", "replace")
    words = ascii_only.translate(_KEEP_ALPHANUMERIC).decode("ascii").split()
    return stemmed(words) if stemmer else words


def valor_tokens(text: str) -> list[str]:
    """The tokens of Valor's sentence BLEU: words, a dollar sign with its digits, or what else has no space or period.

    Case is kept. "It costs $25.50." gives It, costs, $25, 50; "don't" gives don, 't. A word's characters are those of
    the `regex` library, which NLTK 3.10 reads Valor's pattern with: letters, marks, digits, connecting punctuation.
    """
    if text.isascii() or _contested().isdisjoint(text):
        return _VALOR_TOKEN.findall(text)
    return _valor_token().findall(text)


def whitespace_tokens(text: str) -> list[str]:
    """The text cut at whitespace; case and punctuation are kept."""
    return text.split()


def unicode_tokens(text: str) -> list[str]:
    """Words of letters, marks and digits in any script, compatibility forms and case folded (NFKC, casefold).

    Scripts written without spaces (Han, kana, bopomofo, Thai, Lao, Myanmar, Khmer and the Tai scripts) give one token a
    letter, with the marks it carries. Soft hyphens and zero-width joiners vanish.
    """
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return _unicode_word().findall(_INVISIBLE_JOINERS.sub("", folded))


TOKENIZERS: Final[Mapping[str, Tokenizer]] = MappingProxyType(
    {
        "rouge": rouge_tokens,
        "unicode": unicode_tokens,
        "valor": valor_tokens,
        "whitespace": whitespace_tokens,
    }
)


def tokenizer_named(name: str) -> Tokenizer:
    """The tokenizer of that name; ValueError, with the names there are, if there is none."""
    if name not in TOKENIZERS:
        raise ValueError(f"unknown tokenizer {name!r}; use one of {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]


def stemmed(words: Iterable[str]) -> list[str]:
    """The words with those longer than three characters replaced by their English stem, as rouge-score does."""
    return [stem(word) if len(word) > 3 else word for word in words]


@cache
def _contested() -> frozenset[str]:
    """The characters that `re` and `regex` may disagree about when they match a word."""
    circled = filter(re.compile(f"[{_CIRCLED_LETTERS}]").match, characters("So"))
    return frozenset((*characters("M", "No", "Pc"), *circled, *_JOINERS))


@cache
def _valor_token() -> re.Pattern[str]:
    word = category_class("L", "M", "Nd", "Nl", "Pc") + _CIRCLED_LETTERS + _JOINERS
    return re.compile(rf"[{word}]+|\$\d+|{_NO_PERIOD_OR_SPACE}")


@cache
def _unicode_word() -> re.Pattern[str]:
    """One letter of a script written without spaces, or a run of other letters and digits; each with its marks."""
    marks = category_class("M")
    spaced = rf"[^\W_{_WRITTEN_WITHOUT_SPACES}]"
    return re.compile(rf"(?=\w)[{_WRITTEN_WITHOUT_SPACES}][{marks}]*|{spaced}+(?:[{marks}]+{spaced}*)*")
