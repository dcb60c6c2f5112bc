"""Labels: the gold claims of a sample, and which of its documents hold which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import msgspec

from ragauge.needs.findings import NotTold, Statements, Support
from ragauge.needs.gold import labels_of
from ragauge.needs.need import Flow, Need, NothingToCount
from ragauge.needs.support import support
from ragauge.nouns.answers import Decomposition, Label
from ragauge.nouns.samples import Chunk, Sample
from ragauge.nouns.scores import Evidence
from ragauge.nouns.statements import Statement
from ragauge.questions import Decompose

#: What is made of a gold answer: one claim, or those that a judge finds in it.
Claims = Literal["whole", "apart"]

Answers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Labels:
    """What is known of a sample's answers. documents: for each document whether it holds each claim; None: unknown."""

    answers: Answers
    documents: tuple[tuple[bool, ...], ...] | None
    evidence: tuple[Evidence, ...] = ()

    def on(self, sample: Sample) -> Sample:
        """The sample with these labels: `answers`, `answers_found` of each document, and `answerable`."""
        if self.documents is None:
            return msgspec.structs.replace(sample, answers=self.answers)
        contexts = tuple(map(_labelled, sample.contexts or (), self.documents))
        answerable = any(map(any, self.documents))
        return msgspec.structs.replace(sample, answers=self.answers, contexts=contexts, answerable=answerable)


def labels(claims: Claims = "whole") -> Need[Labels]:
    """The gold claims of a sample, and which of its documents hold which, each document by itself.

    Claims and labels that the sample has are kept. A gold answer is one claim, of which further references are other
    wordings, as Trust-Eval has it; or it is taken apart.
    """

    def flow(sample: Sample) -> Flow[Labels]:
        answers = sample.answers or (yield from _answers(sample, claims))
        if not all(answers):
            raise NothingToCount("a gold claim in 'answers' has no wording")
        if sample.contexts is None:
            return Labels(answers, None)
        given = tuple(map(labels_of, sample.contexts))
        if given and all(len(one) == len(answers) for one in given):
            return Labels(answers, given)
        return Labels(answers, (yield from _held(sample, sample.contexts, answers)))

    asks = {"entail:support"} | ({"decompose"} if claims == "apart" else set())
    return Need(f"labels({claims})", (), frozenset(asks), flow)


def _answers(sample: Sample, claims: Claims) -> Flow[Answers]:
    """The gold claims of the references. Raises NothingToCount where there are none."""
    if not sample.references:
        raise NothingToCount("the sample has no gold answer")
    if claims == "apart":
        (judgment,) = yield [Decompose(sample.references[0], sample.query)]
        found = [one.text for one in cast(Decomposition, judgment.answer).statements if one.claim]
        if found:
            return tuple((claim,) for claim in found)
    return (sample.references,)


def _held(sample: Sample, documents: Sequence[Chunk], answers: Answers) -> Flow[tuple[tuple[bool, ...], ...]]:
    """For each document whether it holds each claim, by the claim's first wording."""
    statements = Statements("answers", tuple(Statement(wordings[0]) for wordings in answers))
    chunks = [(chunk.id, chunk.passage) for chunk in documents]
    found: Support = yield from support(statements, "contexts", chunks, sample.query)
    try:
        table = [[label is Label.ENTAILED for label in row] for row in found.table]
    except NotTold as error:
        raise NothingToCount(str(error)) from error
    return tuple(zip(*table, strict=True))


def _labelled(chunk: Chunk, found: Sequence[bool]) -> Chunk:
    return msgspec.structs.replace(chunk, metadata={**chunk.metadata, "answers_found": [int(one) for one in found]})
