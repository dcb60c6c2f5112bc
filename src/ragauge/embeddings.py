"""How alike texts are to models of language: BERTScore, and the cosine of sentence embeddings.

The models run here; each is fetched from the Hugging Face hub once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragauge.errors import MissingExtra
from ragauge.host import disable_telemetry


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
