"""A claim beside one sentence, word by word: negation, opposites, and what stands where a word is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ragauge.judges.embedded.lexical.alignment import FOUND, Claim, Credits
from ragauge.judges.embedded.lexical.binding import between, common_runs, of_a_date, replaced
from ragauge.judges.embedded.lexical.lexicon import MONTH_NAMES
from ragauge.judges.embedded.lexical.numbers import is_year
from ragauge.judges.embedded.lexical.passages import Sentence
from ragauge.judges.embedded.lexical.rarity import weight
from ragauge.judges.embedded.lexical.words import Kind, Word, opposites, synonyms

_NEAR = 4  # places within which two words count as neighbours


class Comparison(NamedTuple):
    """What a sentence does with the words of a claim.

    negation: a word of both is negated in one and not in the other, or what is more in one is less in the other.
    opposite: the sentence has the contrary of a missing word.
    rivals: numbers, dates or names in the place of a missing one.
    swapped: weight of words for which the sentence has others, between words that are alike; less where less is alike.
    """

    negation: bool
    opposite: bool
    rivals: int
    swapped: float


def compare(claim: Claim, sentence: Sentence, credits: Credits) -> Comparison:
    """The comparison of `claim` with `sentence`, which holds its items as `credits` says."""
    rivals, opposite = _replacements(claim, sentence, credits)
    alike, swaps = _alike(claim, sentence)
    negation = _negation_differs(claim, sentence) != _comparison_turned(claim.words, sentence.words)
    differing = [swap for swap in swaps if _differ(*swap)]
    opposite = opposite or any(_contrary(*swap) for swap in swaps)
    swapped = min(alike**2 * sum(max(map(weight, left)) for left, _ in differing), 1.0)
    return Comparison(negation, opposite, rivals, swapped)


Swap = tuple[tuple[Word, ...], tuple[Word, ...]]  # words of the claim, and words of the sentence in their place


def _alike(claim: Claim, sentence: Sentence) -> tuple[float, list[Swap]]:
    """Share of the claim in runs of words that the sentence has too, and what differs between two such runs."""
    mine, theirs = [word.key for word in claim.words], [word.key for word in sentence.words]
    if not mine:
        return 0.0, []
    runs = common_runs(mine, theirs)
    swaps = [
        (claim.words[one:two], sentence.words[three:four])
        for one, two, three, four in between(runs, len(mine), len(theirs))
    ]
    alike = sum(run.size for run in runs) / len(mine)
    return alike, [swap for swap in swaps if 0 < len(swap[0]) <= _NEAR and 0 < len(swap[1]) <= _NEAR]


def _differ(left: tuple[Word, ...], right: tuple[Word, ...]) -> bool:
    """Whether both say something, and not the same."""
    said, there = [{word.key for word in side if word.kind != Kind.FUNCTION} for side in (left, right)]
    return bool(said and there) and not any(key in there or synonyms(key) & there for key in said)


def _contrary(left: tuple[Word, ...], right: tuple[Word, ...]) -> bool:
    there = {word.key for word in right}
    return any(opposites(word.key) & there for word in left)


def _negation_differs(claim: Claim, sentence: Sentence) -> bool:
    """A word is negated in one and not in the other, and no negated word is negated in both.

    A word that stands with and without a negation in either says nothing.
    """
    mine: dict[str, set[bool]] = {}
    for word in claim.words:
        if word.kind != Kind.FUNCTION and word.key in sentence.places:
            mine.setdefault(word.key, set()).add(word.negated)
    theirs = {key: {sentence.words[place].negated for place in sentence.places[key]} for key in mine}
    same = any(True in negated and True in theirs[key] for key, negated in mine.items())
    return not same and any(not negated & theirs[key] for key, negated in mine.items())


def _comparison_turned(mine: tuple[Word, ...], theirs: tuple[Word, ...]) -> bool:
    """One says that A is more than B, the other that B is more than A."""
    (before, after), (there_before, there_after) = _compared(mine), _compared(theirs)
    return bool(after and there_after and after != there_after and after in there_before and there_after in before)


def _compared(found: tuple[Word, ...]) -> tuple[set[str], str | None]:
    """The content words before "than", and the first after it."""
    than = next((place for place, word in enumerate(found) if word.key == "than"), len(found))
    after = next((word.key for word in found[than:] if word.kind != Kind.FUNCTION), None)
    return {word.key for word in found[:than] if word.kind != Kind.FUNCTION}, after


def _replacements(claim: Claim, sentence: Sentence, credits: Credits) -> tuple[int, bool]:
    exchanged = replaced(claim.words, sentence.words) if claim.numbered else set()
    rivals = 0
    opposite = False
    for place, word in enumerate(claim.words):
        item = claim.keys.get(word.key)
        if item is None or credits.get(item, 0.0) >= FOUND:
            continue
        opposite = opposite or any(other in sentence.places for other in opposites(word.key) if other not in claim.keys)
        if word.key in exchanged or (word.kind == Kind.NUMBER and word.key in sentence.places):
            rivals += 1  # another number stands there, or it stands with other words
            continue
        slot = (other for other in _slot(claim, place, sentence) if other.key not in claim.keys)
        rivals += any(_same_sort(word, other) for other in slot) or _rival_number(claim, place, sentence)
    return rivals, opposite


def _slot(claim: Claim, place: int, sentence: Sentence) -> Iterator[Word]:
    """The content words of `sentence` that stand where the claim's word at `place` would stand."""
    before = _found(claim.words[:place][::-1], sentence)
    after = _found(claim.words[place + 1 :], sentence)
    for left in before:
        for right in after:
            if 1 < right - left <= _NEAR:
                yield from (word for word in sentence.words[left + 1 : right] if word.kind != Kind.FUNCTION)
    if not after:
        for left in before:
            yield from (word for word in sentence.words[left + 1 : left + 3] if word.kind != Kind.FUNCTION)


def _found(neighbours: tuple[Word, ...], sentence: Sentence) -> list[int]:
    """Places in `sentence` of the nearest content word, if it is there."""
    nearest = next((word for word in neighbours if word.kind != Kind.FUNCTION), None)
    return sentence.places.get(nearest.key, []) if nearest else []


def _same_sort(word: Word, other: Word) -> bool:
    if word.key in MONTH_NAMES or other.key in MONTH_NAMES:
        return word.key in MONTH_NAMES and other.key in MONTH_NAMES
    return word.kind == other.kind and word.kind in (Kind.NUMBER, Kind.NAME) and is_year(word.key) == is_year(other.key)


def _rival_number(claim: Claim, place: int, sentence: Sentence) -> bool:
    """The sentence gives another number for the same thing: the only year, or a number of the same unit."""
    word = claim.words[place]
    if word.kind != Kind.NUMBER:
        return False
    sort = _number_sort(claim.words, place)
    others = {
        other.key
        for at, other in enumerate(sentence.words)
        if other.kind == Kind.NUMBER and _number_sort(sentence.words, at) == sort
    }
    return bool(sort) and bool(others) and not others & set(claim.keys)


def _number_sort(found: tuple[Word, ...], place: int) -> str:
    """What the number at `place` counts: "year", "day" of a month, the word after it, or "" where nothing tells."""
    after = found[place + 1] if place + 1 < len(found) else None
    return of_a_date(found, place) or (after.key if after and after.kind == Kind.CONTENT else "")
