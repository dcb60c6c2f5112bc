"""Needs about what a text says: its statements, or its sentences, or the text itself."""

from __future__ import annotations

from ragauge.needs.findings import Statements, Texts
from ragauge.needs.need import Flow, NothingToCount, need
from ragauge.nouns.samples import Sample
from ragauge.nouns.statements import Statement
from ragauge.questions import Decompose
from ragauge.text.sentences import sentences


def response_of(sample: Sample) -> str:
    """The response; a need that reads "response" may rely on it."""
    assert sample.response is not None
    return sample.response


def references_of(sample: Sample) -> tuple[str, ...]:
    """The references that say something. Raises NothingToCount where there are none."""
    references = tuple(reference for reference in sample.references or () if reference.strip())
    if not references:
        raise NothingToCount("the sample has no reference")
    return references


def response_statements(sample: Sample) -> Flow[Statements]:
    """The statements of the response; an empty response has none."""
    text = response_of(sample)
    if not text.strip():
        return Statements("response", ())
    (judgment,) = yield [Decompose(text, sample.query)]
    return Statements.of("response", judgment)


def response_sentences(sample: Sample) -> Flow[Statements]:
    """The sentences of the response as a rule splits them, each taken for a claim; no judge is asked."""
    yield from ()
    text = response_of(sample)
    return Statements("response", tuple(Statement(text[a:b], (a, b)) for a, b in sentences(text)))


def response_claims(sample: Sample) -> Flow[Statements]:
    """The statements of the response that can be checked."""
    statements = yield from response_statements(sample)
    return statements.claims


def reference_statements(sample: Sample) -> Flow[tuple[Statements, ...]]:
    """The statements of each reference."""
    judgments = yield [Decompose(text, sample.query) for text in references_of(sample)]
    return tuple(Statements.of(f"references[{i}]", judgment) for i, judgment in enumerate(judgments))


@need(reads=["response", "references"])
def response_and_references(sample: Sample) -> Flow[Texts]:
    """The response and its references as they stand."""
    yield from ()
    return Texts(response_of(sample), references_of(sample))
