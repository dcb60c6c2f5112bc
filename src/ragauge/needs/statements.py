"""Needs about what a text says: its statements, or its sentences, or the text itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragauge.needs.findings import Statements, Texts
from ragauge.needs.need import Flow, NothingToCount, need
from ragauge.questions import Decompose
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


def response_statements(sample: Sample) -> Flow[Statements]:
    """The statements of the response; an empty response has none."""
    text = response_of(sample)
    if not text.strip():
        return Statements("response", ())
    (judgment,) = yield [Decompose(text, sample.query)]
    return Statements.of("response", judgment)


def response_cut_by(splitter: Callable[[str], Sequence[Span]]) -> Callable[[Sample], Flow[Statements]]:
    """The response as a rule splits it, each piece taken for a claim; no judge is asked."""

    def flow(sample: Sample) -> Flow[Statements]:
        yield from ()
        text = response_of(sample)
        return Statements("response", tuple(Statement(text[a:b], (a, b)) for a, b in splitter(text)))

    return flow


def response_claims(sample: Sample) -> Flow[Statements]:
    """The statements of the response that can be checked."""
    statements = yield from response_statements(sample)
    return statements.claims


def reference_statements(sample: Sample) -> Flow[tuple[Statements, ...]]:
    """The statements of each reference."""
    references = references_of(sample)
    judgments = yield [Decompose(text, sample.query) for text in references.values()]
    return tuple(map(Statements.of, references, judgments))


@need(reads=["response", "references"])
def response_and_references(sample: Sample) -> Flow[Texts]:
    """The response and its references as they stand."""
    yield from ()
    return Texts(response_of(sample), tuple(references_of(sample).values()))
