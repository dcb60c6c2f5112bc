"""How like a part of one text is to another, as fuzzywuzzy 0.18 on python-Levenshtein says it.

The shorter text is laid against the longer where an alignment of the two has common runs, and compared there. Which
runs those are depends on the alignment among equally short ones, so its choice is part of the definition. Both the
alignment and the comparison are worked out on bit vectors in plain integers, one row for each character of the longer
text (Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003).
"""

from __future__ import annotations

from collections.abc import Iterator

from ragauge.text.lcs import columns, lcs_length

_Rows = list[tuple[int, int]]


def partial_ratio(one: str, other: str) -> int:
    """How like the shorter text is to the part of the longer one that is most like it, 0 to 100; 0 if one is empty."""
    if not one or not other:
        return 0
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    starts = {max(0, there - here) for here, there in _common_runs(shorter, longer)}
    return round(100 * max(_ratio(shorter, longer[start : start + len(shorter)]) for start in starts))


def _ratio(one: str, other: str) -> float:
    """Twice the longest common subsequence over the characters of both."""
    return 2 * lcs_length(list(one), columns([list(other)])) / (len(one) + len(other))


def _common_runs(shorter: str, longer: str) -> Iterator[tuple[int, int]]:
    """Where the runs of characters that an alignment keeps begin in either text, and both ends."""
    yield len(shorter), len(longer)
    start, end = _affixes(shorter, longer)
    one, other = shorter[start : len(shorter) - end], longer[start : len(longer) - end]
    kept = {(start + i, start + j) for i, j in _kept(one, other)}
    kept |= {(i, i) for i in range(start)}
    kept |= {(len(shorter) - k, len(longer) - k) for k in range(1, end + 1)}
    yield from ((i, j) for i, j in kept if (i - 1, j - 1) not in kept)


def _affixes(one: str, other: str) -> tuple[int, int]:
    """How many characters two texts share at their beginnings, and of the rest at their ends."""
    most = min(len(one), len(other))
    start = next((i for i in range(most) if one[i] != other[i]), most)
    end = next((k for k in range(most - start) if one[-1 - k] != other[-1 - k]), most - start)
    return start, end


def _kept(one: str, other: str) -> Iterator[tuple[int, int]]:
    """The pairs of equal characters on the alignment of fewest edits that deletes before it inserts, from the end."""
    rows = _differences(one, other)
    i, j = len(one), len(other)
    while i and j:
        if rows[j - 1][0] >> (i - 1) & 1:
            i -= 1
            continue
        j -= 1
        if j and rows[j - 1][1] >> (i - 1) & 1:
            continue
        i -= 1
        if one[i] == other[j]:
            yield i, j


def _differences(one: str, other: str) -> _Rows:
    """For each character of `other`, where along `one` the distance rises by one, and where it falls by one."""
    places: dict[str, int] = {}
    for at, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << at
    full = (1 << len(one)) - 1
    rises, falls = full, 0
    rows: _Rows = []
    for character in other:
        matches = places.get(character, 0)
        diagonal = (((matches & rises) + rises) ^ rises) | matches | falls
        up = falls | ~(diagonal | rises)
        down = diagonal & rises
        up = up << 1 | 1
        down <<= 1
        rises, falls = (down | ~(diagonal | up)) & full, up & diagonal & full
        rows.append((rises, falls))
    return rows
