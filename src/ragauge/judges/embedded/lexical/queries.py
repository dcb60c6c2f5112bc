"""A query as what it asks: a yes or no, a choice, or something to fill in; and answers that begin with yes or no."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragauge.judges.embedded.lexical.lexicon import AUXILIARIES, QUESTION_WORDS
from ragauge.judges.embedded.lexical.words import Kind, Word, words

_TRUTH = re.compile(r"(?<!\s)\s*is it (?:true|correct|the case) that\b", re.IGNORECASE)
_POLAR = re.compile(
    r"""\s*(?:(?P<yes>yes|yeah|yep|correct|true|indeed)|(?P<no>no(?!\.?\s?\d)|nope|false|incorrect))
    (?=\s*(?:[.,;:!\-–—]|\Z))[\s.,;:!\-–—]*""",
    re.IGNORECASE | re.VERBOSE,
)
_BEFORE_OR = 2  # content words before "or" that belong to the first choice


class Query(NamedTuple):
    """What a query asks.

    text: as it was asked. words: all of it. keys: its content. polar: it asks for yes or no. negated: it asks whether
    something is not so ("did he not go", where a no means that he did; "didn't he go" merely asks for a yes).
    given: the keys that an answer takes for granted: of a choice, only what stands before the choices.
    """

    text: str
    words: tuple[Word, ...]
    keys: frozenset[str]
    given: frozenset[str]
    polar: bool
    negated: bool


@lru_cache(maxsize=256)
def read_query(text: str) -> Query:
    """The query as read from its words."""
    found = words(_TRUTH.sub("did", text))
    polar = bool(found) and found[0].key in AUXILIARIES
    said = [word for word in found if word.kind != Kind.FUNCTION and word.key not in QUESTION_WORDS]
    keys = frozenset(word.key for word in said)
    choice = next((word for word in found if word.key == "or"), None)
    if choice is None:
        return Query(text, found, keys, keys, polar, polar and "not" in text.lower().split())
    before = [word.key for word in said if word.start < choice.start]
    return Query(text, found, keys, frozenset(before[:-_BEFORE_OR]), False, False)


def polarity(text: str) -> tuple[bool | None, str]:
    """True for a text that opens with a yes, False for a no, None for neither; and the text after it."""
    match = _POLAR.match(text)
    if match is None:
        return None, text
    return match.group("yes") is not None, text[match.end() :]


def asks(text: str) -> bool:
    """Whether a text is a question."""
    return text.rstrip().endswith("?")
