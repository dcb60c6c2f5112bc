"""Words in place of words, from WordNet 3.0: synonyms, contraries, and others of the same sort.

Read from the files of Debian's package wordnet-base. Needed while training alone; nothing of it is packaged.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path("/usr/share/wordnet")
_SORTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_NUMBERED = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_CLEAR = 0.8  # share of a word's uses in one part of speech from which it is taken to be of that part
_USED = 3  # times a word is seen in WordNet's own counts before it is put in another's place
_KIN = 40  # members of a sort up to which it is narrow enough for one to pass for another


class Thesaurus(NamedTuple):
    """For a word of one clear part of speech, in its most frequent sense: what may stand in its place."""

    synonyms: dict[str, list[str]]
    contraries: dict[str, list[str]]
    kin: dict[str, list[str]]


class _Synset(NamedTuple):
    lemmas: list[str]
    above: list[str]
    contrary: list[tuple[str, str]]


@cache
def thesaurus() -> Thesaurus:
    """WordNet as tables. Raises FileNotFoundError where the package wordnet-base is not installed."""
    synsets = {key: synset for sort in _SORTS for key, synset in _read_synsets(sort)}
    counts = _counts()
    first = {lemma: key for sort in _SORTS for lemma, key in _first_senses(sort) if _is_clear(lemma, sort, counts)}
    below: dict[str, list[str]] = defaultdict(list)
    for lemma, key in first.items():
        if sum(counts[lemma].values()) >= _USED:
            for above in synsets[key].above:
                below[above].append(lemma)
    found = Thesaurus({}, {}, {})
    for lemma, key in first.items():
        synset = synsets[key]
        others = [other for other in synset.lemmas if other != lemma and first.get(other) == key]
        against = sorted({word for at, _ in synset.contrary for word in synsets[at].lemmas if first.get(word) == at})
        kin = sorted({word for above in synset.above if len(below[above]) <= _KIN for word in below[above]})
        _put(found.synonyms, lemma, others)
        _put(found.contraries, lemma, against)
        _put(found.kin, lemma, [word for word in kin if word != lemma and word not in synset.lemmas])
    return found


def _put(table: dict[str, list[str]], lemma: str, others: list[str]) -> None:
    plain = [word for word in others if word.isalpha() and word.islower()]
    if plain and lemma.isalpha() and lemma.islower():
        table[lemma] = plain


def _lines(name: str) -> list[str]:
    text = (FOLDER / name).read_text(encoding="utf-8", errors="replace")
    return [line for line in text.splitlines() if line and not line.startswith(" ")]


def _read_synsets(sort: str) -> list[tuple[str, _Synset]]:
    return [_synset(line.partition("|")[0].split(), sort) for line in _lines(f"data.{_SORTS[sort]}")]


def _synset(fields: list[str], sort: str) -> tuple[str, _Synset]:
    size = int(fields[3], 16)
    lemmas = [fields[4 + 2 * at].lower().partition("(")[0] for at in range(size)]
    rest = fields[5 + 2 * size :]
    pointers = [rest[4 * at : 4 * at + 4] for at in range(int(fields[4 + 2 * size]))]
    above = [kind + at for symbol, at, kind, _ in pointers if symbol == "@"]
    contrary = [(kind.replace("s", "a") + at, which) for symbol, at, kind, which in pointers if symbol == "!"]
    return sort + fields[0], _Synset(lemmas, above, contrary)


def _first_senses(sort: str) -> list[tuple[str, str]]:
    rows = (line.split() for line in _lines(f"index.{_SORTS[sort]}"))
    return [(fields[0], sort + fields[6 + int(fields[3])]) for fields in rows]


def _counts() -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for line in _lines("cntlist.rev"):
        sense, _, count = line.split()
        lemma, _, rest = sense.partition("%")
        counts[lemma][_NUMBERED[rest[0]]] += int(count)
    return counts


def _is_clear(lemma: str, sort: str, counts: dict[str, dict[str, int]]) -> bool:
    uses = counts.get(lemma)
    return bool(uses) and uses[sort] >= _CLEAR * sum(uses.values())


_ENDINGS = ("s", "ed", "ing")


def inflected(word: str, table: dict[str, list[str]]) -> list[str]:
    """What `table` has for a word, in the word's own form where that is regular: "rivers", "streams"."""
    if word in table:
        return table[word]
    for ending in _ENDINGS:
        for stem in (word.removesuffix(ending), word.removesuffix(ending) + "e"):
            if word.endswith(ending) and stem in table and with_ending(stem, ending) == word:
                return [with_ending(other, ending) for other in table[stem]]
    return []


def with_ending(stem: str, ending: str) -> str:
    """A regular form: "watch", "s" gives "watches"; "move", "ing" gives "moving"; "carry", "ed" gives "carried"."""
    if stem.endswith("y") and stem[-2:-1] not in tuple("aeiou") and ending != "ing":
        return stem[:-1] + ("ies" if ending == "s" else "ied")
    if ending == "s":
        return stem + ("es" if stem.endswith(("s", "x", "z", "ch", "sh")) else "s")
    return (stem.removesuffix("e") if stem.endswith("e") else stem) + ending
