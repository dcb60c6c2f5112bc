"""Which number belongs to which words: "fat gives 9 and alcohol 7" does not say that fat gives 7."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from ragauge.judges.embedded.lexical.lexicon import MONTH_NAMES
from ragauge.judges.embedded.lexical.numbers import is_year
from ragauge.judges.embedded.lexical.words import Kind, Word

_CLAUSE = 4  # content words that the step into another clause counts for
_SIGHT = 6  # content words within which a number belongs to a word
_LONGER = 4  # words by which what stands in the place of others may be longer
_ALIKE = 0.6  # share of the words of the claim from which a replaced number tells

Owners = dict[tuple[str, str], dict[int, frozenset[str]]]  # word and sort -> the nearest lists of such numbers


def misplaced(claim: Sequence[Word], sentence: Sequence[Word]) -> set[str]:
    """The numbers of `claim` that `sentence` has too, but with other words or in another place."""
    there = {word.key for word in sentence if word.kind == Kind.NUMBER}
    shared = {word.key for word in claim if word.kind == Kind.NUMBER} & there
    if not shared or len(there) < 2:
        return set()
    return (_owned_otherwise(claim, sentence) | replaced(claim, sentence)) & shared


def _owned_otherwise(claim: Sequence[Word], sentence: Sequence[Word]) -> set[str]:
    """Numbers whose words in the claim all have another number in the sentence, where they tell at all."""
    owners, theirs = _owners(claim), _owners(sentence)
    said: dict[str, list[bool]] = defaultdict(list)
    for of, lists in owners.items():
        mine, other = _all(lists), _all(theirs.get(of, {}))
        if len(mine) == len(other) == 1:
            said[min(mine)].append(mine == other)
    return {number for number, verdicts in said.items() if not any(verdicts)}


def _owners(found: Sequence[Word]) -> Owners:
    """For each content word the numbers nearest to any place of it, a clause away counting as farther.

    Years and days are kept apart from other numbers: "in 1989" may stand anywhere in a sentence. Distances grow away
    from a word on either side, so only the last number before it and the first behind it can be nearest.
    """
    depths = _depths(found)
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(found):
        if word.kind == Kind.NUMBER:
            places[of_a_date(found, place)].append(place)
    owners: Owners = defaultdict(dict)
    for sort, numbers in places.items():
        lists = _lists(found, numbers)
        for place, word in enumerate(found):
            if word.kind in (Kind.CONTENT, Kind.NAME):
                behind = bisect(numbers, place)
                far = {at: abs(depths[place] - depths[at]) for at in numbers[max(behind - 1, 0) : behind + 1]}
                near = min(_SIGHT, *far.values())
                owners[word.key, sort].update(lists[at] for at, distance in far.items() if distance == near)
    return owners


def _all(lists: dict[int, frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*lists.values())


def _lists(found: Sequence[Word], places: Sequence[int]) -> dict[int, tuple[int, frozenset[str]]]:
    """For each number the place of the first with which it makes a list, and all of these, itself among them: "1949
    and 1987", "2.5 or 3 litres"."""
    lists: list[list[int]] = []
    for place in places:
        if lists and _goes_on(found, lists[-1][-1], place):
            lists[-1].append(place)
        else:
            lists.append([place])
    keyed = [(one, frozenset(found[at].key for at in one)) for one in lists]
    return {place: (one[0], keys) for one, keys in keyed for place in one}


def _goes_on(found: Sequence[Word], one: int, two: int) -> bool:
    """Whether between two numbers stands nothing that says something but, at most, the word behind the second."""
    between = {word.key for word in found[one + 1 : two] if word.kind != Kind.FUNCTION}
    return between <= {word.key for word in found[two + 1 : two + 2]}


def of_a_date(found: Sequence[Word], place: int) -> str:
    """What of a date a number may be: "year" or "day"; "" for another number."""
    if is_year(found[place].key):
        return "year"
    behind = place + 3 if found[place + 1 : place + 2] and found[place + 1].key == "of" else place + 2
    return "day" if any(word.key in MONTH_NAMES for word in found[max(place - 1, 0) : behind]) else ""


def _depths(found: Sequence[Word]) -> list[int]:
    """How deep in the text each word stands: words before it that are no function words, and _CLAUSE for each clause."""
    depths, count = [], 0
    for word in found:
        depths.append(count + _CLAUSE * word.clause)
        count += word.kind != Kind.FUNCTION
    return depths


def replaced(claim: Sequence[Word], sentence: Sequence[Word]) -> set[str]:
    """Numbers in whose place an otherwise like sentence has another number."""
    matcher = SequenceMatcher(None, [word.key for word in claim], [word.key for word in sentence], autojunk=False)
    blocks = matcher.get_matching_blocks()
    if sum(block.size for block in blocks) < _ALIKE * len(claim):
        return set()
    return {
        key
        for tag, one, two, three, four in matcher.get_opcodes()
        if tag == "replace" and four - three <= two - one + _LONGER and any(_numbers(sentence[three:four]))
        for key in set(_numbers(claim[one:two])) - set(_numbers(sentence[three:four]))
    }


def _numbers(found: Sequence[Word]) -> Iterator[str]:
    return (word.key for word in found if word.kind == Kind.NUMBER)
