"""Findings: how verdicts become flags, and how flags become evidence."""

from __future__ import annotations

import pytest

from ragauge.needs.base import NotReported, Statements, Support
from ragauge.questions import Entail, Judgment
from ragauge.types import ChunkVerdict, Identity, Label, Statement, Verdict

E, N, C, X = Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED, Label.NOT_ENTAILED


def support(joint: Label, chunks: tuple[Label, ...], premise: int) -> Support:
    """A table of one statement."""
    ids = tuple(map(str, range(premise)))
    verdict = Verdict(joint, chunks=tuple(map(ChunkVerdict, chunks)))
    judgment = Judgment(Entail(ids, "s"), verdict, Identity("test"), "key")
    return Support(Statements("response", (Statement("s", (0, 1)),)), "contexts", ids, (judgment,))


@pytest.mark.parametrize(
    ("joint", "chunks", "entailed"),
    [
        (E, (E, N), True),
        (E, (N, N), True),
        (E, (E, C), False),
        (E, (X, X), True),
        (N, (E, N), False),
        (C, (C, N), False),
        (X, (E, X), False),
        (E, (), True),
    ],
)
def test_a_statement_is_entailed_jointly_and_uncontradicted(
    joint: Label, chunks: tuple[Label, ...], entailed: bool
) -> None:
    """The joint label decides, unless a chunk contradicts."""
    assert support(joint, chunks, 2).entailed == (entailed,)


@pytest.mark.parametrize(
    ("joint", "chunks", "premise", "row"),
    [
        (E, (E, N), 2, (E, N)),
        (C, (), 1, (C,)),
        (E, (E,), 1, (E,)),
    ],
)
def test_the_table_has_a_label_for_each_chunk(
    joint: Label, chunks: tuple[Label, ...], premise: int, row: tuple[Label, ...]
) -> None:
    """Each chunk has the label it was given, a lone chunk the joint one."""
    assert support(joint, chunks, premise).table == (row,)


@pytest.mark.parametrize(("joint", "premise"), [(E, 2), (N, 3)])
def test_chunks_judged_only_together_have_no_labels(joint: Label, premise: int) -> None:
    """What each of several chunks says alone is not made up where only their joint label is known."""
    with pytest.raises(NotReported, match="only together"):
        assert support(joint, (), premise).table


def test_probabilities_and_spans_reach_the_evidence() -> None:
    """What a judge says of a chunk, with its probability and its deciding characters, is in the evidence."""
    verdict = Verdict(E, 0.8, chunks=(ChunkVerdict(E, 0.7, (2, 5)),), rationale="because")
    judgment = Judgment(Entail(("text",), "s"), verdict, Identity("test"), "key")
    found = Support(Statements("response", (Statement("s", (3, 4)),)), "contexts", ("id",), (judgment,))
    (piece,) = found.evidence
    (chunk,) = piece.chunks
    assert (chunk.chunk, chunk.label, chunk.probability, chunk.span) == ("id", E, 0.7, (2, 5))
    assert (piece.span, piece.probability, piece.rationale, piece.judgment) == ((3, 4), 0.8, "because", "key")


def test_statements_are_evidence_of_themselves() -> None:
    """Statements show their texts, field and places."""
    (piece,) = Statements("references[1]", (Statement("s", (0, 1)),)).evidence
    assert (piece.text, piece.field, piece.span, piece.label) == ("s", "references[1]", (0, 1), None)
