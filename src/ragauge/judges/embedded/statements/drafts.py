"""Drafts: statements while a sentence is taken apart, as the words that each will have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ragauge.judges.embedded.lexical.lexicon import FUNCTION_WORDS
from ragauge.text.citations import unmarked
from ragauge.types import Span

_TOKEN = re.compile(
    r"""(?:[A-Za-z]\.){2,}
    |(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Inc|Ltd|Co|Corp|Prof|Gen|Lt|Rev|vs)\.(?=[\s,])
    |[A-Z]\.(?=\s+[A-Z])
    |[$€£¥#]?\d+(?:[.,:/]\d+)*(?:%|[^\W_]+)?
    |[^\W_]+(?:['’.&/–-][^\W_]+)*
    |[^\s*]""",
    re.VERBOSE,
)
_CLINGING = frozenset(".,;:!?'")


class Token(NamedTuple):
    """A word or a sign. place: its position among the tokens of its sentence, -1 for one that is put in.

    name: it has a capital and is no function word, so that it names something or opens a sentence.
    """

    raw: str
    lower: str
    name: bool
    start: int
    end: int
    place: int

    @property
    def word(self) -> bool:
        """Is it a word or a number?"""
        return self.raw[-1].isalnum() or self.raw[0].isalnum()

    @property
    def number(self) -> bool:
        """Does it begin or end with a digit?"""
        return self.raw[0].isdecimal() or self.raw[-1].isdecimal()


class Draft(NamedTuple):
    """A statement to be: what it covers of the text, and its words, which may come from several places of it."""

    span: Span
    words: tuple[Token, ...]


def tokens(text: str, span: Span, marks: Sequence[Span] = ()) -> tuple[Token, ...]:
    """The tokens of a part of a text; citation marks and emphasis are none."""
    found = [*_TOKEN.finditer(text, *span)]
    inside = [mark for mark in marks if mark[0] < span[1] and span[0] < mark[1]]
    if inside:
        covered = {at for mark in inside for at in range(*mark)}
        found = [one for one in found if one.start() not in covered]
    return tuple(Token(*_read(one.group()), *one.span(), place) for place, one in enumerate(found))


def added(raw: str) -> Token:
    """A word that is put in."""
    return Token(*_read(raw), -1, -1, -1)


@lru_cache(maxsize=20_000)
def _read(raw: str) -> tuple[str, str, bool]:
    lower = raw.lower().replace("’", "'")
    return raw, lower, raw[0].isupper() and lower not in FUNCTION_WORDS


def worded(text: str, words: Sequence[Token], marks: Sequence[Span]) -> str:
    """The words as a text: what stands together in the source is taken over as it stands, but for citation marks."""
    return "".join(_stretch(text, run, marks) for run in _runs(words)).strip()


def _runs(words: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The stretches of words that follow each other in the source; a word put in stands alone."""
    begin = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at].place != words[at - 1].place + 1 or words[at].place <= 0:
            yield words[begin:at]
            begin = at


def _stretch(text: str, run: Sequence[Token], marks: Sequence[Span]) -> str:
    """One stretch with the space that goes before it."""
    first, last = run[0], run[-1]
    stretch = first.raw if first.place < 0 else unmarked(text, _emphasised(text, first.start, last.end), marks)
    return stretch if first.raw[0] in _CLINGING else f" {stretch}"


def _emphasised(text: str, start: int, end: int) -> Span:
    """The span with the stars around it."""
    while start and text[start - 1] == "*":
        start -= 1
    while text[end : end + 1] == "*":
        end += 1
    return start, end


def within_name(words: Sequence[Token], place: int) -> bool:
    """Whether a comma stands within a name, a place or a date: "Ulm, Germany", "May 5, 1950"."""
    before, after = words[place - 1 : place], words[place + 1 : place + 2]
    return all(word.name or word.number for word in (*before, *after)) and bool(before and after)
