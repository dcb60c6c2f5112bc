"""Which number belongs to which words: "fat gives 9 and alcohol 7" does not say that fat gives 7."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from ragauge.judges.embedded.lexical.words import Kind, Word

_CLAUSE = 4  # content words that the step into another clause counts for
_SIGHT = 6  # content words within which a number belongs to a word
_ALIKE = 0.6  # share of the words of the claim from which a replaced number tells

Owners = dict[str, list[frozenset[str]]]  # word -> for each place where it stands, the numbers nearest to it


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
    for word, places in owners.items():
        mine, other = frozenset.union(*places), frozenset.union(*theirs.get(word, [frozenset()]))
        if len(mine) == len(other) == 1:
            said[min(mine)].append(mine == other)
    return {number for number, verdicts in said.items() if not any(verdicts)}


def _owners(found: Sequence[Word]) -> Owners:
    """For each content word the numbers nearest to it, a clause away counting as farther."""
    ranks = _ranks(found)
    numbers = [(word, rank) for word, rank in zip(found, ranks, strict=True) if word.kind == Kind.NUMBER]
    owners: Owners = defaultdict(list)
    for word, rank in zip(found, ranks, strict=True):
        if word.kind in (Kind.CONTENT, Kind.NAME) and numbers:
            far = [abs(rank - at) + _CLAUSE * abs(word.clause - number.clause) for number, at in numbers]
            near = min(far)
            nearest = [number.key for (number, _), distance in zip(numbers, far, strict=True) if distance == near]
            owners[word.key].append(frozenset(nearest if near <= _SIGHT else ()))
    return owners


def _ranks(found: Sequence[Word]) -> list[int]:
    """For each word, how many words before it are no function words."""
    ranks, count = [], 0
    for word in found:
        ranks.append(count)
        count += word.kind != Kind.FUNCTION
    return ranks


def replaced(claim: Sequence[Word], sentence: Sequence[Word]) -> set[str]:
    """Numbers in whose place an otherwise like sentence has another number."""
    matcher = SequenceMatcher(None, [word.key for word in claim], [word.key for word in sentence], autojunk=False)
    blocks = matcher.get_matching_blocks()
    if sum(block.size for block in blocks) < _ALIKE * len(claim):
        return set()
    return {
        key
        for tag, one, two, three, four in matcher.get_opcodes()
        if tag == "replace" and any(_numbers(sentence[three:four]))
        for key in set(_numbers(claim[one:two])) - set(_numbers(sentence[three:four]))
    }


def _numbers(found: Sequence[Word]) -> Iterator[str]:
    return (word.key for word in found if word.kind == Kind.NUMBER)
