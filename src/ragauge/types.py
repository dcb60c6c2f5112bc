"""Samples, statements, answers, calls and identities: the plain frozen data that everything passes around."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Protocol

import msgspec


class Chunk(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One retrieved context.

    `id` is whatever the retriever calls it, or its 1-based position as text where it has no name.
    """

    text: str
    id: str = ""
    title: str = ""
    metadata: dict[str, Any] = {}

    @property
    def passage(self) -> str:
        """The text a judge reads: the title on a line of its own, then the text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Sample(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One row of a data set: what was asked, what was retrieved, what was answered, what is right.

    A field that is None is absent from the data; an empty tuple or string is present and empty ("nothing was
    retrieved"), which is a different thing: a metric is undefined on the first and counts the second.

    id: unique within the data set; the 1-based row number as text where the data has none.
    query: what was asked.
    response: what the system answered.
    contexts: the retrieved chunks in the retriever's order.
    references: correct answers written by people; each is complete, they are alternatives.
    source: the text that was summarised.
    reference_contexts: the chunks that ought to have been retrieved.
    answers: gold claims of a long answer, each a tuple of equivalent wordings (Trust-Eval, ALCE).
    answerable: whether the documents hold an answer at all.
    system: the name of what produced the response.
    group: samples of one group (a document, a user) are not independent; see docs/statistics.md.
    """

    id: str
    query: str | None = None
    response: str | None = None
    contexts: tuple[Chunk, ...] | None = None
    references: tuple[str, ...] | None = None
    source: str | None = None
    reference_contexts: tuple[Chunk, ...] | None = None
    answers: tuple[tuple[str, ...], ...] | None = None
    answerable: bool | None = None
    system: str | None = None
    group: str | None = None
    metadata: dict[str, Any] = {}


#: The fields that carry content, which a need may read.
FIELDS = (
    "query",
    "response",
    "contexts",
    "references",
    "source",
    "reference_contexts",
    "answers",
    "answerable",
)


Span = tuple[int, int]


class Statement(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A self-contained piece of a text.

    span: its characters there, start inclusive, end exclusive; None where the judge rewrote it beyond recognition.
    claim: it asserts something that can be checked.
    opinion: it carries the author's own belief, judgment, attitude or threat.
    The flags are independent; greetings and fillers have neither.
    """

    text: str
    span: Span | None = None
    claim: bool = True
    opinion: bool = False


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


class _Labelled(Protocol):
    @property
    def label(self) -> Label: ...


def is_entailed(label: Label | None, chunks: Iterable[_Labelled]) -> bool:
    """Whether a joint label is ENTAILED and no chunk contradicts the hypothesis; what every metric counts as support.

    Args:
        label: the label for all chunks together.
        chunks: the label of each chunk, where known.
    """
    return label is Label.ENTAILED and not any(chunk.label is Label.CONTRADICTED for chunk in chunks)


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
    def entailed(self) -> bool:
        """Whether the chunks together entail the hypothesis and none of them contradicts it."""
        return is_entailed(self.label, self.chunks)

    @property
    def two_way(self) -> bool:
        """Whether its judge distinguishes support from lack of support only."""
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


class Identity(msgspec.Struct, frozen=True, gc=False):
    """Everything that can change a judge's answer: its name, and settings such as revision, prompt hash, decoding."""

    name: str
    settings: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.name


class Call(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One call to a model.

    id: unique; the judgments that came of it name it, in the order in which they were asked. asked: how many questions
    were in it. model: as the server named it. prompt_tokens (cached_tokens among them), completion_tokens: as the
    server counted them or, where the price is known and the server counted none or too few, estimated. cost: in
    dollars, None where the price is not known. seconds: from sending to the reply. fault: what was wrong with the
    reply, where something was.
    """

    id: str
    asked: int = 1
    model: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    fault: str = ""


class TotalUsage(msgspec.Struct):
    """What calls have cost together. unpriced: calls whose price is not known; their cost is not in `cost`."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def add(self, call: Call) -> None:
        """Count one call more."""
        self.calls += 1
        self.prompt_tokens += call.prompt_tokens
        self.cached_tokens += call.cached_tokens
        self.completion_tokens += call.completion_tokens
        self.cost += call.cost or 0.0
        self.unpriced += call.cost is None


class ModelResponse(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a system under test answered.

    key: a hash of all that can change it, the prompt and the system (32 hex digits). call: the id of the call that
    brought it.
    """

    key: str
    text: str
    system: Identity
    call: str = ""
