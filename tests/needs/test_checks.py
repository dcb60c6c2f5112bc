"""Needs about single pieces: relevance, traits, grades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.needs.base import NothingToCount
from ragauge.needs.checks import (
    contexts_to_query,
    contexts_to_references,
    contexts_to_response,
    grade_of,
    opinions_with,
    statements_to_query,
)
from ragauge.questions import CHUNK_UTILITY, COHERENCE, Classify, Decompose, Question, Rate, Relevant
from ragauge.types import Answer, Chunk, Grade, Label, Sample, Verdict

if TYPE_CHECKING:
    from tests.needs.conftest import Working

CHUNKS = (Chunk("q a"), Chunk("b", title="q"), Chunk("c"))


def test_statements_are_held_against_the_query(worked: Working) -> None:
    """Each statement of the response is checked for relevance, after the response is taken apart."""
    found, asked = worked(statements_to_query.flow(Sample("1", query="q", response="q r")))
    assert asked == [[Decompose("q r", "q")], [Relevant("q", "q"), Relevant("q", "r")]]
    assert found.passed == (True, False)
    assert [(piece.text, piece.field, piece.against, piece.label) for piece in found.evidence] == [
        ("q", "response", "query", Label.YES),
        ("r", "response", "query", Label.NO),
    ]


def test_chunks_are_read_with_their_titles(worked: Working) -> None:
    """Each chunk is checked as a passage, its title on a line before its text, and named by its place."""
    found, asked = worked(contexts_to_query.flow(Sample("1", query="q", contexts=CHUNKS)))
    assert asked == [[Relevant("q", "q a"), Relevant("q", "q\nb"), Relevant("q", "c")]]
    assert found.passed == (True, True, False)
    assert [piece.field for piece in found.evidence] == ["contexts[0]", "contexts[1]", "contexts[2]"]


def test_chunks_are_checked_for_each_reference(worked: Working) -> None:
    """Every reference that says something has its own checks of all chunks, asked in one round."""
    sample = Sample("1", query="q", contexts=CHUNKS[:2], references=("", "g", "h"))
    found, asked = worked(contexts_to_references.flow(sample))
    assert asked == [[Relevant("q", text, reference) for reference in ("g", "h") for text in ("q a", "q\nb")]]
    assert [checks.passed for checks in found.tables] == [(True, True), (True, True)]
    assert [piece.against for piece in found.evidence] == ["references[1]"] * 2 + ["references[2]"] * 2


def test_chunks_are_checked_for_the_response(worked: Working) -> None:
    """Where there is no reference, every chunk is checked for its use to the response."""
    found, asked = worked(contexts_to_response.flow(Sample("1", query="q", contexts=CHUNKS[:2], response="r a")))
    assert asked == [[Relevant("q", text, "r a") for text in ("q a", "q\nb")]]
    assert [checks.passed for checks in found.tables] == [(True, True)]
    assert [piece.against for piece in found.evidence] == ["response"] * 2


def test_an_empty_response_gives_chunks_nothing_to_be_of_use_to() -> None:
    """Usefulness for an empty response cannot be asked."""
    with pytest.raises(NothingToCount, match="the response is empty"):
        next(contexts_to_response.flow(Sample("1", query="q", contexts=CHUNKS, response=" ")))


def test_checks_without_references_have_nothing_to_count() -> None:
    """Without a reference the usefulness of chunks for it cannot be asked."""
    with pytest.raises(NothingToCount, match="no reference"):
        next(contexts_to_references.flow(Sample("1", query="q", contexts=CHUNKS, references=())))


def test_a_verdict_may_point_at_what_decides(worked: Working) -> None:
    """Where a judge names the deciding characters of a chunk, the evidence shows them."""

    def answer(question: Question) -> Answer:
        return Verdict(Label.YES, 0.9, span=(0, 1), rationale="It says so.")

    found, _ = worked(contexts_to_query.flow(Sample("1", query="q", contexts=CHUNKS[:1])), answer)
    (piece,) = found.evidence
    assert (piece.span, piece.probability, piece.rationale) == ((0, 1), 0.9, "It says so.")


def test_each_trait_is_a_need_of_its_own(worked: Working) -> None:
    """Only opinions are asked about; each trait has one need, with its own topic."""
    found, asked = worked(opinions_with("toxic").flow(Sample("1", response="a BAD")))
    assert asked[1] == [Classify("BAD", "toxic")]
    assert [(piece.text, piece.against) for piece in found.evidence] == [("BAD", "")]
    assert opinions_with("toxic").asks == {"decompose", "classify:toxic"}
    assert opinions_with("toxic") is opinions_with("toxic")
    assert opinions_with("toxic").name != opinions_with("biased").name


def test_a_rubric_is_graded_once_on_its_fields(worked: Working) -> None:
    """A rubric's fields are given in its order, and the need reads just those."""
    found, asked = worked(grade_of(COHERENCE).flow(Sample("1", source="s", response="r")))
    assert asked == [[Rate(COHERENCE, (("source", "s"), ("response", "r")))]]
    assert [(piece.text, piece.field, piece.value) for piece in found.evidence] == [("r", "response", 5.0)]
    assert grade_of(COHERENCE).reads == ("source", "response")
    assert grade_of(COHERENCE).asks == {"rate:coherence"}


def test_a_rubric_of_chunks_is_graded_on_each(worked: Working) -> None:
    """Where the rubric reads "chunk", each context is graded with the other fields."""

    def answer(question: Question) -> Answer:
        assert isinstance(question, Rate)
        return Grade(0.2 if dict(question.texts)["chunk"] == "c" else 0.8, rationale="why")

    found, asked = worked(grade_of(CHUNK_UTILITY).flow(Sample("1", query="q", contexts=CHUNKS)), answer)
    texts = ("q a", "q\nb", "c")
    assert asked == [[Rate(CHUNK_UTILITY, (("query", "q"), ("chunk", text))) for text in texts]]
    assert found.values == (0.8, 0.8, 0.2)
    assert [(piece.field, piece.value, piece.rationale) for piece in found.evidence] == [
        ("contexts[0]", 0.8, "why"),
        ("contexts[1]", 0.8, "why"),
        ("contexts[2]", 0.2, "why"),
    ]
    assert grade_of(CHUNK_UTILITY).reads == ("query", "contexts")
