"""Questions that yes or no answers, as statements: "is mont blanc in france" is "Mont Blanc is in France"."""

from __future__ import annotations

import re
from typing import NamedTuple

_VERBS = frozenset("is are was were can could does do did has have had will would should must may might".split())
_SUBJECTS = frozenset("i you we he she it they there this that".split())
_ARTICLES = frozenset("the a an".split())
_SUBJECT_WORDS = 7  # at most
_THIRD = {"have": "has", "go": "goes", "do": "does"}
_LINKS = frozenset("and or".split())
_LOOSE = frozenset("from of in with for on at that who which to by".split())  # what follows may belong to the subject
_WORD = re.compile(r"\w[\w'’.-]*\w|\w")
_INNER_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'’-]*")


class Stated(NamedTuple):
    """What a question asks about, said to be so, and said not to be so."""

    so: str
    not_so: str


def stated(question: str, passage: str) -> Stated | None:
    """A question with its verb behind its subject, in the spelling of the passage.

    None where it does not begin with a verb, or where the passage does not show which words are its subject.
    """
    words = [word for word in question.strip().rstrip("?").split() if word.lower() != "ever"]
    verb = words[0].lower() if words else ""
    if verb not in _VERBS or len(words) < 3:
        return None
    spelt = _spellings(passage)
    rest = [spelt.get(word.lower(), word) for word in words[1:]]
    length = _subject(words[1:], passage.lower())
    if not length or "not" in words or words[length + 1].lower() in _LOOSE:
        return None
    subject, told = " ".join(rest[:length]), rest[length:]
    denied = f"{subject} {verb} not {' '.join(told)}"
    if verb == "does":
        told = [_third(told[0]), *told[1:]]
    plain = [] if verb in ("do", "does") else [verb]
    return Stated(_sentence(" ".join([subject, *plain, *told])), _sentence(denied))


def _subject(words: list[str], passage: str) -> int:
    """How many words are the subject, and its partners after an "and"; 0 where that is not known, or none is left."""
    length = _single(words, passage) if words else 0
    if length and words[length].lower() in _LINKS:
        more = _subject(words[length + 1 :], passage)
        return length + 1 + more if more else 0
    return length


def _single(words: list[str], passage: str) -> int:
    """A pronoun, or the longest beginning that stands in the passage."""
    if words[0].lower() in _SUBJECTS:
        return 1 if len(words) > 1 else 0
    first = 1 if words[0].lower() in _ARTICLES else 0
    for length in range(min(_SUBJECT_WORDS, len(words) - 1), first, -1):
        if re.search(rf"\b{re.escape(' '.join(words[first:length]).lower())}\b", passage):
            return length
    return 0


def _spellings(passage: str) -> dict[str, str]:
    """The words that a passage writes with a capital inside a sentence, and never without one."""
    found = set(_WORD.findall(passage))
    return {word.lower(): word for word in _INNER_NAME.findall(passage) if word.lower() not in found}


def _third(verb: str) -> str:
    """The verb of a third person."""
    if verb in _THIRD:
        return _THIRD[verb]
    if re.search(r"(?:s|x|z|ch|sh)$", verb):
        return verb + "es"
    return re.sub(r"(?<![aeiou])y$", "ie", verb) + "s"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
