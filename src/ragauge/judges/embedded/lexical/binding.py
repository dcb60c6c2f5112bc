"""Which number belongs to which words: "fat gives 9 and alcohol 7" does not say that fat gives 7."""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import pairwise

from ragauge.judges.embedded.lexical.lexicon import MONTH_NAMES
from ragauge.judges.embedded.lexical.numbers import is_year
from ragauge.judges.embedded.lexical.words import Kind, Word

_CLAUSE = 4  # content words that the step into another clause counts for
_SIGHT = 6  # content words within which a number belongs to a word
_LONGER = 4  # words by which what stands in the place of others may be longer
_MANY = 1_000_000  # pairs of words from which runs are looked for row by row
_ALIKE = 0.6  # share of the words of the claim from which a replaced number tells

Owners = dict[tuple[str, str], dict[int, frozenset[str]]]  # word and sort -> the nearest lists of such numbers


def misplaced(claim: Sequence[Word], sentence: Sequence[Word]) -> set[str]:
    """The numbers of `claim` that `sentence` has too, but with other words or in another place."""
    there = {word.key for word in sentence if word.kind == Kind.NUMBER}
    if len(there) < 2:
        return set()
    shared = {word.key for word in claim if word.kind == Kind.NUMBER} & there
    if not shared:
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
    """How deep each word stands: the words before it that are no function words, and _CLAUSE for each clause."""
    depths, count = [], 0
    for word in found:
        depths.append(count + _CLAUSE * word.clause)
        count += word.kind != Kind.FUNCTION
    return depths


def replaced(claim: Sequence[Word], sentence: Sequence[Word]) -> set[str]:
    """Numbers in whose place an otherwise like sentence has another number."""
    mine, theirs = [word.key for word in claim], [word.key for word in sentence]
    if not any(_numbers(claim)) or _shared(mine, theirs) < _ALIKE * len(claim):
        return set()
    runs = common_runs(mine, theirs)
    if sum(run.size for run in runs) < _ALIKE * len(claim):
        return set()
    return {
        key
        for one, two, three, four in between(runs, len(mine), len(theirs))
        if one < two and four - three <= two - one + _LONGER and any(_numbers(sentence[three:four]))
        for key in set(_numbers(claim[one:two])) - set(_numbers(sentence[three:four]))
    }


def common_runs(one: Sequence[str], two: Sequence[str]) -> list[Match]:
    """The runs of keys that two texts share, by difflib: the longest, then the longest on either side of it, and so on.

    Where all of `one` stands in `two` as it is, that is the only run, and need not be searched for.
    """
    before, found, _ = f" {' '.join(two)} ".partition(f" {' '.join(one)} ")
    if found:
        return [Match(0, before.count(" "), len(one))]
    return [run for run in _Matcher(None, one, two, autojunk=False).get_matching_blocks() if run.size]


class _Matcher(SequenceMatcher[str]):
    """The same runs as difflib's, in a hundredth of the time where long texts repeat a word thousands of times."""

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """The longest run of keys within two stretches; the first in the one text, then in the other."""
        one, two = self.a, self.b  # type: ignore[attr-defined]
        behind, end = len(one) if ahi is None else ahi, len(two) if bhi is None else bhi
        if (behind - alo) * (end - blo) < _MANY:
            return super().find_longest_match(alo, behind, blo, end)
        import numpy as np

        places = {key: np.array(found) for key, found in self.b2j.items()}  # type: ignore[attr-defined]
        best = Match(alo, blo, 0)
        lengths = np.zeros(end + 1, np.int32)  # of the run that ends before each place
        for at in range(alo, behind):
            there = places.get(one[at], np.zeros(0, np.int64))
            there = there[np.searchsorted(there, blo) : np.searchsorted(there, end)]
            longer = np.zeros_like(lengths)
            longer[there + 1] = lengths[there] + 1
            lengths, last = longer, int(longer.argmax())
            if lengths[last] > best.size:
                size = int(lengths[last])
                best = Match(at + 1 - size, last - size, size)
        return best


def between(runs: Sequence[Match], mine: int, theirs: int) -> Iterator[tuple[int, int, int, int]]:
    """Where, in each of two texts of so many words, what stands between two runs begins and ends; their ends too."""
    for one, two in pairwise([Match(0, 0, 0), *runs, Match(mine, theirs, 0)]):
        yield one.a + one.size, two.a, one.b + one.size, two.b


def _shared(one: Sequence[str], two: Sequence[str]) -> int:
    """The most words that an alignment could match."""
    return (Counter(one) & Counter(two)).total()


def _numbers(found: Sequence[Word]) -> Iterator[str]:
    return (word.key for word in found if word.kind == Kind.NUMBER)
