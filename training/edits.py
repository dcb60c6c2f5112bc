"""Claims made from the sentences of a document: some it supports, some it does not. Seeded; used only for fitting."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from ragauge.judges.embedded.lexicon import antonyms
from ragauge.text.sentences import sentences

_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_VERB = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|should|may)\b")
_WORD = re.compile(r"[A-Za-z]+")
_KEEP = frozenset("not no never none nobody neither nor without cannot hardly".split())
_MONTHS = "January February March April May June July August September October November December".split()

# Words that a paraphrase may bring in: common enough to say little.
COMMON = """make take give find show help work become include provide create lead cause allow require remain offer
support receive follow begin describe known major important main large early recent various different several many new
later group part place number time year people area way system process state result event role form level case
point issue development activity change effort member service program report example effect period history use
need interest""".split()

# An edit gets the sentence, sentences to borrow from, and chance; it gives None where it does not apply.
Edit = Callable[[str, Sequence[str], random.Random], str | None]


def plain_sentences(document: str) -> list[str]:
    """The sentences of eight to forty words that end like a statement."""
    found = [document[start:end] for start, end in sentences(document)]
    return [text for text in found if 8 <= len(text.split()) <= 40 and text.endswith(".") and '"' not in text]


def reworded(text: str, chance: random.Random) -> str:
    """The same said with less: a parenthesis, a tail after a comma, or a few words left out."""
    text = re.sub(r" \([^()]*\)", "", text)
    if chance.random() < 0.3 and text.count(", ") == 1 and len(text.partition(", ")[0].split()) > 6:
        text = text.partition(", ")[0] + "."
    rate = chance.choice((0.0, 0.0, 0.1, 0.2, 0.3))
    words = text.split()
    kept = [word for word in words if chance.random() >= rate or not _droppable(word)]
    return " ".join(kept) if len(kept) > 4 else text


def retold(told: Sequence[str], chance: random.Random) -> str:
    """Sentences as one claim in other words: shortened, joined, and some of their common words replaced."""
    parts = [reworded(text, chance).rstrip(".") for text in told]
    rate = chance.choice((0.0, 0.0, 0.1, 0.2))
    words: list[str] = []
    for word in " and ".join(parts).split():
        new = chance.choice(COMMON) if chance.random() < rate else ""
        words += [new] if new and _replaceable(word) else [word, new] if new else [word]
    return " ".join(words) + "."


def _replaceable(word: str) -> bool:
    return word.isalpha() and word.islower() and len(word) > 3 and word not in _KEEP


def _droppable(word: str) -> bool:
    return word.islower() and word.strip(".,").lower() not in _KEEP and word.isalpha()


def other_number(text: str, others: Sequence[str], chance: random.Random) -> str | None:
    """Another number in the place of one, near it in size or taken from elsewhere."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    at = chance.choice(found)
    value = at.group().replace(",", "")
    elsewhere = [number for other in others for number in _NUMBER.findall(other) if len(number) == len(at.group())]
    near = str(int(float(value)) + chance.choice((-3, -2, -1, 1, 2, 3, 7, 10)))
    new = chance.choice(elsewhere) if elsewhere and chance.random() < 0.5 else near
    return _put(text, at, new) if new != value else None


def other_month(text: str, _others: Sequence[str], chance: random.Random) -> str | None:
    """Another month in the place of one."""
    found = [at for at in _WORD.finditer(text) if at.group() in _MONTHS]
    return (
        _put(text, found[0], chance.choice([month for month in _MONTHS if month != found[0].group()]))
        if found
        else None
    )


def other_name(text: str, others: Sequence[str], chance: random.Random) -> str | None:
    """A name from elsewhere in the place of one."""
    found = list(_NAME.finditer(text))
    names = sorted({name for other in others for name in _NAME.findall(other)} - {at.group() for at in found})
    return _put(text, chance.choice(found), chance.choice(names)) if found and names else None


def negated(text: str, _others: Sequence[str], _chance: random.Random) -> str | None:
    """A "not" put in or taken out."""
    if " not " in text:
        return text.replace(" not ", " ", 1)
    at = _VERB.search(text)
    return _put(text, at, at.group() + " not") if at else None


def opposed(text: str, _others: Sequence[str], chance: random.Random) -> str | None:
    """A word replaced by its contrary."""
    found = [at for at in _WORD.finditer(text) if at.group() in antonyms()]
    if not found:
        return None
    at = chance.choice(found)
    return _put(text, at, chance.choice(sorted(antonyms()[at.group()])))


def other_words(text: str, others: Sequence[str], chance: random.Random) -> str | None:
    """One or two content words replaced by words from elsewhere."""
    found = [at for at in _WORD.finditer(text) if len(at.group()) > 4 and at.group().islower()]
    pool = sorted({word for other in others for word in _WORD.findall(other) if len(word) > 4 and word.islower()})
    if not found or not pool:
        return None
    return _put(text, chance.choice(found), chance.choice(pool))


def other_half(text: str, others: Sequence[str], chance: random.Random) -> str | None:
    """The first half of this sentence with the second half of another."""
    mine, theirs = text.split(), chance.choice(others).split() if others else []
    return " ".join(mine[: len(mine) // 2] + theirs[len(theirs) // 2 :]) if theirs else None


WRONG: tuple[Edit, ...] = (other_number, other_month, other_name, negated, opposed, other_words, other_half)


def _put(text: str, at: re.Match[str], new: str) -> str:
    return text[: at.start()] + new + text[at.end() :]
