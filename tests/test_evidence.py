"""Properties of a piece of evidence."""

from __future__ import annotations

import pytest

import ragauge as rg
from ragauge.scores import ChunkEvidence

E, N, C = rg.Label.ENTAILED, rg.Label.NEUTRAL, rg.Label.CONTRADICTED


def piece(label: rg.Label, *chunks: rg.Label) -> rg.scores.Evidence:
    """A piece with its joint label and that of each chunk."""
    verdicts = tuple(ChunkEvidence(str(number), one) for number, one in enumerate(chunks, 1))
    return rg.scores.Evidence("It rains.", "response", against="contexts", label=label, chunks=verdicts)


@pytest.mark.parametrize(
    ("evidence", "entailed"),
    [(piece(E), True), (piece(E, E, N), True), (piece(E, E, C), False), (piece(N, N), False), (piece(C, E, C), False)],
)
def test_what_a_chunk_contradicts_is_not_entailed(evidence: rg.scores.Evidence, entailed: bool) -> None:
    """A piece is entailed by all chunks together, unless one contradicts it, as metrics count it."""
    assert evidence.entailed is entailed


def test_evidence_counts_as_its_metric_does() -> None:
    """The pieces that are entailed are those that faithfulness counts."""
    scores = rg.score({"response": "Ada came. Bob sang.", "contexts": ["Ada came.", "Eve left."]}, "faithfulness")
    entailed = [one.entailed for one in scores["faithfulness"].evidence]
    assert (sum(entailed), len(entailed)) == scores["faithfulness"].counts
