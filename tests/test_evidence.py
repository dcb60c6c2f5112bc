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


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (E, "Label.ENTAILED"),
        (piece(C), "Evidence(contradicted against contexts: 'It rains.')"),
        (rg.scores.Evidence("x" * 99, "response", value=0.25), f"Evidence(0.25: {'x' * 59 + '…'!r})"),
        (rg.scores.Evidence("A.", "response", label=E, probability=0.875), "Evidence(entailed 0.88: 'A.')"),
        (rg.scores.Score(0.5, counts=(1, 2), evidence=(piece(E),)), "Score(0.5, counts=(1, 2), 1 piece of evidence)"),
        (rg.scores.Score(undefined="no claim"), "Score(undefined: 'no claim', 0 pieces of evidence)"),
        (rg.scores.Score(failed="no answer"), "Score(failed: 'no answer', 0 pieces of evidence)"),
        (rg.scores.Estimate(0.5, 0.25, 0.75, 9, 1, 0, "t"), "Estimate(0.5 [0.25, 0.75], n=9, undefined=1, failed=0)"),
        (rg.scores.Estimate(None, None, None, 0, 0, 2, ""), "Estimate(None, n=0, undefined=0, failed=2)"),
    ],
)
def test_reprs_are_one_short_line(shown: object, expected: str) -> None:
    """A score, an estimate, evidence and a label each show in a notebook as one short line."""
    assert repr(shown) == expected
