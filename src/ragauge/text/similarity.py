"""Text similarity: fuzzy partial ratio, BERTScore, and the cosine of sentence embeddings.

The partial ratio compares the shorter text with the windows of the longer at which an optimal alignment of the two has
common runs; the choice among alignments of equal distance is part of the definition. Alignment and comparison are
computed on bit vectors in integers (Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit
distances", 2003). BERTScore and embeddings run locally; each model is downloaded from the Hugging Face hub once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from ragauge.host import disable_telemetry, optional
from ragauge.text.overlap import bit_columns, lcs_length


def partial_ratio(one: str, other: str) -> int:
    """The similarity of the shorter text and the most similar part of the longer, 0 to 100; 0 if one is empty."""
    if not one or not other:
        return 0
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    starts = {max(0, j - i) for i, j in _common_runs(shorter, longer)}
    windows = [longer[start : start + len(shorter)] for start in starts]
    common = ((lcs_length(list(shorter), bit_columns([list(window)])), len(window)) for window in windows)
    return round(100 * max(2 * length / (len(shorter) + size) for length, size in common))


def _common_runs(shorter: str, longer: str) -> Iterator[tuple[int, int]]:
    """Where the runs of aligned equal characters start in either text, and the ends of both."""
    yield len(shorter), len(longer)
    start = _common_prefix(shorter, longer)
    end = _common_prefix(shorter[start:][::-1], longer[start:][::-1])
    one, other = shorter[start : len(shorter) - end], longer[start : len(longer) - end]
    aligned = {(start + i, start + j) for i, j in _aligned(one, other)}
    aligned |= {(i, i) for i in range(start)}
    aligned |= {(len(shorter) - k, len(longer) - k) for k in range(1, end + 1)}
    yield from ((i, j) for i, j in aligned if (i - 1, j - 1) not in aligned)


def _common_prefix(one: str, other: str) -> int:
    differing = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


def _aligned(one: str, other: str) -> Iterator[tuple[int, int]]:
    """The pairs of equal characters on the alignment of fewest edits, backtracked with deletions before insertions."""
    rows = _distance_steps(one, other)
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


def _distance_steps(one: str, other: str) -> list[tuple[int, int]]:
    """Per character of `other`, the positions in `one` at which the distance rises by one, and falls by one."""
    positions: dict[str, int] = {}
    for i, character in enumerate(one):
        positions[character] = positions.get(character, 0) | 1 << i
    full = (1 << len(one)) - 1
    rises, falls = full, 0
    rows: list[tuple[int, int]] = []
    for character in other:
        matches = positions.get(character, 0)
        diagonal = (((matches & rises) + rises) ^ rises) | matches | falls
        up = falls | ~(diagonal | rises)
        down = diagonal & rises
        up = up << 1 | 1
        down <<= 1
        rises, falls = (down | ~(diagonal | up)) & full, up & diagonal & full
        rows.append((rises, falls))
    return rows


class BertScores(NamedTuple):
    """Precision, recall and F1 of each response."""

    precision: list[float]
    recall: list[float]
    f1: list[float]


def bertscore(responses: Sequence[str], references: Sequence[str]) -> BertScores:
    """BERTScore (Zhang et al., 2020) of English responses, by the library `bert_score`.

    With its default English model (roberta-large, 1.4 GB), rescaled by its baseline: 0 is the score of random pairs of
    texts, and values may be negative.

    Args:
        responses: the texts to score.
        references: one reference per response, in the same order.

    Returns:
        Precision, recall and F1, a list each.

    Raises:
        MissingExtra: the library is not installed.
    """
    disable_telemetry()
    scorer_class = optional("BERTScore", "bertscore", "bert_score").BERTScorer
    scorer = _loaded(scorer_class, lang="en", rescale_with_baseline=True)
    measured = scorer.score(list(responses), list(references))
    return BertScores(*([float(value) for value in values] for values in measured))


@cache
def _loaded(load: Callable[..., Any], *model: str, **options: object) -> Any:
    return load(*model, **options)


def similarity(responses: Sequence[str], references: Sequence[str]) -> list[float]:
    """The cosine similarity of the embeddings of responses and references, by `sentence_transformers`.

    With its model all-MiniLM-L6-v2 (90 MB), which truncates long texts.

    Args:
        responses: the texts to score.
        references: one reference per response, in the same order.

    Returns:
        The cosine per response, in -1..1.

    Raises:
        MissingExtra: the library is not installed.
    """
    disable_telemetry()
    model = optional("similarity", "similarity", "sentence_transformers").SentenceTransformer
    encode = _loaded(model, "all-MiniLM-L6-v2").encode
    of_responses, of_references = (encode(list(texts), normalize_embeddings=True) for texts in (responses, references))
    return [float(value) for value in (of_responses * of_references).sum(axis=1)]
