"""Cues: how the word lists of the embedded judge are looked for."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragauge.text.patterns import phrases
from ragauge.types import Span


class Cue(NamedTuple):
    """A pattern over lower-cased text, and the words of which it needs one: without them it need not be tried."""

    triggers: frozenset[str]
    pattern: re.Pattern[str]

    def find(self, lowered: str, present: frozenset[str]) -> list[Span]:
        """The spans of the cue in a text whose words are given."""
        if self.triggers.isdisjoint(present):
            return []
        return [found.span() for found in self.pattern.finditer(lowered)]


def cue(triggers: str, *patterns: str) -> Cue:
    """A cue for any of the patterns, each of which needs one of the trigger words."""
    return Cue(frozenset(triggers.split()), re.compile(phrases(*patterns)))


def in_name(sentence: str, word: re.Match[str]) -> bool:
    """Is a word part of a name, such as "Beautiful" in "A Beautiful Mind"? Told by its capital; all capitals shout."""
    if not word[0][0].isupper() or (word[0].isupper() and len(word[0]) > 1):
        return False
    opens = not sentence[: word.start()].strip(" \"'“‘*")
    return not opens or sentence[word.end() + 1 : word.end() + 2].isupper()
