"""Needs about entailment: the statements of one text held against other texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

from ragauge.needs.findings import Statements, Support, Supports
from ragauge.needs.need import Flow, Need, need, together
from ragauge.needs.statements import (
    reference_statements,
    references_of,
    response_claims,
    response_cut_by,
    response_of,
    response_statements,
)
from ragauge.questions import Entail
from ragauge.text.sentences import sentences
from ragauge.types import Sample

#: What a response is cut into before it is checked: claims, found by the judge, or sentences, found by rule.
Units = Literal["claims", "sentences"]

_CUT: dict[Units, Callable[[Sample], Flow[Statements]]] = {
    "claims": response_claims,
    "sentences": response_cut_by(sentences),
}


def support(
    statements: Statements, against: str, chunks: Sequence[tuple[str, str]], query: str | None
) -> Flow[Support]:
    """Hold each statement against `chunks`, pairs of (id, text); with no text among them nothing is asked."""
    ids, premise = tuple(chunk for chunk, _ in chunks), tuple(text for _, text in chunks)
    if not statements.pieces or not any(text.strip() for text in premise):
        return Support(statements, against, ids, ())
    judgments = yield [Entail(premise, piece.text, query) for piece in statements.pieces]
    return Support(statements, against, ids, tuple(judgments))


def _in_contexts(sample: Sample, statements: Statements) -> Flow[Support]:
    chunks = [(chunk.id, chunk.passage) for chunk in sample.contexts or ()]
    return support(statements, "contexts", chunks, sample.query)


def _in_references(sample: Sample, statements: Statements) -> Flow[Supports]:
    references = references_of(sample).items()
    flows = [support(statements, name, [(name, text)], sample.query) for name, text in references]
    return Supports((yield from together(flows)))


def _presupposed(sample: Sample, statements: Statements) -> Flow[Support]:
    """Hold statements against the query alone, as its premise; without a query nothing is presupposed."""
    return support(statements, "query", [("query", sample.query or "")], None)


@cache
def response_in_contexts(units: Units = "claims") -> Need[Support]:
    """The claims (or sentences) of the response held against the contexts."""

    def flow(sample: Sample) -> Flow[Support]:
        statements = yield from _CUT[units](sample)
        return (yield from _in_contexts(sample, statements))

    asks = {"entail:support"} | ({"decompose"} if units == "claims" else set())
    return Need(f"response_in_contexts({units})", ("response", "contexts"), frozenset(asks), flow)


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def response_in_references(sample: Sample) -> Flow[Supports]:
    """Every statement of the response held against each reference."""
    statements = yield from response_statements(sample)
    return (yield from _in_references(sample, statements))


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def response_claims_in_references(sample: Sample) -> Flow[Supports]:
    """The claims of the response held against each reference."""
    statements = yield from response_claims(sample)
    return (yield from _in_references(sample, statements))


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def references_in_response(sample: Sample) -> Flow[Supports]:
    """Every statement of each reference held against the response."""
    many = yield from reference_statements(sample)
    premise = [("response", response_of(sample))]
    return Supports((yield from together([support(one, "response", premise, sample.query) for one in many])))


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def reference_claims_in_response(sample: Sample) -> Flow[Supports]:
    """The claims of each reference held against the response."""
    many = yield from reference_statements(sample)
    premise = [("response", response_of(sample))]
    return Supports((yield from together([support(one.claims, "response", premise, sample.query) for one in many])))


@need(reads=["references", "contexts"], asks=["decompose", "entail:support"])
def references_in_contexts(sample: Sample) -> Flow[Supports]:
    """Every statement of each reference held against the contexts."""
    many = yield from reference_statements(sample)
    return Supports((yield from together([_in_contexts(sample, one) for one in many])))


@need(reads=["references", "contexts"], asks=["decompose", "entail:support"])
def reference_claims_in_contexts(sample: Sample) -> Flow[Supports]:
    """The claims of each reference held against the contexts."""
    many = yield from reference_statements(sample)
    return Supports((yield from together([_in_contexts(sample, one.claims) for one in many])))


@need(reads=["response"], asks=["decompose", "entail:support"])
def response_claims_in_query(sample: Sample) -> Flow[Support]:
    """The claims of the response held against the query: what the query presupposes is no news."""
    statements = yield from response_claims(sample)
    return (yield from _presupposed(sample, statements))


@need(reads=["references"], asks=["decompose", "entail:support"])
def reference_claims_in_query(sample: Sample) -> Flow[Supports]:
    """The claims of each reference held against the query."""
    many = yield from reference_statements(sample)
    return Supports((yield from together([_presupposed(sample, one.claims) for one in many])))
