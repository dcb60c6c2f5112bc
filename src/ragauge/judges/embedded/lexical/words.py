"""A text as words with canonical keys, so that the same fact told with other forms of words meets itself.

A key is the stem of a word after irregular forms and nationalities are led back to their base ("went" and "go",
"German" and "Germany"), or the value of a number ("#1500"). A word carries its place, kind, and whether it is negated.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache, lru_cache
from typing import NamedTuple
from unicodedata import combining, normalize

from ragauge.judges.embedded.lexical import lexicon
from ragauge.judges.embedded.lexical.numbers import century, is_ordinal, key, read_number, twelve_hours
from ragauge.judges.embedded.lexical.spellings import ALIASES, EXPANDED, NUMBERED, PAIRS, UNITS, american, roman
from ragauge.text.tokens import stem


class Kind(IntEnum):
    """What a word is for the comparison."""

    FUNCTION = 0
    CONTENT = 1
    NAME = 2
    NUMBER = 3


class Word(NamedTuple):
    """One word: its key, characters from start to end, kind, whether a negation reaches it, which clause of the text it
    stands in, as far as stops and joining words tell, and whether it is a number that counts places ("third")."""

    key: str
    start: int
    end: int
    kind: Kind
    negated: bool
    clause: int
    ordinal: bool = False


_UNSPACED = (
    r"[\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u3005-\u3007\u3041-\u3096\u30a1-\u30ff\u3400-\u9fff]"  # each a word
)
_TOKEN = re.compile(
    r"""(?P<date>\d{4}-\d{2}-\d{2}(?!\d))
    |(?P<number>\d{1,2}:\d{2}(?!\d)|(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:(?:st|nd|rd|th|s|k|bn|(?<=0)['’]s)\b)?)
    |(?P<dotted>(?:[A-Za-z]\.){2,}|[A-Z]\.(?:\ +[A-Z]\.)+)
    |(?P<unspaced>{_UNSPACED})
    |(?P<word>(?:(?!{_UNSPACED}|Â\u00a0)[^\W\d_])+(?:['’][^\W\d_]+)*\d*)
    |(?P<sign>[%$€£¥])
    |(?P<stop>[.,;:!?()\[\]"“”。、，；：！？]|\s[-–—]\s)""".replace("{_UNSPACED}", _UNSPACED),
    re.VERBOSE,
)
_CAMEL = re.compile(r"[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})+\Z")  # "AutoLoader"
_HUMP = re.compile(r"[A-Z]?[a-z]+")
_SIGNS = {"%": "percent", "$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_CONTRACTION = re.compile(r"(.+?)(?:n['’]t|(?<!\d0)['’](?:s|re|ve|ll|d|m))?\Z", re.DOTALL)
_MONTH_NAMES = tuple(dict.fromkeys(lexicon.MONTHS.values()))
_NEGATING = ("un", "non", "dis")
_JOINING = frozenset("and but or while whereas because although though however plus und aber".split())
_NEGATION_ENDS = _JOINING - {"and", "or", "plus", "und"}
_GRAMMAR = frozenset("的是了在和与及之也都")  # Chinese characters, and all of hiragana, that only join others
_REACH = 3  # content words that a negation reaches


class _Token(NamedTuple):
    """roman: the value of what may be a Roman numeral, or 0."""

    lower: str
    start: int
    end: int
    stop: bool
    capital: bool
    roman: int = 0


def words(text: str) -> tuple[Word, ...]:
    """The words of `text` in order; punctuation only ends the reach of a negation and of a sentence's first word."""
    return tuple(_Reader(_tokens(text)).read())


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(text):
        start, end, raw = match.start(), match.end(), match.group()
        if match.lastgroup == "stop":
            tokens.append(_Token(raw.strip(), start, end, True, False))
        elif match.lastgroup == "date":
            tokens += [_Token(part, start, end, False, False) for part in _date_parts(raw)]
        elif parts := twelve_hours(raw) or century(raw):
            tokens += [_Token(part, start, end, False, False) for part in parts]
        elif match.lastgroup == "dotted":
            tokens.append(_Token(re.sub(r"[. ]", "", raw).lower(), start, end, False, raw.isupper()))
        elif _CAMEL.match(raw):
            tokens += _humps(raw, start)
        else:
            tokens += _plain(raw, start, end)
    return tokens


def _humps(raw: str, start: int) -> list[_Token]:
    """ "AutoLoader" as two words; a word of which a part says nothing ("YouTube") as one."""
    parts = [(part.group().lower(), start + part.start(), start + part.end()) for part in _HUMP.finditer(raw)]
    if any(lower in lexicon.FUNCTION_WORDS for lower, _, _ in parts):
        return _plain(raw, start, start + len(raw))
    return [_Token(lower, begin, end, False, raw[begin - start].isupper()) for lower, begin, end in parts]


def _date_parts(raw: str) -> list[str]:
    year, month, day = raw.split("-")
    name = _MONTH_NAMES[int(month) - 1] if 1 <= int(month) <= 12 else month
    return [day, name, year]


def _plain(raw: str, start: int, end: int) -> list[_Token]:
    base_match = _CONTRACTION.match(raw)
    base = base_match.group(1) if base_match else raw
    lower = base.lower()
    if expanded := EXPANDED.get(lower):
        return [_Token(part, start, end, False, raw[0].isupper() and part.isalpha()) for part in expanded]
    token = _Token(lower, start, end, False, base[0].isupper() and (lower != "us" or base == "US"), roman(base))
    if base == raw or raw[len(base)] not in "nN":
        return [token]
    verb = {"ca": "can", "wo": "will"}.get(lower, lower)
    return [token._replace(lower=verb), token._replace(lower="not", capital=False)]


class _Reader:
    """Turns tokens into words from left to right, keeping how far a negation still reaches."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.lowers = [token.lower for token in tokens]
        self.reach = 0
        self.clause = 0

    def read(self) -> list[Word]:
        found: list[Word] = []
        at, opening = 0, True
        while at < len(self.tokens):
            token = self.tokens[at]
            if token.stop and self._ends_initial(at):
                at += 1
                continue
            if token.stop:
                self.reach, at, self.clause = 0, at + 1, self.clause + 1
                opening = opening or token.lower in ".!?:"
                continue
            counted = bool(found) and found[-1].kind == Kind.NUMBER
            word, length = self._unit(at) if counted and self._is_unit(at) else self._word(at, opening)
            found.append(word)
            at, opening = at + length, False
        return found

    def _ends_initial(self, at: int) -> bool:
        """Whether a stop stands behind a single capital, as in "Samuel L. Jackson", and so ends no sentence."""
        if not at or self.tokens[at].lower != ".":
            return False
        before = self.tokens[at - 1]
        initial = before.capital and before.end - before.start == 1 and before.lower != "i"
        return initial and before.end == self.tokens[at].start

    def _is_unit(self, at: int) -> bool:
        """Whether a unit in short stands right behind what is before it; "m" behind an amount of money is none."""
        money = self.lowers[at] == "m" and at > 1 and self.lowers[at - 2] in _SIGNS
        return self.lowers[at] in UNITS and not self.tokens[at - 1].stop and not money

    def _unit(self, at: int) -> tuple[Word, int]:
        return self._made(key_of(UNITS[self.lowers[at]]), at, 1, Kind.CONTENT), 1

    def _word(self, at: int, opening: bool) -> tuple[Word, int]:
        token = self.tokens[at]
        if token.roman and self._is_numeral(at):
            return self._made(key(token.roman), at, 1, Kind.NUMBER), 1
        number = read_number(self.lowers, at)
        if number is not None:
            found, length = number
            ordinal = is_ordinal(self.lowers[at + length - 1])
            return self._made(found, at, length, Kind.NUMBER)._replace(ordinal=ordinal), length
        lower = token.lower
        if lower in lexicon.NEGATIONS:
            if self.lowers[at + 1 : at + 2] not in (["only"], ["just"]):
                self.reach = _REACH + 1
            return self._made(lower, at, 1, Kind.FUNCTION), 1
        pair = PAIRS.get((lower, self.lowers[at + 1])) if at + 1 < len(self.lowers) else None
        if pair is not None:
            return self._made(key_of(pair), at, 2, Kind.NAME if token.capital else Kind.CONTENT), 2
        month = self._month(at)
        if month is not None:
            return self._made(month, at, 1, Kind.NAME), 1
        if lower in lexicon.FUNCTION_WORDS and not (lower == "us" and token.capital):
            self._join(lower)
            return self._made(lower, at, 1, Kind.FUNCTION), 1
        if lower in _GRAMMAR or "\u3041" <= lower <= "\u309f":
            return self._made(lower, at, 1, Kind.FUNCTION), 1
        named = token.capital and (not opening or self._capital(at + 1))
        return self._made(key_of(lower), at, 1, Kind.NAME if named else Kind.CONTENT), 1

    def _join(self, lower: str) -> None:
        if lower in _JOINING:
            self.clause += 1
        if lower in _NEGATION_ENDS:
            self.reach = 0

    def _capital(self, at: int) -> bool:
        """Whether a capitalised word that is no function word stands here: a name of two words may open a sentence."""
        following = self.tokens[at] if at < len(self.tokens) else None
        return following is not None and following.capital and following.lower not in lexicon.FUNCTION_WORDS

    def _is_numeral(self, at: int) -> bool:
        """Whether capitals that spell a Roman numeral are one: behind a name, or a word such as "part".

        A single "I" is one only behind a word that often has a number, or behind a name where nothing follows.
        """
        if not at or self.tokens[at - 1].stop:
            return False
        before, token = self.tokens[at - 1], self.tokens[at]
        if before.lower in NUMBERED:
            return True
        ends = at + 1 == len(self.tokens) or self.tokens[at + 1].stop
        named = before.capital and before.lower not in lexicon.FUNCTION_WORDS
        return named and (token.lower != "i" or ends)

    def _month(self, at: int) -> str | None:
        """The month named here; a form that is also another word ("may", "mar") needs a number beside it."""
        lower = self.lowers[at]
        month = lexicon.MONTHS.get(lower)
        if month is None or (month == lower and month not in ("may", "march")):
            return month
        after = [word for word in self.lowers[at + 1 : at + 3] if word not in ".,"][:1]
        dated = any(word[0].isdecimal() for word in self.lowers[max(at - 1, 0) : at] + after)
        return month if dated or (month == lower and self.tokens[at].capital) else None

    def _made(self, key: str, at: int, length: int, kind: Kind) -> Word:
        negated = False
        if kind != Kind.FUNCTION:
            negated = self.reach > 0
            self.reach = max(self.reach - 1, 0) if key not in _FACTIVES else 0
        elif key in lexicon.NEGATIONS and self.reach == _REACH + 1:
            self.reach = _REACH
        return Word(key, self.tokens[at].start, self.tokens[at + length - 1].end, kind, negated, self.clause)


@lru_cache(maxsize=1 << 15)
def key_of(lower: str) -> str:
    """The key of a lower-case word that is no number."""
    if not lower.isascii():
        lower = "".join(letter for letter in normalize("NFKD", lower) if not combining(letter))
    lower = american(lower)
    lower = ALIASES.get(lower, _SIGNS.get(lower, lower))
    lower = lexicon.nationalities().get(lower, lower)
    return stem(lexicon.irregular_forms().get(lower, lower))


_FACTIVES = frozenset(map(key_of, lexicon.FACTIVES))
TITLES = frozenset(map(key_of, lexicon.TITLES))
"""The keys of titles before a name."""


@cache
def _keyed(which: str) -> dict[str, frozenset[str]]:
    table = lexicon.synonyms() if which == "synonyms" else lexicon.antonyms()
    keyed: dict[str, frozenset[str]] = {}
    for word, others in table.items():
        own = words(word)[0].key
        keyed[own] = keyed.get(own, frozenset()) | {words(other)[0].key for other in others} - {own}
    return keyed


def synonyms(key: str) -> frozenset[str]:
    """Keys that may stand in the place of `key`."""
    return _keyed("synonyms").get(key, frozenset())


@lru_cache(maxsize=1 << 13)
def _contraries(key: str) -> frozenset[str]:
    """The antonyms of a word and its synonyms, with their synonyms; without what may stand in its own place."""
    own = {key} | synonyms(key)
    antonyms = {other for one in own for other in _keyed("antonyms").get(one, ())}
    return frozenset(antonyms.union(*map(synonyms, antonyms)) - own)


def opposites(key: str) -> frozenset[str]:
    """Keys that say the contrary of `key`: antonyms of it and of its synonyms, the synonyms of those, and the same word
    with or without a negating prefix."""
    prefixed = {prefix + key.removesuffix("e") for prefix in _NEGATING} | {prefix + key for prefix in _NEGATING}
    bare = {key.removeprefix(prefix) for prefix in _NEGATING if len(key) > len(prefix) + 2 and key.startswith(prefix)}
    return _contraries(key) | bare | {word + "e" for word in bare} | (prefixed if len(key) > 3 else set())
