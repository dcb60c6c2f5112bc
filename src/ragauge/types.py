"""Samples, statements, answers, calls and identities: the plain immutable data that all packages exchange."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec


class Chunk(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One retrieved context.

    Args:
        id: the retriever's id, or the 1-based position as text where it has none.
        title: the title of the document, if any.
        metadata: anything else known about it; `answers_found` holds gold labels (see docs/trust-eval.md).
    """

    text: str
    id: str = ""
    title: str = ""
    metadata: dict[str, Any] = {}

    @property
    def passage(self) -> str:
        """The text as judges read it: the title on its own line, then the text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class ToolCall(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One call of a tool by an agent.

    Args:
        name: the tool.
        arguments: by name, as JSON values; empty where it was called without any.
        id: what the trace calls it; never compared.
        result: what the tool returned, as text; None where that was not recorded.
        error: why the call failed; empty where it did not.
        effect: whether it changes something outside; None where nothing says so.
        acceptable: of an expected call, the values that each argument may have, as in BFCL: "" for one that may be left
            out; in an object, each name has a list of values in turn. None where `arguments` say it.
    """

    name: str
    arguments: dict[str, Any] = {}
    id: str = ""
    result: str | None = None
    error: str = ""
    effect: bool | None = None
    acceptable: dict[str, list[Any]] | None = None

    @property
    def signature(self) -> str:
        """The tool with its arguments, as in "cancel_order(id=7)"."""
        return f"{self.name}({', '.join(f'{name}={written(value)}' for name, value in self.arguments.items())})"

    @property
    def passage(self) -> str:
        """The call in one text, as judges read it: "cancel_order(id=7) → error: not cancellable"."""
        outcome = f"error: {self.error}" if self.error else self.result
        return self.signature if outcome is None else f"{self.signature} → {outcome}"


def written(value: Any) -> str:
    """A value of JSON as text, a text without quotation marks."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class Turn(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One message of a conversation.

    Args:
        role: "user" or "assistant"; "system" for instructions.
        text: what was said.
        contexts: the chunks that were retrieved for an answer; None where that is not known.
        calls: the calls of tools that were made for it, in order.
    """

    role: str
    text: str
    contexts: tuple[Chunk, ...] | None = None
    calls: tuple[ToolCall, ...] = ()


class Criterion(msgspec.Struct, frozen=True, gc=False):
    """Something that a response should do, or not do. points: what meeting it is worth, below 0 for a fault."""

    text: str
    points: float = 1.0


#: The key of a sample's metadata for the number of its turn, where each turn of a conversation is a sample.
TURN_KEY = "turn"


class Sample(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One row of a data set: a query, what was retrieved for it, the response, and what is correct.

    A field that is None is absent from the data, and metrics that read it are undefined. An empty tuple or string is
    present and empty ("nothing was retrieved"), and counts.

    Args:
        id: unique within the data set; the 1-based row number as text where the data has none.
        query: the question or request.
        response: the system's answer.
        contexts: the retrieved chunks in the retriever's order.
        references: correct answers written by people; each is complete, they are alternatives.
        source: the text that was summarised.
        reference_contexts: the chunks that should have been retrieved.
        answers: gold claims of a long answer, each a tuple of equivalent wordings (Trust-Eval, ALCE).
        answer_weights: how much each gold claim counts, 1 for a vital one; None where all count the same.
        criteria: what this response is graded by.
        answerable: whether the documents contain an answer at all.
        system: the name of the system that produced the response.
        group: samples of one group (a document, a user) are not independent; see docs/statistics.md.
        metadata: anything else in the row.
        turns: the conversation before `query`, oldest first.
        tool_calls: the calls of tools that were made for the response, in order.
        reference_tool_calls: the calls that should have been made.
        tools: the tools that were offered, each with "name" and, where given, "parameters" (JSON Schema) and MCP's
            "annotations".
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
    turns: tuple[Turn, ...] | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    reference_tool_calls: tuple[ToolCall, ...] | None = None
    tools: tuple[dict[str, Any], ...] | None = None
    answer_weights: tuple[float, ...] | None = None
    criteria: tuple[Criterion, ...] | None = None

    @property
    def calls(self) -> dict[str, ToolCall]:
        """All calls of tools by the field that holds them: "turns[0].calls[1]" and others, then "tool_calls[0]"."""
        before = {
            f"turns[{i}].calls[{j}]": call
            for i, turn in enumerate(self.turns or ())
            for j, call in enumerate(turn.calls)
        }
        return before | {f"tool_calls[{i}]": call for i, call in enumerate(self.tool_calls or ())}

    @property
    def is_turn(self) -> bool:
        """Whether it is one turn of a conversation of which each turn is a sample (c#1, c#2)."""
        return self.id.endswith(f"#{self.metadata.get(TURN_KEY)}")

    @property
    def counted_calls(self) -> dict[str, ToolCall]:
        """`calls`, without those of earlier turns where each is a sample of its own that counts them."""
        return {field: call for field, call in self.calls.items() if not (self.is_turn and field.startswith("turns"))}


#: The fields with content, which a need may read.
FIELDS = (
    *("query", "response", "contexts", "references", "source", "reference_contexts"),
    *("answers", "answerable", "criteria"),
)


Span = tuple[int, int]


class Statement(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A self-contained piece of a text.

    Args:
        text: the statement, readable on its own.
        span: its characters in the text, start inclusive, end exclusive; None where it cannot be located.
        claim: whether it asserts something that can be checked.
        opinion: whether it expresses the author's own belief, judgment, attitude or threat. Independent of `claim`;
            greetings and fillers are neither.
    """

    text: str
    span: Span | None = None
    claim: bool = True
    opinion: bool = False


class Label(StrEnum):
    """The label of a verdict.

    Entailment is ENTAILED, NEUTRAL or CONTRADICTED; a two-way judge, which does not distinguish the last two, answers
    NOT_ENTAILED. An answer is RIGHT, PARTLY or WRONG by the references, or they leave it UNDECIDED. Other questions are
    answered YES or NO.
    """

    ENTAILED = "entailed"
    NEUTRAL = "neutral"
    CONTRADICTED = "contradicted"
    NOT_ENTAILED = "not_entailed"
    YES = "yes"
    NO = "no"
    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"
    UNDECIDED = "undecided"

    def __repr__(self) -> str:
        return f"Label.{self.name}"


#: The label of each kind of verdict whose probability a judge gives.
POSITIVE = frozenset({Label.ENTAILED, Label.YES, Label.RIGHT})


class Decomposition(msgspec.Struct, frozen=True, gc=False, tag="decomposition"):
    """The statements of a text, in its order."""

    statements: tuple[Statement, ...]


class ChunkVerdict(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The label of a hypothesis given one chunk alone.

    Args:
        probability: that the chunk entails the hypothesis, in 0..1.
        span: the deciding characters of the chunk's passage.
    """

    label: Label
    probability: float | None = None
    span: Span | None = None


def is_entailed(label: Label | None, of_chunks: Iterable[Label]) -> bool:
    """Whether a joint label is ENTAILED and no chunk contradicts the hypothesis: what metrics count as support."""
    return label is Label.ENTAILED and Label.CONTRADICTED not in of_chunks


class Verdict(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="verdict"):
    """The answer to a question of entailment, relevance, classification or correctness.

    Args:
        label: the label; for entailment, given all chunks together.
        probability: of ENTAILED, YES or RIGHT, in 0..1.
        chunks: for entailment, one verdict per chunk of the premise, in its order; empty where the judge gives none.
        span: for relevance, the deciding characters of the text.
        rationale: the judge's reason, if it gives one.
    """

    label: Label
    probability: float | None = None
    chunks: tuple[ChunkVerdict, ...] = ()
    span: Span | None = None
    rationale: str | None = None

    @property
    def entailed(self) -> bool:
        """Whether the chunks together entail the hypothesis and none of them contradicts it."""
        return is_entailed(self.label, [chunk.label for chunk in self.chunks])

    @property
    def two_way(self) -> bool:
        """Whether its judge distinguishes support from lack of support only."""
        return Label.NOT_ENTAILED in [self.label, *[chunk.label for chunk in self.chunks]]


class Grade(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="grade"):
    """A grade on the scale of a rubric."""

    value: float
    rationale: str | None = None


class Failure(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="failure"):
    """No answer, and why.

    Args:
        reason: a short code such as "judge_error", "invalid_answer", "not_recorded"; after "abstained" a score is not
            failed but undefined.
        detail: one readable sentence.
        raw: the judge's reply, where it was unusable.
    """

    reason: str
    detail: str = ""
    raw: str | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


Answer = Decomposition | Verdict | Grade


class Identity(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Everything that can change a judge's answers: its name, and settings such as revision, prompt hash, decoding."""

    name: str
    settings: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.name


#: The name of the judge of every human label; the person's name is its setting "by".
PEOPLE = "people"


class Call(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One call to a model, of `asked` questions. model: the name reported by the server.

    Tokens are as counted by the server, cached ones included in those of the prompt; estimated where the price is known
    and it reported none or too few. cost: in US dollars. fault: what was wrong with the reply, if anything. abandoned:
    how often it was sent before, and given up because no reply came in time; these calls are in tokens and cost, which
    are estimated for them.
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
    abandoned: int = 0


class TotalUsage(msgspec.Struct):
    """Token usage and cost of several calls. unpriced: calls of unknown price, not included in `cost`."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def add(self, call: Call) -> None:
        """Add one call."""
        self.calls += 1 + call.abandoned
        self.prompt_tokens += call.prompt_tokens
        self.cached_tokens += call.cached_tokens
        self.completion_tokens += call.completion_tokens
        self.cost += call.cost or 0.0
        self.unpriced += call.cost is None


class ModelResponse(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The response of a system under test. key: a hash of the prompt and the system. call: the id of the call."""

    key: str
    text: str
    system: Identity
    call: str = ""
