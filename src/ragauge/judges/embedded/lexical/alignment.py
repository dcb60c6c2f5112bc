"""Which words of a claim a passage holds, in which sentences, and which sentences together hold most of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragauge.judges.embedded.lexical.binding import misplaced
from ragauge.judges.embedded.lexical.bounds import Bound, bound
from ragauge.judges.embedded.lexical.eras import Era, eras
from ragauge.judges.embedded.lexical.passages import Passage, Sentence
from ragauge.judges.embedded.lexical.quantities import Quantity, quantities
from ragauge.judges.embedded.lexical.rarity import weight
from ragauge.judges.embedded.lexical.words import TITLES, Kind, Word, synonyms

_SYNONYM, _FAMILY = 0.85, 0.5  # credit for a word found only as a synonym, or as one that begins alike
FOUND = 0.8  # credit from which a word counts as found
_SURNAME = 0.8  # credit for a first name that a sentence leaves out
_OTHERWISE = 0.95  # credit for a number, a quantity or an era that a sentence tells otherwise
_MOST = 3  # sentences that may support a claim together
_CANDIDATES = 12
_LEAST = 0.01  # weight of a part that says nothing
_PART = 5  # items that are looked for together in one sentence

Credits = dict[int, float]  # item of the claim -> how well it is found, in 0..1


class Part(NamedTuple):
    """Some items of a claim that follow each other, and their weight in all."""

    items: range
    total: float


class Claim:
    """What must be found: the distinct content words of a text, each with its weight.

    words: all words in order. items: the distinct content words, less those given. keys: their place among the items.
    weights: of the items. surnames: pairs of items, a name and the one it stands before.
    numbered: an item is a number. bounds: of the items that are one behind "over" or "about". quantities, eras: each
    with its items. parts: the items in stretches of about five, as they follow each other.
    """

    __slots__ = (
        "bounds", "eras", "items", "keys", "numbered", "parts", "quantities", "surnames", "total", "weights", "words",
    )  # fmt: skip

    def __init__(self, found: tuple[Word, ...], given: Collection[str] = ()) -> None:
        self.words = found
        self.items: list[Word] = []
        self.keys: dict[str, int] = {}
        self.bounds: dict[int, Bound] = {}
        for place, word in enumerate(found):
            if word.kind != Kind.FUNCTION and word.key not in self.keys and word.key not in given:
                if word.kind == Kind.NUMBER and (own := bound(found, place)):
                    self.bounds[len(self.items)] = own
                self.keys[word.key] = len(self.items)
                self.items.append(word)
        self.numbered = any(word.kind == Kind.NUMBER for word in self.items)
        self.weights = [weight(word) for word in self.items]
        self.total = sum(self.weights)
        self.surnames = [
            (self.keys[one.key], self.keys[two.key])
            for one, two in pairwise(found)
            if one.kind == two.kind == Kind.NAME and one.key in self.keys and two.key in self.keys
        ]
        distinct = {one.said: one for one in quantities(found)}  # in the same words it is the same quantity
        self.quantities = [(one, self._items(one)) for one in distinct.values()]
        self.eras = [(one, self._items(one)) for one in eras(found)]
        self.parts = _parts(self.weights)

    def _items(self, one: Quantity | Era) -> list[int]:
        """The items among the words of a quantity or an era."""
        return [self.keys[word.key] for word in self.words[one.first : one.behind] if word.key in self.keys]

    def share(self, credits: Credits) -> float:
        """Weighted share of the items found; 0 for a claim without items."""
        if not self.total:
            return 0.0
        return min(sum(self.weights[item] * credit for item, credit in credits.items()) / self.total, 1.0)


def _parts(weights: list[float]) -> list[Part]:
    """Items cut into stretches of equal length, about _PART each."""
    count = max(round(len(weights) / _PART), 1)
    cuts = [len(weights) * part // count for part in range(count + 1)]
    return [Part(range(one, two), max(sum(weights[one:two]), _LEAST)) for one, two in pairwise(cuts)]


class Evidence:
    """The sentence at place `at` of its passage, and what it holds of the claim."""

    __slots__ = ("at", "credits", "sentence", "share")

    def __init__(self, claim: Claim, sentence: Sentence, at: int, credits: Credits) -> None:
        self.sentence, self.at, self.credits = sentence, at, credits
        self.share = claim.share(credits)


def find(claim: Claim, source: Passage) -> list[Evidence]:
    """The sentences of `source` that hold anything of `claim`, best first."""
    hits: dict[int, Credits] = {}
    for item, word in enumerate(claim.items):
        for key, credit in _forms(word.key, source):
            for sentence in source.postings[key]:
                found = hits.setdefault(sentence, {})
                if credit > found.get(item, 0.0):
                    found[item] = credit
    for at, credits in hits.items() if claim.numbered else ():
        for key in misplaced(claim.words, source.sentences[at].words):
            credits.pop(claim.keys.get(key, -1), None)
    _credit_told_otherwise(claim, source, hits)
    if source.titled and 0 in hits:
        hits = {at: merged(hits[0], credits) for at, credits in hits.items()}
    for at, credits in hits.items() if claim.surnames else ():
        _credit_first_names(claim, source.sentences[at], credits)
    evidence = [Evidence(claim, source.sentences[at], at, credits) for at, credits in sorted(hits.items())]
    return sorted(evidence, key=lambda one: -one.share)


def _credit_told_otherwise(claim: Claim, source: Passage, hits: dict[int, Credits]) -> None:
    """A quantity counts where a sentence has it in another unit, an era where it has a year of it, and a number behind
    "over" or "about" where it has one that fits."""
    wanted: list[tuple[Quantity | Era | Bound, list[int], set[int]]] = [
        *((one, items, _measuring(source, one)) for one, items in claim.quantities),
        *((one, items, source.numbered) for one, items in claim.eras),
        *((one, [item], source.numbered) for item, one in claim.bounds.items() if one.counted or len(claim.items) == 1),
    ]
    for one, items, places in wanted:
        for at in places:
            if items and one.is_told(source.sentences[at].words):
                credits = hits.setdefault(at, {})
                credits.update({item: max(_OTHERWISE, credits.get(item, 0.0)) for item in items})


def _measuring(source: Passage, quantity: Quantity) -> set[int]:
    """The sentences that may have a quantity of the same dimension."""
    return {at for key in quantity.signs for at in source.postings.get(key, ())}


def _credit_first_names(claim: Claim, sentence: Sentence, credits: Credits) -> None:
    """A name of several words counts where its last word stands with no other name beside it."""
    for first, last in reversed(claim.surnames):
        places = sentence.places.get(claim.items[last].key, ()) if credits.get(last, 0.0) >= FOUND else ()
        if first not in credits and any(_stands_alone(sentence, at) for at in places):
            credits[first] = _SURNAME


def _stands_alone(sentence: Sentence, at: int) -> bool:
    before, after = sentence.words[max(at - 1, 0) : at], sentence.words[at + 1 : at + 2]
    return all(word.kind != Kind.NAME or word.key in TITLES or _is_initials(word) for word in before + after)


def _is_initials(word: Word) -> bool:
    """Whether a name is nothing but first letters, as in "J. M. W. Turner"."""
    return word.end - word.start >= 2 * len(word.key)


def _forms(key: str, source: Passage) -> list[tuple[str, float]]:
    """The keys of `source` under which `key` may be found, with their credit."""
    forms = [(key, 1.0)] if key in source.postings else []
    forms += [(other, _SYNONYM) for other in synonyms(key) if other in source.postings]
    return forms + [(other, _FAMILY) for other in source.family(key) if other != key]


def together(claim: Claim, evidence: Iterable[Evidence]) -> list[Evidence]:
    """The few sentences that hold most of `claim` together: the best, then those that add most.

    Ties are broken by the sentences' own text, so that the order of chunks does not matter.
    """
    pool = sorted(evidence, key=lambda one: (-one.share, one.sentence.text))[:_CANDIDATES]
    chosen: list[Evidence] = []
    credits: Credits = {}
    while pool and len(chosen) < _MOST:
        gains = [claim.share(merged(credits, one.credits)) for one in pool]
        best = max(range(len(pool)), key=gains.__getitem__)
        if chosen and gains[best] - claim.share(credits) < 0.02:
            break
        chosen.append(pool.pop(best))
        credits = merged(credits, chosen[-1].credits)
    return chosen


def merged(*parts: Credits) -> Credits:
    """The best credit of each item."""
    best: Credits = {}
    for part in parts:
        for item, credit in part.items():
            if credit > best.get(item, 0.0):
                best[item] = credit
    return best


def repeats(claim: Claim, source: Passage) -> bool:
    """Whether a sentence of `source`, or several in a row, says the claim word for word."""
    wanted = [word.key for word in claim.words]
    places = source.postings.get(wanted[0], ()) if wanted else ()
    opening = {at for at in places if _begins(wanted, source.sentences[at])}
    return bool(opening) and _in_a_row(wanted, source, opening)


def _begins(wanted: Sequence[str], sentence: Sentence) -> bool:
    """Whether the keys that are wanted begin with all keys of a sentence."""
    return len(sentence.words) <= len(wanted) and all(
        word.key == key for word, key in zip(sentence.words, wanted, strict=False)
    )


def _in_a_row(wanted: Sequence[str], source: Passage, opening: Collection[int]) -> bool:
    """Whether whole sentences, the first of which is one of `opening`, have just the keys that are wanted."""
    said, starts, ends = " ", set(), set()
    for at, sentence in enumerate(source.sentences):
        if at in opening:
            starts.add(len(said) - 1)
        said += "".join(f"{word.key} " for word in sentence.words)
        ends.add(len(said) - 1)
    run, found = f" {' '.join(wanted)} ", -1
    while (found := said.find(run, found + 1)) >= 0:
        if found in starts and found + len(run) - 1 in ends:
            return True
    return False
