"""Opinions: whether a sentence carries its author's own belief, judgment, attitude or threat.

Word lists and patterns, not understanding. They err towards finding an opinion, because whether it is biased or toxic
is asked afterwards, and an opinion missed here is never asked about.
"""

from __future__ import annotations

import re
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

from ragauge.judges.embedded.statements.attribution import own_words, reports
from ragauge.judges.embedded.statements.clauses import FINITE
from ragauge.judges.embedded.statements.evaluation import Evaluation, evaluations
from ragauge.judges.embedded.statements.hostility import SLANT, hostilities
from ragauge.judges.embedded.statements.stances import ATTITUDE, BELIEF, DEMAND, SIGH
from ragauge.types import Span


class Voice(IntEnum):
    """How far a sentence is its author's opinion."""

    ASSERTION = 0
    MIXED = 1
    OPINION = 2


_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_EXAMINED = 2000
_TOKEN = re.compile(r"[\w']+")
_FACT = re.compile(r"\d|\b(?:in|of|from|by|at|on)\s+(?:the\s+)?[A-Z][a-z]")
_TO_DO = re.compile(r"\bto [a-z]+")
_CLAUSE_BREAK = re.compile(r"[,;:]\s|\b(?:because|since|while|although|though|which|who|and|but|whereas|that)\s")
_AUTHOR = re.compile(r"\W*(?:and\s+|but\s+)?(?:i|we|you)\b", re.IGNORECASE)


class Reading(NamedTuple):
    """What a sentence shows of its author: the places of beliefs, feelings and judgments, and whether it is slanted."""

    believed: list[Span]
    felt: list[Span]
    judged: list[Evaluation]
    slanted: bool

    @property
    def neutral(self) -> bool:
        """Is there no trace of the author?"""
        return not (self.believed or self.felt or self.judged or self.slanted)


def voice(sentence: str) -> Voice:
    """Is the sentence an assertion, an opinion, or both?

    OPINION where nothing is left to check once the judgment is taken away ("The film is awful."). MIXED where a fact
    comes with it ("I think he was born in 1950."), where it is advice or a demand ("You should restart it."), which
    contexts can support, and where a fact is told in value-laden words ("His female assistant took notes."). What
    others are reported to say or believe is not the author's.
    """
    sentence = _plain(sentence)
    if _read(sentence).neutral:
        return Voice.ASSERTION
    own = own_words(sentence)
    reading = _read(own)
    blamed = [judged[:2] for judged in reading.judged if judged.pointed or own.endswith("!")]
    marks = reading.believed + reading.felt + blamed
    if not marks:
        return Voice.ASSERTION if reading.neutral else Voice.MIXED
    only_believed = len(marks) == len(reading.believed)
    return Voice.MIXED if reports(sentence) or _asserts(own, marks, only_believed=only_believed) else Voice.OPINION


def is_hostile(sentence: str) -> bool:
    """Does the sentence insult, threaten or dismiss somebody, in the author's own voice?"""
    own = own_words(_plain(sentence))
    return bool(hostilities(own, *_lowered(own)))


def _plain(sentence: str) -> str:
    return sentence[:_EXAMINED].replace("’", "'")


def _read(own: str) -> Reading:
    lowered, words = _lowered(own)
    return Reading(
        believed=BELIEF.find(lowered, words),
        felt=ATTITUDE.find(lowered, words) + hostilities(own, lowered, words),
        judged=evaluations(own, lowered, words),
        slanted=any(cue.find(lowered, words) for cue in (SLANT, DEMAND, SIGH)),
    )


def _lowered(own: str) -> tuple[str, frozenset[str]]:
    """The sentence in lower case, character for character, and its words."""
    lowered = own.lower()
    if len(lowered) != len(own):
        lowered = "".join(character.lower()[0] for character in own)
    return lowered, frozenset(_WORD.findall(lowered))


def _finite(clause: str) -> bool:
    return not FINITE.isdisjoint(_TOKEN.findall(clause.lower()))


def _asserts(own: str, marks: list[Span], *, only_believed: bool) -> bool:
    """Does the sentence hold something to check beside its judgments?"""
    last = max(end for _, end in marks)
    if _FACT.search(own, last) or (only_believed and (_finite(own[last:]) or _TO_DO.search(own, last))):
        return True
    edges = [0, *(found.start() for found in _CLAUSE_BREAK.finditer(own)), len(own)]
    return any(
        not any(start < right and left < end for start, end in marks)
        and not _AUTHOR.match(_CLAUSE_BREAK.sub("", own[left:right], count=1))
        and _finite(own[left:right])
        for left, right in pairwise(edges)
    )
