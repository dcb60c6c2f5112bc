"""Claims made from the sentences of a document: some it supports, some it does not. Seeded; used only for fitting."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence

from antonyms import antonyms
from thesaurus import inflected, thesaurus

from ragauge.text.sentences import sentences

_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_VERB = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|should|may)\b")
_WORD = re.compile(r"[A-Za-z]+")
_KEEP = frozenset("not no never none nobody neither nor without cannot hardly".split())
_PROPER = re.compile(r"(?<![\w'])[A-Z][a-z]+(?: [A-Z][a-z]+)*(?![\w'])")
_OPENERS = frozenset(
    "The A An In On At It This These There They He She For His Her Its Their When While After Before As But".split()
)
_JOINS = re.compile(r",? (?:and|or) |, | ")
_TAIL = re.compile(
    r"(?:,? (?:which|because|while|after|before|including|although|with|where|so that|in order to|due to) [^,;]{10,90}"
    r"|,? (?:in|by|since|until|during) (?:[A-Z][a-z]+ )?\d{4})\.$"
)
_SIZES = [
    one.split()
    for one in (
        "million billion thousand trillion", "kilometers miles meters", "days weeks months years hours minutes",
        "first second third fourth fifth last", "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "dollars euros pounds yen", "north south east west", "northern southern eastern western",
        "morning evening afternoon night", "spring summer autumn winter", "daily weekly monthly annually",
        "one two three four five six seven eight nine ten", "half quarter third double", "percent times",
        "red blue green yellow black white", "male female", "father mother", "son daughter", "brother sister",
    )
]  # fmt: skip
_QUANTITIES = [
    one.split("|")
    for one in (
        "all|some|most|few|many|no", "All|Some|Most|Few|Many|No", "always|sometimes|never|often|rarely|usually",
        "before|after", "more|less|fewer", "most|least", "may|will|must|cannot", "might|would|must", "could|did",
        "at least|at most|exactly", "more than|less than|exactly", "increase|decrease", "increased|decreased",
        "rose|fell", "higher|lower", "largest|smallest", "best|worst", "with|without", "only|also",
        "until|since|before",
        "because of|despite", "above|below", "inside|outside", "every|some|no", "began|ended", "joined|left",
        "won|lost", "accepted|rejected", "allowed|prohibited", "allows|forbids", "likely|certain|unlikely",
        "possible|certain|impossible", "supported|opposed", "early|late", "earlier|later", "both|neither|only one of",
    )
]  # fmt: skip
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


def restated(texts: Sequence[str], chance: random.Random) -> str:
    """Sentences as one claim in other words: shortened, joined, and some of their common words replaced."""
    parts = [reworded(text, chance).rstrip(".") for text in texts]
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


def other_size(text: str, _others: Sequence[str], chance: random.Random) -> str | None:
    """Another order of magnitude, unit or measure."""
    return _exchanged(_SIZES, text, chance)


def other_quantity(text: str, _others: Sequence[str], chance: random.Random) -> str | None:
    """Another quantifier, frequency, comparison, order in time or certainty."""
    return _exchanged(_QUANTITIES, text, chance)


def _exchanged(groups: Sequence[Sequence[str]], text: str, chance: random.Random) -> str | None:
    fitting = [(at, group) for group in groups for word in group for at in re.finditer(rf"\b{word}\b", text)]
    if not fitting:
        return None
    at, group = chance.choice(fitting)
    return _put(text, at, chance.choice([word for word in group if word != at.group()]))


def roles_exchanged(text: str, _others: Sequence[str], chance: random.Random) -> str | None:
    """Two names in each other's place, which no "and" or comma joins."""
    found = [at for at in _PROPER.finditer(text) if at.group() not in _OPENERS]
    pairs = [
        (one, two)
        for one, two in itertools.combinations(found, 2)
        if one.group() != two.group() and not _JOINS.fullmatch(text[one.end() : two.start()])
    ]
    if not pairs:
        return None
    one, two = chance.choice(pairs)
    return text[: one.start()] + two.group() + text[one.end() : two.start()] + one.group() + text[two.end() :]


def of_its_kind(text: str, _others: Sequence[str], chance: random.Random) -> str | None:
    """A word by another of the same sort: "dentist" for "doctor"."""
    return _by(thesaurus().kin, text, chance)


def contrary(text: str, _others: Sequence[str], chance: random.Random) -> str | None:
    """A word by its contrary in WordNet."""
    return _by(thesaurus().contraries, text, chance)


def _by(table: dict[str, list[str]], text: str, chance: random.Random) -> str | None:
    found = [(at, new) for at in _WORD.finditer(text) if at.group().islower() and (new := inflected(at.group(), table))]
    if not found:
        return None
    at, new = chance.choice(found)
    return _put(text, at, chance.choice(new))


def more_told(text: str, others: Sequence[str], chance: random.Random) -> str | None:
    """The tail of another sentence added to this one."""
    tails = [tail for other in others for tail in _TAIL.findall(other) if len(tail.split()) <= 14]
    return f"{text.rstrip('.')}{chance.choice(tails)}" if tails else None


#: Edits after which the text says something else, but need not speak against it.
NEUTRAL: tuple[Edit, ...] = (more_told, other_half, other_words, of_its_kind, other_quantity)
#: Edits after which the text speaks against the claim.
AGAINST: tuple[Edit, ...] = (
    other_number, other_number, other_month, other_name, other_name, negated, opposed, contrary, other_size,
    roles_exchanged,
)  # fmt: skip
WRONG: tuple[Edit, ...] = (other_number, other_month, other_name, negated, opposed, other_words, other_half)


def _put(text: str, at: re.Match[str], new: str) -> str:
    return text[: at.start()] + new + text[at.end() :]
