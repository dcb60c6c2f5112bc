"""How similar texts are: by edit distance, by BERTScore, and by the cosine of sentence embeddings.

The shorter text is laid against the longer where an alignment of the two has common runs, and compared there. Which
runs those are depends on the alignment among equally short ones, so its choice is part of the definition. Both the
alignment and the comparison are worked out on bit vectors in plain integers, one row for each character of the longer
text (Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003).

The models run here; each is fetched from the Hugging Face hub once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.errors import MissingExtra
from ragauge.host import disable_telemetry
from ragauge.text.overlap import bit_columns, lcs_length

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
    return 2 * lcs_length(list(one), bit_columns([list(other)])) / (len(one) + len(other))


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


class BertScores(NamedTuple):
    """Precision, recall and F1 of each pair of texts."""

    precision: list[float]
    recall: list[float]
    f1: list[float]


def bertscore(responses: Sequence[str], references: Sequence[str]) -> BertScores:
    """BERTScore (Zhang et al., 2020) of each response against the reference in its place, for English.

    As the library `bert_score` has it with its usual model (roberta-large, 1.4 GB), rescaled by its baseline: 0 is what
    texts at random have, so that values may be negative. Raises MissingExtra where the library is not installed.
    """
    disable_telemetry()
    try:
        from bert_score import score
    except ImportError as error:
        raise MissingExtra("BERTScore", "bertscore") from error
    measured = score(list(responses), list(references), lang="en", rescale_with_baseline=True)
    return BertScores(*([float(value) for value in values] for values in measured))


def similarity(responses: Sequence[str], references: Sequence[str]) -> list[float]:
    """The cosine, from -1 to 1, between the embeddings of each response and of the reference in its place.

    Embedded by all-MiniLM-L6-v2 (90 MB) of the library `sentence_transformers`, whose models read so many tokens and
    no more. Raises MissingExtra where the library is not installed.
    """
    disable_telemetry()
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra("similarity", "similarity") from error
    encode = SentenceTransformer("all-MiniLM-L6-v2").encode
    said, golden = (encode(list(texts), normalize_embeddings=True) for texts in (responses, references))
    return [float(value) for value in (said * golden).sum(axis=1)]
