"""Needs about entailment: what is held against what, and what is asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.needs.base import EvidenceTable, Need, Supports
from ragauge.needs.entailment import (
    reference_claims_in_contexts,
    reference_claims_in_query,
    reference_claims_in_response,
    references_in_contexts,
    references_in_response,
    response_claims_in_query,
    response_claims_in_references,
    response_in_contexts,
    response_in_references,
)
from ragauge.questions import Decompose, Entail, Question
from ragauge.types import Answer, Chunk, Decomposition, Label, Sample, Statement, Verdict

if TYPE_CHECKING:
    from tests.needs.conftest import Working

CHUNKS = (Chunk("a x", id="first"), Chunk("b", id="second", title="T"))
SAMPLE = Sample("1", query="q a", response="a b", contexts=CHUNKS, references=("a c", "b"))
PREMISE = ("a x", "T\nb")


@pytest.mark.parametrize(
    ("need", "against", "held"),
    [
        (response_in_contexts(), PREMISE, ["a", "b"]),
        (references_in_contexts, PREMISE, ["a", "c", "b"]),
        (reference_claims_in_contexts, PREMISE, ["a", "c", "b"]),
        (references_in_response, ("a b",), ["a", "c", "b"]),
        (reference_claims_in_response, ("a b",), ["a", "c", "b"]),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_statements_are_held_against_one_premise(
    worked: Working, need: Need[EvidenceTable], against: tuple[str, ...], held: list[str]
) -> None:
    """Statements are taken apart first, and then each is held, with the query, against all texts of the premise."""
    _, asked = worked(need.flow(SAMPLE))
    assert [type(question) for question in asked[0]] == [Decompose] * len(asked[0])
    assert asked[1:] == [[Entail(against, statement, "q a") for statement in held]]


@pytest.mark.parametrize("need", [response_in_references, response_claims_in_references], ids=lambda one: one.name)
def test_the_response_is_held_against_each_reference(worked: Working, need: Need[Supports]) -> None:
    """Each statement of the response is held against each reference by itself; the table is named for it."""
    found, asked = worked(need.flow(SAMPLE))
    assert asked[1] == [Entail((text,), statement, "q a") for text in ("a c", "b") for statement in ("a", "b")]
    assert [table.against for table in found.tables] == ["references[0]", "references[1]"]
    assert [table.entailed for table in found.tables] == [(True, False), (False, True)]


def test_the_query_as_premise_is_read_without_a_query(worked: Working) -> None:
    """What the query presupposes is entailed by the query alone."""
    found, asked = worked(response_claims_in_query.flow(SAMPLE))
    assert asked[1] == [Entail(("q a",), "a"), Entail(("q a",), "b")]
    assert found.entailed == (True, False)
    golden, _ = worked(reference_claims_in_query.flow(SAMPLE))
    assert [table.entailed for table in golden.tables] == [(True, False), (False,)]


def test_a_blank_query_presupposes_nothing(worked: Working) -> None:
    """A blank query is no premise: nothing is asked of it and nothing follows from it."""
    found, asked = worked(response_claims_in_query.flow(Sample("1", query=" ", response="a")))
    assert len(asked) == 1
    assert found.entailed == (False,)


@pytest.mark.parametrize("contexts", [(), (Chunk(""), Chunk(" \n"))])
def test_without_a_premise_nothing_is_asked(worked: Working, contexts: tuple[Chunk, ...]) -> None:
    """No contexts, or contexts without a text, entail nothing and contradict nothing, and nobody is asked."""
    found, asked = worked(response_in_contexts().flow(Sample("1", response="a b", contexts=contexts)))
    assert len(asked) == 1
    assert found.entailed == (False, False)
    assert found.table == ((Label.NEUTRAL,) * len(contexts),) * 2
    assert [(piece.text, piece.label, piece.judgment) for piece in found.evidence] == [
        ("a", Label.NEUTRAL, ""),
        ("b", Label.NEUTRAL, ""),
    ]


def test_one_text_among_blank_ones_is_a_premise(worked: Working) -> None:
    """A blank chunk keeps its place next to one with text."""
    found, asked = worked(response_in_contexts().flow(Sample("1", response="a", contexts=(Chunk(""), Chunk("a")))))
    assert asked[1] == [Entail(("", "a"), "a")]
    assert found.table == ((Label.NEUTRAL, Label.ENTAILED),)


def test_claims_leave_out_what_cannot_be_checked(worked: Working) -> None:
    """Needs about claims hold only claims against the premise; needs about statements hold everything."""

    def answer(question: Question) -> Answer:
        if isinstance(question, Decompose):
            return Decomposition((Statement("a"), Statement("fine", claim=False, opinion=True)))
        return Verdict(Label.NEUTRAL)

    sample = Sample("1", response="r", contexts=(Chunk("c"),), references=("g",))
    cases: list[tuple[Need[EvidenceTable], list[str]]] = [
        (response_in_contexts(), ["a"]),
        (reference_claims_in_contexts, ["a"]),
        (references_in_contexts, ["a", "fine"]),
        (response_in_references, ["a", "fine"]),
    ]
    for need, held in cases:
        _, asked = worked(need.flow(sample), answer)
        assert [question.hypothesis for question in asked[1] if isinstance(question, Entail)] == held


def test_sentences_need_no_decomposition(worked: Working) -> None:
    """Checked sentence by sentence, the response is not taken apart by a judge, and the need says so."""
    need = response_in_contexts("sentences")
    _, asked = worked(need.flow(Sample("1", response="It is so. It was so.", contexts=(Chunk("c"),))))
    assert asked == [[Entail(("c",), "It is so."), Entail(("c",), "It was so.")]]
    assert need.asks == {"entail:support"}
    assert need.name != response_in_contexts().name


def test_evidence_names_statement_chunks_and_judgment(worked: Working) -> None:
    """The evidence of a table has a row per statement: its place, the verdict, each chunk's label, the judgment."""
    found, _ = worked(response_in_contexts().flow(SAMPLE))
    first, second = found.evidence
    assert (first.text, first.field, first.against, first.label) == ("a", "response", "contexts", Label.ENTAILED)
    assert [(chunk.chunk, chunk.label) for chunk in first.chunks] == [
        ("first", Label.ENTAILED),
        ("second", Label.NEUTRAL),
    ]
    assert (first.judgment, second.judgment) == ("key 0", "key 1")
    assert len(found) == 2
