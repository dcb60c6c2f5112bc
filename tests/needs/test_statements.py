"""Needs about what a text says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.needs.base import NothingToCount
from ragauge.needs.entailment import (
    reference_statements,
    references_of,
    response_and_references,
    response_sentences,
    response_statements,
)
from ragauge.questions import Decompose, Question
from ragauge.types import Answer, Decomposition, Sample, Statement

if TYPE_CHECKING:
    from tests.needs.conftest import Working


def test_a_response_is_taken_apart_as_an_answer_to_the_query(worked: Working) -> None:
    """The response is decomposed once, read with its query; without one it is read alone."""
    found, asked = worked(response_statements(Sample("1", query="q", response="a b")))
    assert asked == [[Decompose("a b", "q")]]
    assert [piece.text for piece in found.pieces] == ["a", "b"]
    assert found.field == "response"
    _, asked = worked(response_statements(Sample("1", response="a")))
    assert asked == [[Decompose("a", None)]]


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_response_has_no_statements(worked: Working, blank: str) -> None:
    """Nobody is asked to take a blank response apart."""
    found, asked = worked(response_statements(Sample("1", response=blank)))
    assert (found.pieces, asked) == ((), [])


def test_claims_are_the_statements_that_can_be_checked(worked: Working) -> None:
    """Statements without the flag are left out of the claims; the flags are independent."""
    pieces = tuple(
        Statement(f"{claim:d}{opinion:d}", claim=claim, opinion=opinion)
        for claim in (False, True)
        for opinion in (False, True)
    )

    def answer(question: Question) -> Answer:
        return Decomposition(pieces)

    statements, _ = worked(response_statements(Sample("1", response="r")), answer)
    assert [piece.text for piece in statements.claims.pieces] == ["10", "11"]
    assert [piece.text for piece in statements.opinions.pieces] == ["01", "11"]


def test_a_rule_cuts_a_response_without_a_judge(worked: Working) -> None:
    """The pieces a rule finds have their spans and are taken for claims, and nobody is asked."""
    found, asked = worked(response_sentences(Sample("1", response="It rained. We left.")))
    assert asked == []
    assert found.pieces == (Statement("It rained.", (0, 10)), Statement("We left.", (11, 19)))
    assert found.claims == found


def test_references_keep_their_places(worked: Working) -> None:
    """Blank references are left out, and the others are called by their place in the data."""
    sample = Sample("1", query="q", references=("", "a b", " ", "c"))
    assert references_of(sample) == {"references[1]": "a b", "references[3]": "c"}
    found, asked = worked(reference_statements(sample))
    assert asked == [[Decompose("a b", "q"), Decompose("c", "q")]]
    assert [(one.field, len(one.pieces)) for one in found] == [("references[1]", 2), ("references[3]", 1)]


@pytest.mark.parametrize("references", [(), ("",), (" ", "\n")])
def test_no_reference_that_says_something(references: tuple[str, ...]) -> None:
    """Without a reference that says something there is nothing to count."""
    with pytest.raises(NothingToCount, match="the sample has no reference"):
        references_of(Sample("1", references=references))


def test_texts_as_they_stand(worked: Working) -> None:
    """Measures of wording get the response and the references that say something, untouched."""
    found, asked = worked(response_and_references.flow(Sample("1", response=" r ", references=("a", "", " b"))))
    assert (found.response, found.references, found.evidence, asked) == (" r ", ("a", " b"), (), [])
