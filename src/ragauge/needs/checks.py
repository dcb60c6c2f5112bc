"""Needs about single pieces: relevance, traits, grades, and whether a response declines to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ragauge.needs.base import Need, NothingToCount, QuestionFlow, gather, need
from ragauge.needs.entailment import references_of, response_of, response_statements
from ragauge.needs.evidence import Checks, CheckSets, Grades, chunk_pieces, piece_of
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
    pieces = tuple(piece_of(statements.field, piece.text, "query", piece.span) for piece in statements.pieces)
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
    flows = [_useful(sample.query or "", contexts, name, text) for name, text in references_of(sample).items()]
    return CheckSets((yield from gather(flows)))


@need(reads=["query", "contexts", "response"], asks=["relevant"])
def contexts_to_response(sample: Sample) -> QuestionFlow[CheckSets]:
    """Is each chunk useful for producing the response?"""
    text = response_of(sample)
    if not text.strip():
        raise NothingToCount("the response is empty")
    return CheckSets(((yield from _useful(sample.query or "", sample.contexts or (), "response", text)),))


def _useful(query: str, contexts: Sequence[Chunk], name: str, reference: str) -> QuestionFlow[Checks]:
    judgments = yield [Relevant(query, chunk.passage, reference) for chunk in contexts]
    return Checks(chunk_pieces(contexts, name), tuple(judgments))


@cache
def opinions_with(trait: str) -> Need[Checks]:
    """Which opinions of the response carry `trait`?"""

    def flow(sample: Sample) -> QuestionFlow[Checks]:
        statements = yield from response_statements(sample)
        opinions = statements.opinions
        judgments = yield [Classify(piece.text, trait) for piece in opinions.pieces]
        pieces = tuple(piece_of(opinions.field, piece.text, "", piece.span) for piece in opinions.pieces)
        return Checks(pieces, tuple(judgments))

    return Need(f"opinions_with({trait})", ("response",), frozenset({"decompose", f"classify:{trait}"}), flow)


@cache
def grade_of(rubric: Rubric) -> Need[Grades]:
    """The grade of the sample's texts on `rubric`; of each chunk in turn where the rubric reads "chunk"."""

    def flow(sample: Sample) -> QuestionFlow[Grades]:
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


#: Who tells a refusal: "rules" (ours), "trust_eval" (a fuzzy match with the sentence that it prescribes), "judge".
Refusals = Literal["rules", "trust_eval", "judge"]


#: Where a sample's metadata says what its system was told to say in place of an answer.
SENTENCE = "refusal_sentence"


def refusal_text(sample: Sample) -> str:
    """What the system was told to say in place of an answer; "" where that is not known."""
    sentence = sample.metadata.get(SENTENCE)
    return sentence if isinstance(sentence, str) else ""


@dataclass(frozen=True)
class Refused:
    """Whether the response is a refusal.

    bare: whether it would be one without its citations, which is what Trust-Eval goes by where it counts gold claims.
    """

    refused: bool
    bare: bool
    evidence: tuple[Evidence, ...]


@cache
def refusals(refusals: Refusals = "rules") -> Need[Refused]:
    """Does the response decline to answer? Nothing is asked unless a judge is to tell."""
    name = f"refusals({refusals})"
    if refusals == "judge":
        graded = grade_of(REFUSAL)
        return Need(name, graded.reads, graded.asks, lambda sample: _graded(graded, sample))
    return Need(name, ("response",), frozenset(), _matched if refusals == "trust_eval" else _by_rule)


def _graded(graded: Need[Grades], sample: Sample) -> QuestionFlow[Refused]:
    grades = yield from graded.flow(sample)
    refused = grades.values[0] >= (REFUSAL.low + REFUSAL.high) / 2
    return Refused(refused, refused, grades.evidence)


def _matched(sample: Sample) -> QuestionFlow[Refused]:
    yield from ()
    text = response_of(sample)
    refused = trust_eval.is_refusal(text)
    return Refused(refused, trust_eval.is_refusal(trust_eval.bare(text)), _whole(text, refused))


def _by_rule(sample: Sample) -> QuestionFlow[Refused]:
    yield from ()
    text = response_of(sample)
    spans = refusal(text, refusal_text(sample))
    declined = tuple(Evidence(text[start:end], "response", (start, end), "refusal", Label.YES) for start, end in spans)
    return Refused(bool(spans), bool(spans), declined or _whole(text, refused=False))


def _whole(text: str, refused: bool) -> tuple[Evidence, ...]:
    return (Evidence(text, "response", (0, len(text)), "refusal", Label.YES if refused else Label.NO),)
