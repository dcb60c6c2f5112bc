"""Longest common subsequences of token lists, computed on bit vectors in plain integers.

One bit stands for one token of the response, a gap bit parts its lines, and one integer is one row of the textbook
table of lengths: its set bits are the columns at which that row does not grow. A row follows from the one before by one
addition (Crochemore et al., "A fast and practical bit-vector algorithm for the longest common subsequence problem",
2001; Hyyrö, "Bit-parallel LCS-length computation revisited", 2004), for all lines of the response at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Columns:
    """The lines of a response as bits: where each token stands, all tokens, and the last token of each line."""

    positions: dict[str, int]
    tokens: int
    line_ends: int


def columns(lines: Sequence[Sequence[str]]) -> Columns:
    """Lay lines of tokens out as bits; below each line lies one gap bit."""
    positions: dict[str, int] = {}
    gaps, bit = 1, 1
    for line in lines:
        for token in line:
            bit <<= 1
            positions[token] = positions.get(token, 0) | bit
        bit <<= 1
        gaps |= bit
    return Columns(positions, tokens=(bit - 1) & ~gaps, line_ends=gaps >> 1)


def lcs_length(reference: Sequence[str], response: Columns) -> int:
    """The length of the longest common subsequence of a token list and a response laid out as one line."""
    tokens, positions = response.tokens, response.positions
    row = tokens
    for token in reference:
        if token in positions:
            matches = row & positions[token]
            row = ((row + matches) | (row ^ matches)) & tokens
    return (tokens ^ row).bit_count()


def union_lcs(reference: Sequence[str], response: Columns) -> list[str]:
    """The tokens of a reference line that belong to its common subsequence with any line of the response.

    Where several longest subsequences exist, the one is taken that rouge-score 0.1.2 reads from its table: backwards
    from the last corner, through a match where there is one, else to the previous response token if that corner is
    strictly larger, else to the previous reference token.
    """
    here = response.line_ends
    used = []
    for token, matches, leftward in reversed(_steps(reference, response)):
        moving = here & (matches | leftward)
        if moving:
            used.append(token)
            here ^= moving | _before_match(moving, matches)
    return used


def _steps(reference: Sequence[str], response: Columns) -> list[tuple[str, int, int]]:
    """For each reference token that the response has: its columns, and those from which the way back leads left.

    A match opens a stretch in which the table grows earlier than it did one row above, and the addition carries through
    exactly that stretch. Inside it the left neighbour exceeds the upper one; the stretch begins with a match, so a way
    that turns left in a row always ends in a match of that row.
    """
    steps = []
    row = response.tokens
    for token in reference:
        if token in response.positions:
            positions = response.positions[token]
            matches = row & positions
            total = row + matches
            carries = total ^ row ^ matches
            steps.append((token, positions, carries & carries >> 1))
            row = (total | (row ^ matches)) & response.tokens
    return steps


def _before_match(moving: int, matches: int) -> int:
    """The columns just before the nearest match at or before each moving column."""
    landed = 0
    while moving:
        landed |= moving & matches
        moving = (moving & ~matches) >> 1
    return landed >> 1
