"""Labels: the gold claims of a sample, and which of its documents hold which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import msgspec

from ragauge.needs.base import Need, NothingToCount, QuestionFlow
from ragauge.needs.gold import LABELS, GoldAnswers, GoldRow, gold_in_contexts, labels_of
from ragauge.questions import Decompose
from ragauge.scores import Evidence
from ragauge.types import Chunk, Decomposition, Sample

#: What is made of a gold answer: one claim, or those that a judge finds in it.
Claims = Literal["whole", "apart"]


@dataclass(frozen=True)
class Labels:
    """What is known of a sample's answers. documents: for each document whether it holds each claim; None: unknown."""

    answers: GoldAnswers
    documents: tuple[GoldRow, ...] | None
    evidence: tuple[Evidence, ...] = ()

    def on(self, sample: Sample) -> Sample:
        """The sample with these labels: `answers`, `answers_found` of each document, and `answerable` unless given."""
        if self.documents is None:
            return msgspec.structs.replace(sample, answers=self.answers)
        contexts = tuple(map(_labelled, sample.contexts or (), self.documents))
        answerable = any(map(any, self.documents)) if sample.answerable is None else sample.answerable
        return msgspec.structs.replace(sample, answers=self.answers, contexts=contexts, answerable=answerable)


def labels(claims: Claims = "whole") -> Need[Labels]:
    """The gold claims of a sample, and which of its documents hold which, each document by itself.

    Claims and labels that the sample has are kept, but for labels of documents that are not one for each claim. A gold
    answer is one claim, of which further references are other wordings, as Trust-Eval has it; or the first is taken
    apart.
    """

    def flow(sample: Sample) -> QuestionFlow[Labels]:
        answers = sample.answers or (yield from _answers(sample, claims))
        if not all(answers):
            raise NothingToCount("a gold claim in 'answers' has no wording")
        if sample.contexts is None:
            return Labels(answers, None)
        contexts = tuple(_fitting(chunk, len(answers)) for chunk in sample.contexts)
        if sample.answerable is False:
            return Labels(answers, tuple(labels_of(chunk) or (False,) * len(answers) for chunk in contexts))
        found = yield from gold_in_contexts(msgspec.structs.replace(sample, answers=answers, contexts=contexts))
        if found.documents is None:
            raise NothingToCount("several chunks were judged only together, without a label for each")
        return Labels(answers, found.documents)

    asks = {"entail:support"} | ({"decompose"} if claims == "apart" else set())
    return Need(f"labels({claims})", (), frozenset(asks), flow)


def _answers(sample: Sample, claims: Claims) -> QuestionFlow[GoldAnswers]:
    """The gold claims of the references. Raises NothingToCount where there are none."""
    if not sample.references:
        raise NothingToCount("the sample has no gold answer")
    if claims == "apart":
        (judgment,) = yield [Decompose(sample.references[0], sample.query)]
        found = [one.text for one in cast(Decomposition, judgment.answer).statements if one.claim]
        if found:
            return tuple((claim,) for claim in found)
    return (sample.references,)


def _fitting(chunk: Chunk, claims: int) -> Chunk:
    """The document without labels that are not one for each claim."""
    if len(labels_of(chunk)) == claims:
        return chunk
    rest = {key: value for key, value in chunk.metadata.items() if key != LABELS}
    return msgspec.structs.replace(chunk, metadata=rest)


def _labelled(chunk: Chunk, found: Sequence[bool]) -> Chunk:
    return msgspec.structs.replace(chunk, metadata={**chunk.metadata, LABELS: [int(one) for one in found]})
