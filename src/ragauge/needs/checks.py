"""Needs about single pieces: relevance, traits of opinions, grades, and whether a response is a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ragauge.needs.base import Need, NothingToCount, QuestionFlow, gather, need
from ragauge.needs.entailment import references_of, response_of, response_statements
from ragauge.needs.evidence import Checks, CheckSets, Grades, chunk_pieces
from ragauge.questions import REFUSAL, Classify, Rate, Relevant, Rubric
from ragauge.scores import Evidence
from ragauge.text import trust_eval
from ragauge.text.refusals import refusal
from ragauge.types import Chunk, Label, Sample


@need(reads=["query", "response"], asks=["decompose", "relevant"])
def statements_to_query(sample: Sample) -> QuestionFlow[Checks]:
    """Is each statement of the response relevant to the query?"""
    statements = yield from response_statements(sample)
    judgments = yield [Relevant(sample.query or "", piece.text) for piece in statements.pieces]
    pieces = tuple(Evidence(piece.text, statements.field, piece.span, "query") for piece in statements.pieces)
    return Checks(pieces, tuple(judgments))


@need(reads=["query", "contexts"], asks=["relevant"])
def contexts_to_query(sample: Sample) -> QuestionFlow[Checks]:
    """Is any part of each chunk relevant to the query?"""
    contexts = sample.contexts or ()
    judgments = yield [Relevant(sample.query or "", chunk.passage) for chunk in contexts]
    return Checks(chunk_pieces(contexts, "query"), tuple(judgments))


@need(reads=["query", "contexts", "references"], asks=["relevant"])
def contexts_to_references(sample: Sample) -> QuestionFlow[CheckSets]:
    """Is each chunk useful for producing each reference?"""
    contexts = sample.contexts or ()
    flows = [_usefulness(sample.query or "", contexts, name, text) for name, text in references_of(sample).items()]
    return CheckSets((yield from gather(flows)))


@need(reads=["query", "contexts", "response"], asks=["relevant"])
def contexts_to_response(sample: Sample) -> QuestionFlow[CheckSets]:
    """Is each chunk useful for producing the response?"""
    text = response_of(sample)
    if not text.strip():
        raise NothingToCount("the response is empty")
    return CheckSets(((yield from _usefulness(sample.query or "", sample.contexts or (), "response", text)),))


def _usefulness(query: str, contexts: Sequence[Chunk], name: str, reference: str) -> QuestionFlow[Checks]:
    judgments = yield [Relevant(query, chunk.passage, reference) for chunk in contexts]
    return Checks(chunk_pieces(contexts, name), tuple(judgments))


@cache
def opinions_with(trait: str) -> Need[Checks]:
    """Which opinions of the response carry `trait`?"""

    def flow(sample: Sample) -> QuestionFlow[Checks]:
        statements = yield from response_statements(sample)
        opinions = statements.opinions
        judgments = yield [Classify(piece.text, trait) for piece in opinions.pieces]
        return Checks(opinions.evidence, tuple(judgments))

    return Need(f"opinions_with({trait})", ("response",), frozenset({"decompose", f"classify:{trait}"}), flow)


@cache
def grade_of(rubric: Rubric) -> Need[Grades]:
    """The grade of the sample's texts on `rubric`; of each chunk separately where the rubric reads "chunk"."""

    def flow(sample: Sample) -> QuestionFlow[Grades]:
        texts = {field: _text(sample, field) for field in rubric.fields if field != "chunk"}
        if "chunk" in rubric.fields:
            pieces = chunk_pieces(sample.contexts or (), rubric.name)
        else:
            pieces = (Evidence(texts[rubric.fields[-1]], rubric.fields[-1], against=rubric.name),)
        judgments = yield [
            Rate(rubric, tuple((field, texts.get(field, piece.text)) for field in rubric.fields)) for piece in pieces
        ]
        return Grades(pieces, tuple(judgments))

    reads = tuple("contexts" if field == "chunk" else field for field in rubric.fields)
    return Need(f"grade_of({rubric.name} {rubric.digest})", reads, frozenset({f"rate:{rubric.name}"}), flow)


def _text(sample: Sample, field: str) -> str:
    """A field as one text, chunks or alternatives separated by empty lines."""
    value = getattr(sample, field)
    if isinstance(value, str):
        return value
    return "\n\n".join(piece.passage if isinstance(piece, Chunk) else piece for piece in value)


#: How refusals are detected: "rules" (ours), "trust_eval" (a fuzzy match with the refusal it prescribes), or "judge".
RefusalDetector = Literal["rules", "trust_eval", "judge"]

#: The key of a sample's metadata for the refusal that its system was instructed to give.
REFUSAL_KEY = "refusal_sentence"


def instructed_refusal(sample: Sample) -> str:
    """The refusal that the system was instructed to give instead of an answer; "" where unknown."""
    text = sample.metadata.get(REFUSAL_KEY)
    return text if isinstance(text, str) else ""


@dataclass(frozen=True)
class RefusalCheck:
    """Whether the response is a refusal; Trust-Eval counts gold claims by `refused_without_citations`.

    evidence: the refusing sentences, or the whole response.
    """

    refused: bool
    refused_without_citations: bool
    evidence: tuple[Evidence, ...]


@cache
def refusals(refusals: RefusalDetector = "rules") -> Need[RefusalCheck]:
    """Is the response a refusal? Nothing is asked unless a judge is to decide."""
    name = f"refusals({refusals})"
    if refusals == "judge":
        return Need(name, _GRADED.reads, _GRADED.asks, _by_judge)
    return Need(name, ("response",), frozenset(), _by_trust_eval if refusals == "trust_eval" else _by_rules)


_GRADED = grade_of(REFUSAL)


def _by_judge(sample: Sample) -> QuestionFlow[RefusalCheck]:
    grades = yield from _GRADED.flow(sample)
    refused = grades.values[0] >= (REFUSAL.low + REFUSAL.high) / 2
    return RefusalCheck(refused, refused, grades.evidence)


def _by_trust_eval(sample: Sample) -> QuestionFlow[RefusalCheck]:
    yield from ()
    text = response_of(sample)
    refused = trust_eval.is_refusal(text)
    bare = trust_eval.is_refusal(trust_eval.without_citations(text))
    return RefusalCheck(refused, bare, _whole_response(text, refused))


def _by_rules(sample: Sample) -> QuestionFlow[RefusalCheck]:
    yield from ()
    text = response_of(sample)
    spans = refusal(text, instructed_refusal(sample))
    pieces = tuple(Evidence(text[start:end], "response", (start, end), "refusal", Label.YES) for start, end in spans)
    return RefusalCheck(bool(spans), bool(spans), pieces or _whole_response(text, refused=False))


def _whole_response(text: str, refused: bool) -> tuple[Evidence, ...]:
    return (Evidence(text, "response", (0, len(text)), "refusal", Label.YES if refused else Label.NO),)
