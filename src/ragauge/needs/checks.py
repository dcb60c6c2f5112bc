"""Needs about single pieces: is a chunk or a statement relevant, does an opinion carry a trait, how good is a text?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ragauge.needs.findings import Checks, CheckSets, Grades, chunk_pieces, piece_of
from ragauge.needs.need import Flow, Need, NothingToCount, need, together
from ragauge.needs.statements import references_of, response_of, response_statements
from ragauge.questions import Classify, Rate, Relevant, Rubric
from ragauge.types import Chunk, Sample


@need(reads=["query", "response"], asks=["decompose", "relevant"])
def statements_to_query(sample: Sample) -> Flow[Checks]:
    """Is each statement of the response relevant to the query?"""
    statements = yield from response_statements(sample)
    judgments = yield [Relevant(sample.query or "", piece.text) for piece in statements.pieces]
    pieces = tuple(piece_of(statements.field, piece.text, "query", piece.span) for piece in statements.pieces)
    return Checks(pieces, tuple(judgments))


@need(reads=["query", "contexts"], asks=["relevant"])
def contexts_to_query(sample: Sample) -> Flow[Checks]:
    """Is any part of each chunk relevant to the query?"""
    contexts = sample.contexts or ()
    judgments = yield [Relevant(sample.query or "", chunk.passage) for chunk in contexts]
    return Checks(chunk_pieces(contexts, "query"), tuple(judgments))


@need(reads=["query", "contexts", "references"], asks=["relevant"])
def contexts_to_references(sample: Sample) -> Flow[CheckSets]:
    """Is each chunk useful for producing each reference?"""
    contexts = sample.contexts or ()
    flows = [_useful(sample.query or "", contexts, name, text) for name, text in references_of(sample).items()]
    return CheckSets((yield from together(flows)))


@need(reads=["query", "contexts", "response"], asks=["relevant"])
def contexts_to_response(sample: Sample) -> Flow[CheckSets]:
    """Is each chunk useful for producing the response?"""
    text = response_of(sample)
    if not text.strip():
        raise NothingToCount("the response is empty")
    return CheckSets(((yield from _useful(sample.query or "", sample.contexts or (), "response", text)),))


def _useful(query: str, contexts: Sequence[Chunk], name: str, reference: str) -> Flow[Checks]:
    judgments = yield [Relevant(query, chunk.passage, reference) for chunk in contexts]
    return Checks(chunk_pieces(contexts, name), tuple(judgments))


@cache
def opinions_with(trait: str) -> Need[Checks]:
    """Which opinions of the response carry `trait`?"""

    def flow(sample: Sample) -> Flow[Checks]:
        statements = yield from response_statements(sample)
        opinions = statements.opinions
        judgments = yield [Classify(piece.text, trait) for piece in opinions.pieces]
        pieces = tuple(piece_of(opinions.field, piece.text, "", piece.span) for piece in opinions.pieces)
        return Checks(pieces, tuple(judgments))

    return Need(f"opinions_with({trait})", ("response",), frozenset({"decompose", f"classify:{trait}"}), flow)


@cache
def grade_of(rubric: Rubric) -> Need[Grades]:
    """The grade of the sample's texts on `rubric`; of each chunk in turn where the rubric reads "chunk"."""

    def flow(sample: Sample) -> Flow[Grades]:
        pieces = (
            chunk_pieces(sample.contexts or (), rubric.name)
            if "chunk" in rubric.fields
            else (piece_of(rubric.fields[-1], _text(sample, rubric.fields[-1]), rubric.name),)
        )
        judgments = yield [
            Rate(
                rubric,
                tuple((field, piece.text if field == "chunk" else _text(sample, field)) for field in rubric.fields),
            )
            for piece in pieces
        ]
        return Grades(pieces, tuple(judgments))

    reads = tuple("contexts" if field == "chunk" else field for field in rubric.fields)
    return Need(f"grade_of({rubric.name} {rubric.digest})", reads, frozenset({f"rate:{rubric.name}"}), flow)


def _text(sample: Sample, field: str) -> str:
    """A field as one text: chunks and alternatives are parted by empty lines."""
    value = getattr(sample, field)
    if isinstance(value, str):
        return value
    return "\n\n".join(piece.passage if isinstance(piece, Chunk) else piece for piece in value)
