"""The five kinds of question, rubrics, judgments, and the validation of answers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import get_args

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.text.language import foreign
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Identity, Label, Span, Verdict

#: What a rubric may read: the text fields of a sample, or "chunk".
RUBRIC_FIELDS = ("query", "response", "contexts", "references", "source", "reference_contexts", "chunk")


class Rubric(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is graded, and on which scale.

    Args:
        name: unique; a judge that can grade it lists the topic "rate:<name>".
        fields: the fields of the sample it reads, in order; "chunk" stands for one context at a time.
        low, high: the ends of the scale.
        wording: the instruction, with the meaning of the scale's steps.
        whole: whether only whole numbers are valid.

    Raises:
        UnknownName: a field that is not a text of a sample.
        BadParameter: no field, or a scale whose ends are not finite and in order.
    """

    name: str
    fields: tuple[str, ...]
    low: float
    high: float
    wording: str
    whole: bool = False

    def __post_init__(self) -> None:
        if not self.fields or not -math.inf < self.low < self.high < math.inf:
            raise BadParameter(f"rubric {self.name!r} needs at least one field, and finite numbers low < high")
        for field in self.fields:
            if field not in RUBRIC_FIELDS:
                raise UnknownName(f"field of rubric {self.name!r}", field, RUBRIC_FIELDS)
        # 1 and 1.0 are encoded differently in JSON, and questions are identified by their encoding.
        msgspec.structs.force_setattr(self, "low", float(self.low))
        msgspec.structs.force_setattr(self, "high", float(self.high))

    @property
    def digest(self) -> str:
        """A short hash of the rubric, which distinguishes rubrics of one name."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]


COHERENCE = Rubric(
    name="coherence",
    fields=("source", "response"),
    low=1,
    high=5,
    whole=True,
    wording=(
        "How well does the summary hold together as a whole, and does it cover the key points of the source? "
        "5: every key point is there and each sentence leads to the next. 3: some key points are missing, or the "
        "order is hard to follow. 1: unrelated sentences, or none of the key points."
    ),
)

_of_response = partial(Rubric, fields=("query", "response"), low=0, high=1)

TOPICAL_MATCH = _of_response(
    name="topical_match",
    wording="Is the response about what was asked? 1: exactly. 0.7: mostly. 0.4: partly. 0: about something else.",
)

COMPLETENESS = _of_response(
    name="completeness",
    wording="Does the response deal with every part of the query? 1: all of it. 0.7: most. 0.4: some. 0: none.",
)

CONCISENESS = _of_response(
    name="conciseness",
    wording="Is the response free of what nobody asked for? 1: wholly. 0.7: mostly. 0.4: partly. 0: hardly at all.",
)

CHUNK_UTILITY = Rubric(
    name="chunk_utility",
    fields=("query", "chunk"),
    low=0,
    high=1,
    wording=(
        "How useful is the chunk for answering the query? 1: it answers it. 0.8: it holds most of the answer. "
        "0.6: a good part. 0.4: background that helps. 0.2: barely related. 0: of no use."
    ),
)

REFUSAL = _of_response(
    name="refusal",
    whole=True,
    wording=(
        "Does the response decline to answer the query? 1: all it says is that it has no answer, or that the documents "
        "hold none, whatever else it offers instead. 0: it answers the query, if only in part."
    ),
)


class _Asked(
    msgspec.Struct, frozen=True, gc=False, cache_hash=True, omit_defaults=True, tag=str.lower, tag_field="kind"
):
    """What questions have in common: as JSON they name their kind."""


class Decompose(_Asked, frozen=True):
    """Split `text` into statements, read as an answer to `query` where there is one."""

    text: str
    query: str | None = None


class Entail(_Asked, frozen=True):
    """Does `hypothesis` follow from the chunks of `premise` together, and does each chunk support or contradict it?

    query: what the hypothesis answers, so that a fragment ("Six days.") can be read as a full statement.
    """

    premise: tuple[str, ...]
    hypothesis: str
    query: str | None = None


class Relevant(_Asked, frozen=True):
    """Does any part of `text` help to answer `query` (with a reference: to produce that reference)?"""

    query: str
    text: str
    reference: str | None = None


class Classify(_Asked, frozen=True):
    """Does the opinion in `text` carry `trait` ("biased" or "toxic")?"""

    text: str
    trait: str


class Rate(_Asked, frozen=True):
    """Grade `texts`, pairs of (field, text) in the rubric's order, on the scale of `rubric`."""

    rubric: Rubric
    texts: tuple[tuple[str, str], ...]


_encode = msgspec.json.Encoder().encode

Question = Decompose | Entail | Relevant | Classify | Rate

_KIND_OF: dict[type, str] = {one: one.__name__.lower() for one in get_args(Question)}

KINDS = tuple(_KIND_OF.values())


def kind(question: Question) -> str:
    """The kind of a question, one of KINDS."""
    return _KIND_OF[type(question)]


def topic(question: Question) -> str:
    """The topic of a question: "classify:toxic", "rate:coherence", or its kind alone."""
    if isinstance(question, Classify):
        return f"classify:{question.trait}"
    if isinstance(question, Rate):
        return f"rate:{question.rubric.name}"
    return kind(question)


def language(question: Question) -> str:
    """The language of a question: the first that one of its texts is evidently in, or else "en"."""
    texts: tuple[str, ...]
    match question:
        case Decompose(text, query):
            texts = (f"{text} {query or ''}",)
        case Entail(premise, hypothesis, query):
            texts = (f"{hypothesis} {query or ''}", " ".join((*premise, query or "")))
        case Relevant(query, text):
            texts = (query, text)
        case Classify(text):
            texts = (text,)
        case Rate(_, fields):
            texts = tuple(text for _, text in fields)
    return next(filter(None, map(foreign, texts)), "en")


def judgment_key(question: Question, judge: Identity) -> str:
    """The content address of a judgment: a hash of the question's texts and the judge's identity (32 hex digits)."""
    if isinstance(question, Entail):
        query = {} if question.query is None else {"query": question.query}
        digest = _shared_hash(judge, question.premise).copy()
        digest.update(b"," + _encode({"hypothesis": question.hypothesis, **query})[1:])
    else:
        digest = _shared_hash(judge, None).copy()
        digest.update(_encode(question))
    return digest.hexdigest()[:32]


@lru_cache(maxsize=32)
def _shared_hash(judge: Identity, premise: tuple[str, ...] | None) -> hashlib._Hash:
    """The hash of what many keys begin with: the judge and, of questions that have one, the long premise."""
    digest = hashlib.sha256(_encode(judge))
    if premise is not None:
        digest.update(_encode({"kind": "entail", "premise": premise})[:-1])
    return digest


class Judgment(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A question, its answer (or why there is none), and the judge that answered.

    Args:
        key: its address in the store; see `judgment_key`.
        call: the id of the call to a model that produced the answer, if any; judgments of one call were asked in one
            pack.
    """

    question: Question
    answer: Answer | Failure
    judge: Identity
    key: str
    call: str = ""


ENTAILMENT = frozenset({Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED, Label.NOT_ENTAILED})
YES_NO = frozenset({Label.YES, Label.NO})


def invalid_reason(question: Question, answer: Answer) -> str | None:
    """What is wrong with an answer to a question, or None: spans outside texts, wrong labels, grades off the scale."""
    match question, answer:
        case Decompose(), Decomposition():
            if not all(piece.text.strip() for piece in answer.statements):
                return "a statement is empty"
            return _invalid_span(question.text, (piece.span for piece in answer.statements))
        case Entail(), Verdict():
            chunks, texts = answer.chunks, question.premise
            if fault := _invalid_label(answer, ENTAILMENT):
                return fault
            if chunks and len(chunks) != len(texts):
                return f"{len(chunks)} labels for {len(texts)} chunks"
            faults = (_invalid_span(text, [chunk.span]) for text, chunk in zip(texts, chunks, strict=False))
            return next(filter(None, faults), None)
        case Relevant(), Verdict():
            return _invalid_label(answer, YES_NO) or _invalid_span(question.text, [answer.span])
        case Classify(), Verdict():
            return _invalid_label(answer, YES_NO)
        case Rate(rubric), Grade(value):
            if not rubric.low <= value <= rubric.high:
                return f"{value:g} lies outside {rubric.low:g} to {rubric.high:g}"
            return f"{value:g} is not a whole number" if rubric.whole and value != int(value) else None
    return f"a {type(answer).__name__.lower()} does not answer a question of kind {kind(question)!r}"


def _invalid_span(text: str, spans: Iterable[Span | None]) -> str | None:
    for span in spans:
        if span is not None and not 0 <= span[0] <= span[1] <= len(text):
            return f"the span {span} lies outside the text of {len(text)} characters"
    return None


def _invalid_label(verdict: Verdict, labels: frozenset[Label]) -> str | None:
    verdicts: tuple[Verdict | ChunkVerdict, ...] = (verdict, *verdict.chunks)
    for one in verdicts:
        if one.label not in labels:
            return f"{one.label.value!r} is not one of {', '.join(sorted(labels))}"
        if one.probability is not None and not 0 <= one.probability <= 1:
            return f"the probability {one.probability} lies outside 0..1"
    return None
