"""Whether two short answers are one name written otherwise: by its initials, or with other spaces and signs."""

from __future__ import annotations

import re

from ragauge.judges.embedded.lexical.spellings import roman

_ACRONYM = re.compile(r"(?<![\w.])(?:[A-Z]{3,6}|(?:[A-Z]\. ?){3,6})(?!\w|\.\w)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SMALL = frozenset("of and the for in on at to a an de la".split())
_NO_PART = frozenset("jr sr".split())
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_LEAST = 3  # letters of a name that may be written with other spaces


def is_same_name(text: str, name: str, query: str) -> bool:
    """Whether a text gives a name by its initials, or at full length where the name is its initials, or as a whole in
    other spaces and signs. Two initials are too few: many names have them.

    query: what the text answers; initials that stand there already tell nothing.
    """
    asked = {word.upper() for word in _WORD.findall(query)}
    return _squeezed(text) == _squeezed(name) is not None or any(
        _spells(_WORD.findall(other), short)
        for one, other in ((text, name), (name, text))
        for short in map(_letters, _ACRONYM.findall(one))
        if short not in asked
    )


def _letters(acronym: str) -> str:
    return re.sub(r"[. ]", "", acronym)


def _squeezed(text: str) -> str | None:
    """The letters of a text; None where they are few, or numbers stand among them."""
    letters = re.sub(r"[\W_]+", "", _ARTICLE.sub("", text.strip(), count=1).lower())
    return letters if len(letters) >= _LEAST and letters.isalpha() else None


def _spells(words: list[str], short: str) -> bool:
    """Whether initials are those of all the words, or of capitalised ones that follow each other."""
    counted = [word for word in words if word.lower() not in _NO_PART]
    ways = (counted, [word for word in counted if word.lower() not in _SMALL])
    runs = (run for said in ways for first in range(len(said)) if (run := _beginning(said[first:], short)))
    return any(run in ways or all(word[0].isupper() or word in _SMALL for word in run) for run in runs)


def _beginning(words: list[str], short: str) -> list[str]:
    """The words, two or more, whose initials are `short`, from the first on; none if they are others."""
    heads = ""
    for count, word in enumerate(words, 1):
        heads += word if roman(word) > 1 else word[0].upper()
        if heads == short and count > 1:
            return words[:count]
    return []
