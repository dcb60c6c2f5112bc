"""Trust-Eval's reading of a text: its citations, the text without them, list items, matches, and refusals.

Song et al., "Measuring and enhancing trustworthiness of LLMs in RAG through grounded attributions and learning to
refuse", ICLR 2025; citations are parsed as in ALCE (Gao et al., "Enabling large language models to generate text with
citations", EMNLP 2023). The behaviour is that of trust_eval 0.1.5, quirks included.

The partial ratio compares the shorter text with the windows of the longer at which an optimal alignment of the two has
common runs; the choice among alignments of equal distance is part of the definition. Alignment and comparison are
computed on bit vectors in integers (Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit
distances", 2003).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragauge.text.overlap import bit_columns, lcs_length
from ragauge.text.tokens import squad_normalise
from ragauge.types import Span

_CITED = re.compile(r"\[(\d+)\]?")
_SPACED_CITATION, _CITATION = re.compile(r" \[\d+"), re.compile(r"\[\d+")

#: The refusal that systems are instructed to give.
REFUSAL = "I apologize, but I couldn't find an answer"


def citations(sentence: str) -> list[tuple[int, Span]]:
    """The numbers after an opening bracket with their characters: those of [1] and [2020]; of [1, 2] only the 1."""
    return [(int(match[1]), match.span()) for match in _CITED.finditer(sentence)]


def without_citations(text: str) -> str:
    """The text without citations, closing brackets, and vertical bars after a space."""
    return _CITATION.sub("", _SPACED_CITATION.sub("", text)).replace(" |", "").replace("]", "")


def is_refusal(text: str) -> bool:
    """Whether the partial ratio of the text and the prescribed refusal exceeds 85 per cent; so "No answer." is one."""
    return partial_ratio(squad_normalise(REFUSAL), squad_normalise(text)) > 85


def partial_ratio(first: str, second: str) -> int:
    """The similarity of the shorter text and the most similar part of the longer, 0 to 100; 0 if one is empty."""
    if not first or not second:
        return 0
    shorter, longer = (first, second) if len(first) <= len(second) else (second, first)
    starts = {max(0, j - i) for i, j in _common_runs(shorter, longer)}
    windows = [longer[start : start + len(shorter)] for start in starts]
    common = ((lcs_length(list(shorter), bit_columns([list(window)])), len(window)) for window in windows)
    return round(100 * max(2 * length / (len(shorter) + size) for length, size in common))


def _common_runs(shorter: str, longer: str) -> Iterator[tuple[int, int]]:
    """Where the runs of aligned equal characters start in either text, and the ends of both."""
    yield len(shorter), len(longer)
    start = _common_prefix(shorter, longer)
    end = _common_prefix(shorter[start:][::-1], longer[start:][::-1])
    shorter_core, longer_core = shorter[start : len(shorter) - end], longer[start : len(longer) - end]
    aligned = {(start + i, start + j) for i, j in _aligned(shorter_core, longer_core)}
    aligned |= {(i, i) for i in range(start)}
    aligned |= {(len(shorter) - k, len(longer) - k) for k in range(1, end + 1)}
    yield from ((i, j) for i, j in aligned if (i - 1, j - 1) not in aligned)


def _common_prefix(first: str, second: str) -> int:
    differing = (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(differing, min(len(first), len(second)))


def _aligned(shorter: str, longer: str) -> Iterator[tuple[int, int]]:
    """The pairs of equal characters on the alignment of fewest edits, backtracked with deletions before insertions."""
    rows = _distance_steps(shorter, longer)
    i, j = len(shorter), len(longer)
    while i and j:
        if rows[j - 1][0] >> (i - 1) & 1:
            i -= 1
            continue
        j -= 1
        if j and rows[j - 1][1] >> (i - 1) & 1:
            continue
        i -= 1
        if shorter[i] == longer[j]:
            yield i, j


def _distance_steps(shorter: str, longer: str) -> list[tuple[int, int]]:
    """Per character of `longer`, the positions in `shorter` at which the distance rises by one, and falls by one."""
    positions = bit_columns([list(shorter)]).positions
    full = (1 << len(shorter)) - 1
    rises, falls = full, 0
    rows: list[tuple[int, int]] = []
    for character in longer:
        matches = positions.get(character, 0) >> 1  # without the gap below the line
        diagonal = (((matches & rises) + rises) ^ rises) | matches | falls
        up = falls | ~(diagonal | rises)
        down = diagonal & rises
        up = up << 1 | 1
        down <<= 1
        rises, falls = (down | ~(diagonal | up)) & full, up & diagonal & full
        rows.append((rises, falls))
    return rows


def contains(text: str, wordings: Sequence[str]) -> bool:
    """Whether any wording is a substring of the text, both SQuAD-normalised: "art" is in "party", "the" in any text."""
    normalised = squad_normalise(text)
    return any(squad_normalise(wording) in normalised for wording in wordings)


def list_items(text: str) -> list[Span]:
    """The items of a list response: the text split at commas, blank items included."""
    trimmed = text.rstrip().rstrip(".").rstrip(",")
    spans: list[Span] = []
    start = 0
    for piece in trimmed.split(","):
        begin = start + len(piece) - len(piece.lstrip())
        spans.append((begin, begin + len(piece.strip())))
        start += len(piece) + 1
    return spans
