"""Needs about entailment: the statements of one text held against other texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

from ragauge.needs.base import Need, NothingToCount, QuestionFlow, gather, need
from ragauge.needs.evidence import Statements, Support, Supports, Texts
from ragauge.questions import Decompose, Entail
from ragauge.text.sentences import sentences
from ragauge.types import Chunk, Sample, Span, Statement


def response_of(sample: Sample) -> str:
    """The response; a need that reads "response" may rely on it."""
    assert sample.response is not None
    return sample.response


def cited_as(sample: Sample) -> list[str]:
    """What a text may cite each chunk by: its id, its title, and what is known of its author and year."""
    return [_cited_as(chunk) for chunk in sample.contexts or ()]


def _cited_as(chunk: Chunk) -> str:
    known = [str(chunk.metadata[key]) for key in ("author", "authors", "year", "date") if key in chunk.metadata]
    return " ".join([chunk.id, chunk.title, *known])


def references_of(sample: Sample) -> dict[str, str]:
    """The references that say something, by field name. Raises NothingToCount where there are none."""
    references = {f"references[{i}]": text for i, text in enumerate(sample.references or ()) if text.strip()}
    if not references:
        raise NothingToCount("the sample has no reference")
    return references


def response_statements(sample: Sample) -> QuestionFlow[Statements]:
    """The statements of the response; an empty response has none."""
    text = response_of(sample)
    if not text.strip():
        return Statements("response", ())
    (judgment,) = yield [Decompose(text, sample.query)]
    return Statements.of("response", judgment)


def response_cut_by(splitter: Callable[[str], Sequence[Span]]) -> Callable[[Sample], QuestionFlow[Statements]]:
    """The response as a rule splits it, each piece taken for a claim; no judge is asked."""

    def flow(sample: Sample) -> QuestionFlow[Statements]:
        yield from ()
        text = response_of(sample)
        return Statements("response", tuple(Statement(text[a:b], (a, b)) for a, b in splitter(text)))

    return flow


def response_claims(sample: Sample) -> QuestionFlow[Statements]:
    """The statements of the response that can be checked."""
    statements = yield from response_statements(sample)
    return statements.claims


def reference_statements(sample: Sample) -> QuestionFlow[tuple[Statements, ...]]:
    """The statements of each reference."""
    references = references_of(sample)
    judgments = yield [Decompose(text, sample.query) for text in references.values()]
    return tuple(map(Statements.of, references, judgments))


@need(reads=["response", "references"])
def response_and_references(sample: Sample) -> QuestionFlow[Texts]:
    """The response and its references as they stand."""
    yield from ()
    return Texts(response_of(sample), tuple(references_of(sample).values()))


#: What a response is cut into before it is checked: claims, found by the judge, or sentences, found by rule.
ClaimUnits = Literal["claims", "sentences"]

_CUT: dict[ClaimUnits, Callable[[Sample], QuestionFlow[Statements]]] = {
    "claims": response_claims,
    "sentences": response_cut_by(sentences),
}


def support(
    statements: Statements, against: str, chunks: Sequence[tuple[str, str]], query: str | None
) -> QuestionFlow[Support]:
    """Hold each statement against `chunks`, pairs of (id, text); with no text among them nothing is asked."""
    ids, premise = tuple(chunk for chunk, _ in chunks), tuple(text for _, text in chunks)
    if not statements.pieces or not any(text.strip() for text in premise):
        return Support(statements, against, ids, ())
    judgments = yield [Entail(premise, piece.text, query) for piece in statements.pieces]
    return Support(statements, against, ids, tuple(judgments))


def _in_contexts(sample: Sample, statements: Statements) -> QuestionFlow[Support]:
    chunks = [(chunk.id, chunk.passage) for chunk in sample.contexts or ()]
    return support(statements, "contexts", chunks, sample.query)


def _in_references(sample: Sample, statements: Statements) -> QuestionFlow[Supports]:
    references = references_of(sample).items()
    flows = [support(statements, name, [(name, text)], sample.query) for name, text in references]
    return Supports((yield from gather(flows)))


def _presupposed(sample: Sample, statements: Statements) -> QuestionFlow[Support]:
    """Hold statements against the query alone, as its premise; without a query nothing is presupposed."""
    return support(statements, "query", [("query", sample.query or "")], None)


@cache
def response_in_contexts(units: ClaimUnits = "claims") -> Need[Support]:
    """The claims (or sentences) of the response held against the contexts."""

    def flow(sample: Sample) -> QuestionFlow[Support]:
        statements = yield from _CUT[units](sample)
        return (yield from _in_contexts(sample, statements))

    asks = {"entail:support"} | ({"decompose"} if units == "claims" else set())
    return Need(f"response_in_contexts({units})", ("response", "contexts"), frozenset(asks), flow)


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def response_in_references(sample: Sample) -> QuestionFlow[Supports]:
    """Every statement of the response held against each reference."""
    statements = yield from response_statements(sample)
    return (yield from _in_references(sample, statements))


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def response_claims_in_references(sample: Sample) -> QuestionFlow[Supports]:
    """The claims of the response held against each reference."""
    statements = yield from response_claims(sample)
    return (yield from _in_references(sample, statements))


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def references_in_response(sample: Sample) -> QuestionFlow[Supports]:
    """Every statement of each reference held against the response."""
    many = yield from reference_statements(sample)
    premise = [("response", response_of(sample))]
    return Supports((yield from gather([support(one, "response", premise, sample.query) for one in many])))


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def reference_claims_in_response(sample: Sample) -> QuestionFlow[Supports]:
    """The claims of each reference held against the response."""
    many = yield from reference_statements(sample)
    premise = [("response", response_of(sample))]
    return Supports((yield from gather([support(one.claims, "response", premise, sample.query) for one in many])))


@need(reads=["references", "contexts"], asks=["decompose", "entail:support"])
def references_in_contexts(sample: Sample) -> QuestionFlow[Supports]:
    """Every statement of each reference held against the contexts."""
    many = yield from reference_statements(sample)
    return Supports((yield from gather([_in_contexts(sample, one) for one in many])))


@need(reads=["references", "contexts"], asks=["decompose", "entail:support"])
def reference_claims_in_contexts(sample: Sample) -> QuestionFlow[Supports]:
    """The claims of each reference held against the contexts."""
    many = yield from reference_statements(sample)
    return Supports((yield from gather([_in_contexts(sample, one.claims) for one in many])))


@need(reads=["response"], asks=["decompose", "entail:support"])
def response_claims_in_query(sample: Sample) -> QuestionFlow[Support]:
    """The claims of the response held against the query: what the query presupposes is no news."""
    statements = yield from response_claims(sample)
    return (yield from _presupposed(sample, statements))


@need(reads=["references"], asks=["decompose", "entail:support"])
def reference_claims_in_query(sample: Sample) -> QuestionFlow[Supports]:
    """The claims of each reference held against the query."""
    many = yield from reference_statements(sample)
    return Supports((yield from gather([_presupposed(sample, one.claims) for one in many])))
