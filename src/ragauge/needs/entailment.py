"""Needs about entailment: are the statements of one text supported by other texts?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

from ragauge.needs.base import Need, NothingToCount, QuestionFlow, gather, need
from ragauge.needs.evidence import Statements, Support, Supports, Texts
from ragauge.questions import Decompose, Entail
from ragauge.text.sentences import sentences
from ragauge.types import Sample, Span, Statement


def response_of(sample: Sample) -> str:
    """The response; a need that reads "response" may rely on it."""
    assert sample.response is not None
    return sample.response


def citation_labels(sample: Sample) -> list[str]:
    """What a text may cite each chunk by: its id, its title, and its author and year where known."""
    keys = ("author", "authors", "year", "date")
    known = [(one, [str(one.metadata[key]) for key in keys if key in one.metadata]) for one in sample.contexts or ()]
    return [" ".join([chunk.id, chunk.title, *metadata]) for chunk, metadata in known]


def references_of(sample: Sample) -> dict[str, str]:
    """The non-blank references by field name. Raises NothingToCount where there are none."""
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


def response_split_by(splitter: Callable[[str], Sequence[Span]]) -> Callable[[Sample], QuestionFlow[Statements]]:
    """The response split by a rule, each piece a claim; no judge is asked."""

    def flow(sample: Sample) -> QuestionFlow[Statements]:
        yield from ()
        text = response_of(sample)
        return Statements("response", tuple(Statement(text[start:end], (start, end)) for start, end in splitter(text)))

    return flow


def response_claims(sample: Sample) -> QuestionFlow[Statements]:
    """The claims of the response."""
    statements = yield from response_statements(sample)
    return statements.claims


#: Whose claims are looked for: those of each reference, or of the text that was summarised.
ClaimsOf = Literal["references", "source"]


def _source_of(sample: Sample) -> str:
    if not (sample.source or "").strip():
        raise NothingToCount("the source is empty")
    return sample.source or ""


def reference_statements(sample: Sample, of: ClaimsOf = "references") -> QuestionFlow[tuple[Statements, ...]]:
    """The statements of each reference, or of the source."""
    references = references_of(sample) if of == "references" else {"source": _source_of(sample)}
    judgments = yield [Decompose(text, sample.query) for text in references.values()]
    return tuple(map(Statements.of, references, judgments))


@need(reads=["response", "references"])
def response_and_references(sample: Sample) -> QuestionFlow[Texts]:
    """The texts of the response and its references."""
    yield from ()
    return Texts(response_of(sample), tuple(references_of(sample).values()))


#: What a response is split into: claims, by the judge, or sentences, by rule.
ClaimUnits = Literal["claims", "sentences"]

_SPLITTERS: dict[ClaimUnits, Callable[[Sample], QuestionFlow[Statements]]] = {
    "claims": response_claims,
    "sentences": response_split_by(sentences),
}


def support(
    statements: Statements, against: str, chunks: Sequence[tuple[str, str]], query: str | None
) -> QuestionFlow[Support]:
    """Is each statement supported by `chunks`, pairs of (id, text)? Nothing is asked if all texts are blank."""
    ids, premise = tuple(id for id, _ in chunks), tuple(text for _, text in chunks)
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


def _in_response(sample: Sample, references: Sequence[Statements]) -> QuestionFlow[Supports]:
    premise = [("response", response_of(sample))]
    return Supports((yield from gather([support(one, "response", premise, sample.query) for one in references])))


def _in_query(sample: Sample, statements: Statements) -> QuestionFlow[Support]:
    """Are the statements presupposed by the query? Without a query none is."""
    return support(statements, "query", [("query", sample.query or "")], None)


@cache
def response_in_contexts(
    units: ClaimUnits = "claims", against: Literal["contexts", "source"] = "contexts"
) -> Need[Support]:
    """Are the claims (or sentences) of the response supported by the contexts, or by the source?"""

    def flow(sample: Sample) -> QuestionFlow[Support]:
        statements = yield from _SPLITTERS[units](sample)
        if against == "contexts":
            return (yield from _in_contexts(sample, statements))
        return (yield from support(statements, "source", [("source", _source_of(sample))], sample.query))

    asks = {"entail:support"} | ({"decompose"} if units == "claims" else set())
    return Need(f"response_in_{against}({units})", ("response", against), frozenset(asks), flow)


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def response_in_references(sample: Sample) -> QuestionFlow[Supports]:
    """Are the statements of the response supported by each reference?"""
    statements = yield from response_statements(sample)
    return (yield from _in_references(sample, statements))


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def response_claims_in_references(sample: Sample) -> QuestionFlow[Supports]:
    """Are the claims of the response supported by each reference?"""
    statements = yield from response_claims(sample)
    return (yield from _in_references(sample, statements))


@need(reads=["response", "references"], asks=["decompose", "entail:support"])
def references_in_response(sample: Sample) -> QuestionFlow[Supports]:
    """Are the statements of each reference supported by the response?"""
    references = yield from reference_statements(sample)
    return (yield from _in_response(sample, references))


@cache
def claims_in_response(of: ClaimsOf = "references") -> Need[Supports]:
    """Are the claims of each reference, or of the source, supported by the response?"""

    def flow(sample: Sample) -> QuestionFlow[Supports]:
        references = yield from reference_statements(sample, of)
        return (yield from _in_response(sample, [one.claims for one in references]))

    return Need(f"{_OWNERS[of]}_claims_in_response", ("response", of), frozenset({"decompose", "entail:support"}), flow)


@cache
def claims_in_query(of: ClaimsOf = "references") -> Need[Supports]:
    """Which claims of each reference, or of the source, does the query already presuppose?"""

    def flow(sample: Sample) -> QuestionFlow[Supports]:
        references = yield from reference_statements(sample, of)
        return Supports((yield from gather([_in_query(sample, one.claims) for one in references])))

    return Need(f"{_OWNERS[of]}_claims_in_query", (of,), frozenset({"decompose", "entail:support"}), flow)


_OWNERS: dict[ClaimsOf, str] = {"references": "reference", "source": "source"}

reference_claims_in_response = claims_in_response()
reference_claims_in_query = claims_in_query()


@need(reads=["references", "contexts"], asks=["decompose", "entail:support"])
def references_in_contexts(sample: Sample) -> QuestionFlow[Supports]:
    """Are the statements of each reference supported by the contexts?"""
    references = yield from reference_statements(sample)
    return Supports((yield from gather([_in_contexts(sample, one) for one in references])))


@need(reads=["references", "contexts"], asks=["decompose", "entail:support"])
def reference_claims_in_contexts(sample: Sample) -> QuestionFlow[Supports]:
    """Are the claims of each reference supported by the contexts?"""
    references = yield from reference_statements(sample)
    return Supports((yield from gather([_in_contexts(sample, one.claims) for one in references])))


@need(reads=["response"], asks=["decompose", "entail:support"])
def response_claims_in_query(sample: Sample) -> QuestionFlow[Support]:
    """Which claims of the response does the query already presuppose?"""
    statements = yield from response_claims(sample)
    return (yield from _in_query(sample, statements))
