"""Answers: what judges give back."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ragauge.nouns.statements import Span, Statement


class Label(StrEnum):
    """What a verdict says.

    Entailment is ENTAILED, NEUTRAL or CONTRADICTED; a two-way judge, which cannot tell the last two apart, says
    NOT_ENTAILED. The other questions are answered YES or NO.
    """

    ENTAILED = "entailed"
    NEUTRAL = "neutral"
    CONTRADICTED = "contradicted"
    NOT_ENTAILED = "not_entailed"
    YES = "yes"
    NO = "no"


class Decomposition(msgspec.Struct, frozen=True, gc=False, tag="decomposition"):
    """A text taken apart, in the order of the text."""

    statements: tuple[Statement, ...]


class ChunkVerdict(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one chunk alone says about a hypothesis.

    probability: that the chunk entails it, in 0..1. span: the characters of the chunk's passage that decide.
    """

    label: Label
    probability: float | None = None
    span: Span | None = None


class Verdict(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="verdict"):
    """The answer to a question of entailment, relevance or trait.

    label: for entailment, of all chunks together. probability: of ENTAILED or YES, in 0..1.
    chunks: for entailment, one verdict per chunk of the premise, in its order; empty where the judge gives none.
    span: for relevance, the characters that decide.
    """

    label: Label
    probability: float | None = None
    chunks: tuple[ChunkVerdict, ...] = ()
    span: Span | None = None
    rationale: str | None = None

    @property
    def two_way(self) -> bool:
        """Whether it shows that its judge tells support from its absence, and no more."""
        return Label.NOT_ENTAILED in (self.label, *(chunk.label for chunk in self.chunks))


class Grade(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="grade"):
    """The answer on a rubric's scale."""

    value: float
    rationale: str | None = None


class Failure(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="failure"):
    """No answer, and why.

    reason: a short code such as "judge_error", "invalid_answer", "not_recorded". detail: one sentence for people.
    raw: what the judge returned, where it returned something unusable.
    """

    reason: str
    detail: str = ""
    raw: str | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


Answer = Decomposition | Verdict | Grade
