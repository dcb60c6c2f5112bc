"""RAG Evals (jxnl/ragas-alt): change `rag_evals` to `ragauge.compat.rag_evals`; docs/migrating/rag-evals.md."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from functools import wraps
from statistics import fmean
from typing import Annotated, Any, Generic, Self, TypeVar

import ragauge as rg
from ragauge.compat import UndefinedScore as UndefinedScore
from ragauge.compat import open_modules

try:
    from pydantic import BaseModel, Field, ValidationInfo, computed_field, field_validator, model_validator
except ImportError:
    raise rg.errors.MissingExtra("ragauge.compat.rag_evals", "instructor") from None

open_modules("rag_evals")
base = sys.modules[f"{__name__}.base"]


class Result(BaseModel):
    """A result, which may be awaited and gathered, as RAG Evals' examples do."""

    __hash__ = object.__hash__

    def __await__(self) -> Generator[None, None, Self]:
        yield from ()
        return self


def _grade(agrade: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    """`agrade` without await; within an event loop, with an async client, the result has to be awaited."""
    wait = rg.blocking(agrade, "grade", shared=True)

    @wraps(wait)
    def grade(self: Any, question: str, answer: str | None, context: list[Any], client: Any, **more: Any) -> Any:
        is_async = inspect.iscoroutinefunction(getattr(client, "create", None)) and asyncio._get_running_loop()
        return (agrade if is_async else wait)(self, question, answer, context, client, **more)

    return grade


Unit = Annotated[float, Field(ge=0, le=1)]


def _positions(info: ValidationInfo, ids: Sequence[Any]) -> range:
    """The positions in the context, where there are ids to check. Raises ValueError for any other id."""
    chunks: Any = info.context.get("context") if isinstance(info.context, dict) else None
    if ids and not isinstance(chunks, list):
        raise ValueError("ids of chunks need model_validate(data, context={'context': [...]}), the list of the chunks")
    positions = range(len(chunks) if ids else 0)
    if unknown := [id for id in ids if id not in positions]:
        raise ValueError(f"there is no chunk {unknown}; ids are positions in the context, which has {len(chunks)}")
    return positions


class ChunkScore(BaseModel):
    """A chunk and its score from 0 to 1."""

    id_chunk: int
    score: Unit


class ChunkBinaryScore(ChunkScore):
    """A chunk and whether it passes."""

    score: bool


class ChunkGraded(Result):
    """Chunks with scores from 0 to 1. Validated with the context: model_validate(data, context={"context": [...]})."""

    graded_chunks: list[ChunkScore]

    @field_validator("graded_chunks")
    @classmethod
    def _in_order(cls, chunks: list[ChunkScore], info: ValidationInfo) -> list[ChunkScore]:
        """The chunks in the order of the context; missing ones are added with a score of 0."""
        graded = [chunk.id_chunk for chunk in chunks]
        missing = [position for position in _positions(info, graded) if position not in graded]
        if missing:
            logging.getLogger(__name__).warning("chunks %s were not graded; their score is 0", missing)
        added = [type(chunks[0])(id_chunk=position, score=0) for position in missing]
        return sorted(chunks + added, key=lambda chunk: chunk.id_chunk)

    @property
    def score(self) -> float:
        """The mean score of the chunks. Raises UndefinedScore where there are none."""
        if not self.graded_chunks:
            raise UndefinedScore("no chunk was graded, so there is no mean; was the context empty?")
        return fmean(chunk.score for chunk in self.graded_chunks)


class ChunkGradedBinary(ChunkGraded):
    """Chunks that pass or fail; the score is the share that passes. Validated with the context, as ChunkGraded is."""

    graded_chunks: list[ChunkBinaryScore]  # type: ignore[assignment]


class StatementEvaluation(BaseModel):
    """A statement of the answer, whether the context supports it, and which chunks do. Validated with the context."""

    statement: str
    is_supported: bool
    supporting_chunk_ids: list[int] | None = None

    @field_validator("supporting_chunk_ids", mode="before")
    @classmethod
    def _in_the_context(cls, ids: Any, info: ValidationInfo) -> Any:
        _positions(info, ids if isinstance(ids, list) else ())
        return ids

    @model_validator(mode="after")
    def _supported_by_a_chunk(self) -> Self:
        if self.is_supported and not self.supporting_chunk_ids:
            raise ValueError("a supported statement must name the chunks that support it: supporting_chunk_ids")
        return self


class FaithfulnessResult(Result):
    """The statements of an answer."""

    statements: list[StatementEvaluation]

    @property
    def score(self) -> float:
        """The share of statements that are supported; 0 where there are none."""
        return fmean(statement.is_supported for statement in self.statements) if self.statements else 0.0


class RelevanceScore(Result):
    """How well an answer fits its question, by three grades from 0 to 1, and why."""

    topical_match: Unit
    completeness: Unit
    conciseness: Unit
    reasoning: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def overall_score(self) -> float:
        """The mean of the three."""
        return fmean((self.topical_match, self.completeness, self.conciseness))


class ChunkRecallEvaluation(BaseModel):
    """Whether a chunk is relevant to the question, whether the answer uses it, and what the answer misses if not."""

    id_chunk: int
    is_relevant: bool
    is_included: bool
    missing_info: str | None = None


class ContextRecallResult(Result):
    """How much of the retrieved information an answer covers."""

    evaluated_chunks: list[ChunkRecallEvaluation]

    @property
    def score(self) -> float:
        """The share of relevant chunks that the answer uses; 1 where none is relevant."""
        used = [chunk.is_included for chunk in self.evaluated_chunks if chunk.is_relevant]
        return fmean(used) if used else 1.0

    @property
    def missing_information(self) -> list[dict[str, Any]]:
        """`chunk_id` and `missing_info` of the relevant chunks that the answer does not use."""
        missing = [chunk for chunk in self.evaluated_chunks if chunk.is_relevant and not chunk.is_included]
        return [
            {"chunk_id": chunk.id_chunk, "missing_info": chunk.missing_info} for chunk in missing if chunk.missing_info
        ]


class ChunkUtilityScore(BaseModel):
    """How useful a chunk is, from 0 to 1, and why."""

    id_chunk: int
    utility_score: Unit
    justification: str


class ChunkUtilityResult(Result):
    """How useful the chunks are."""

    evaluated_chunks: list[ChunkUtilityScore]

    @property
    def score(self) -> float:
        """The mean usefulness; 0 where there are no chunks."""
        return fmean(chunk.utility_score for chunk in self.evaluated_chunks) if self.evaluated_chunks else 0.0

    def _chosen(self, choose: Callable[..., dict[str, Any] | None]) -> dict[str, Any] | None:
        rows = [
            {"chunk_id": chunk.id_chunk, **chunk.model_dump(exclude={"id_chunk"})} for chunk in self.evaluated_chunks
        ]
        return choose(rows, key=lambda chunk: chunk["utility_score"], default=None)

    most_useful_chunk = property(lambda self: self._chosen(max), doc="The first of the most useful, None without any.")
    least_useful_chunk = property(
        lambda self: self._chosen(min), doc="The first of the least useful, None without any."
    )


class CompositeResult(Result):
    """Three results for one answer, and their weighted mean."""

    faithfulness: FaithfulnessResult
    precision: ChunkGradedBinary
    relevance: RelevanceScore

    @property
    def composite_score(self) -> float:
        """0.4 faithfulness + 0.3 precision + 0.3 overall relevance. Raises UndefinedScore without chunks."""
        return 0.4 * self.faithfulness.score + 0.3 * self.precision.score + 0.3 * self.relevance.overall_score


ResultT = TypeVar("ResultT", bound=BaseModel)
Chunks = list[Any]  # texts, or dicts with a text
Scores = Any  # of one sample, as `rg.score` gives them


@dataclass(frozen=True)
class Metric(Generic[ResultT]):
    """A metric of RAG Evals. metrics: the metrics of ragauge behind it. result_of: makes the result of their scores."""

    metrics: tuple[str, ...]
    result_of: Callable[[Scores], ResultT]

    async def agrade(
        self, question: str, answer: str | None, context: Chunks, client: Any, store: Any = None
    ) -> ResultT:
        """Grade an answer. `grade` is the same without await.

        Args:
            question: the question.
            answer: the answer; may be None for ChunkPrecision and ChunkUtility, which do not read it.
            context: the chunks, as texts or dicts with a text.
            client: a client of instructor, or a judge.
            store: as for `rg.evaluate`.

        Raises:
            UsageError: an argument is missing or wrong.
            RunFailed: the judge has no answer, or abstained.
        """
        row = {"question": question, "answer": answer, "contexts": context}
        try:
            scores = await rg.score_async(row, self.metrics, client, store, strict=True)
        except rg.errors.MissingField as error:
            raise rg.errors.MissingField(f"{str(error).partition('; ')[0]}; an argument is None or blank") from None
        for name, score in scores.items():
            if score.abstained:
                raise rg.errors.RunFailed(f"{name}: {score.undefined}")
        return self.result_of(scores)

    grade = _grade(agrade)


def _labels(claim: rg.scores.Evidence, n: int) -> list[rg.Label | None]:
    """The label of each of n chunks; the joint label for all where they were only judged together."""
    return [chunk.label for chunk in claim.chunks] or [claim.label] * n


def _faithfulness_result(scores: Scores) -> FaithfulnessResult:
    """The statements and the chunks that support them; all chunks if no single chunk supports a supported one."""
    statements = []
    for claim in scores["faithfulness"].evidence:
        labels = _labels(claim, len(scores.sample.contexts))
        ids = [i for i, label in enumerate(labels) if label is rg.Label.ENTAILED]
        if claim.entailed and not ids:
            ids = list(range(len(labels)))
        statements.append({"statement": claim.text, "is_supported": claim.entailed, "supporting_chunk_ids": ids})
    return FaithfulnessResult(statements=[StatementEvaluation.model_construct(**statement) for statement in statements])


def _precision_result(scores: Scores) -> ChunkGradedBinary:
    relevant = [check.label is rg.Label.YES for check in scores["context_relevance"].evidence]
    chunks = [ChunkBinaryScore(id_chunk=i, score=score) for i, score in enumerate(relevant)]
    return ChunkGradedBinary.model_construct(graded_chunks=chunks)


def _relevance_result(scores: Scores) -> RelevanceScore:
    grades = scores["relevance_rubric.overall"].evidence
    reasons = [f"{grade.against}: {grade.rationale}" for grade in grades if grade.rationale]
    return RelevanceScore(**{grade.against: grade.value for grade in grades}, reasoning="\n".join(reasons))


def _recall_result(scores: Scores) -> ContextRecallResult:
    pieces = scores["context_coverage"].evidence
    checks = [piece for piece in pieces if piece.field != "response"]
    claims = [_labels(piece, len(checks)) for piece in pieces if piece.field == "response"]
    chunks = []
    for i, check in enumerate(checks):
        is_relevant = check.label is rg.Label.YES
        is_included = any(labels[i] is rg.Label.ENTAILED for labels in claims)
        missing = check.text[slice(*(check.span or (None,)))] if is_relevant and not is_included else None
        chunks.append({"id_chunk": i, "is_relevant": is_relevant, "is_included": is_included, "missing_info": missing})
    return ContextRecallResult.model_validate({"evaluated_chunks": chunks})


def _utility_result(scores: Scores) -> ChunkUtilityResult:
    chunks = [
        {"id_chunk": i, "utility_score": grade.value, "justification": grade.rationale or ""}
        for i, grade in enumerate(scores["chunk_utility"].evidence)
    ]
    return ChunkUtilityResult.model_validate({"evaluated_chunks": chunks})


def _composite_result(scores: Scores) -> CompositeResult:
    return CompositeResult(
        faithfulness=_faithfulness_result(scores),
        precision=_precision_result(scores),
        relevance=_relevance_result(scores),
    )


Faithfulness = Metric(("faithfulness",), _faithfulness_result)
ChunkPrecision = Metric(("context_relevance",), _precision_result)
AnswerRelevance = Metric(("relevance_rubric",), _relevance_result)
ContextRecall = Metric(("context_coverage",), _recall_result)
ChunkUtility = Metric(("chunk_utility",), _utility_result)
Composite = Metric(("faithfulness", "context_relevance", "relevance_rubric"), _composite_result)

_TEMPLATE = """\
{% macro text(value) %}{{ value | string | replace("<", "&lt;") }}{% endmacro -%}
{% for example in examples or () %}<example>{{ text(example) }}</example>
{% endfor %}<question>{{ text(question) }}</question>
{% if answer is not none %}<answer>{{ text(answer) }}</answer>
{% endif %}{% for each in context %}<chunk id="{{ each.id }}">{{ text(each.chunk) }}</chunk>
{% endfor %}"""


class ContextEvaluation(BaseModel):
    """An evaluation with the caller's own prompt, in one call of an instructor client, with the client's own retries.

    prompt, chunk_template: the system and the user message, Jinja templates of `question`, `answer`, `examples` and
    `context`, a list of `id` and `chunk`. Validators of response_model find the same in `info.context`.
    """

    prompt: str
    examples: list[Any] | None = None
    response_model: type[BaseModel]
    chunk_template: str = _TEMPLATE

    async def agrade(self, question: str, answer: str | None, context: Chunks, client: Any) -> Any:
        """An instance of response_model. client: of instructor, sync or async; else BadParameter is raised."""
        if not hasattr(client, "create"):
            raise rg.errors.BadParameter(f"a prompt of your own needs a client of instructor, not {client!r:.80}")
        chunks = [{"id": i, "chunk": chunk} for i, chunk in enumerate(context)]
        variables = {"question": question, "answer": answer, "examples": self.examples, "context": chunks}
        messages = [{"role": "system", "content": self.prompt}, {"role": "user", "content": self.chunk_template}]
        reply = await asyncio.to_thread(
            client.create, messages=messages, response_model=self.response_model, context=variables
        )
        return await reply if asyncio.iscoroutine(reply) else reply

    grade = _grade(agrade)
