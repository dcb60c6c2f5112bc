"""How good are texts, by a rubric?"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import ceil, floor
from statistics import median
from typing import ClassVar

import msgspec

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.kinds import call as calls
from ragauge.kinds.base import CHUNK, QUERY, QUESTION_OVERHEAD, BaseQuestion, CallFunction, PackingParts, UnusableReply
from ragauge.kinds.verdict import first, mean
from ragauge.types import Grade, Statement

#: What a rubric may read: the text fields of a sample, "chunk", "other", a text that the response is compared with, or
#: "conversation", the turns with query and response.
_TEXT_FIELDS = ("query", "response", "contexts", "references", "source", "reference_contexts")
RUBRIC_FIELDS = (*_TEXT_FIELDS, "chunk", "other", "conversation")


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


class _GradeForm(calls.ReplyForm, frozen=True, cache_hash=True):
    """A grade, from `low` to `high`."""

    low: float = 0.0
    high: float = 0.0
    whole: bool = False

    def fields(self) -> calls.Schema:
        grade: calls.Schema = {"type": "number", "minimum": self.low, "maximum": self.high}
        if self.whole:
            grade = {"type": "integer", "minimum": ceil(self.low), "maximum": floor(self.high)}
        return {"grade": grade}


class Rate(BaseQuestion, frozen=True):
    """Grade `texts`, pairs of (field, text) in the rubric's order, on the scale of `rubric`."""

    rubric: Rubric
    texts: tuple[tuple[str, str], ...]

    answer_type = Grade
    has_topics = True
    told_apart: ClassVar[Mapping[str, str]] = {"rate:policy": "wording", "rate:criterion": "wording"}
    answer_field = "grade"
    item_fields = frozenset({"grade"})

    @property
    def topic(self) -> str:
        return f"{self.kind}:{self.rubric.name}"

    def language_texts(self) -> Iterable[str]:
        return (text for _, text in self.texts)

    def fault_of(self, answer: Grade, in_full: bool) -> str | None:
        rubric, value = self.rubric, answer.value
        if not rubric.low <= value <= rubric.high:
            return f"{value:g} lies outside {rubric.low:g} to {rubric.high:g}"
        return f"{value:g} is not a whole number" if rubric.whole and value != int(value) else None

    def guess(self, statements: Callable[[str, str | None], tuple[Statement, ...]]) -> Grade:
        return Grade(self.rubric.low)

    @property
    def group(self) -> object:
        return self.kind, self.rubric

    def packing_parts(self) -> PackingParts:
        return PackingParts(self._sources(), dict(self.texts).get("query", ""), QUESTION_OVERHEAD)

    def _sources(self) -> list[str]:
        """The texts besides the query."""
        return [text for field, text in self.texts if field != "query"]

    def cite(self, sources: calls.SourceTexts) -> None:
        sources.others += self._sources()

    def add_to(self, document: calls.Document, key: str) -> calls.ReplyForm:
        rubric = self.rubric
        shown = {name: getattr(rubric, name) for name in ("name", "wording", "low", "high", "whole")}
        group = document.group(self)
        group["rubric"] = shown
        group.setdefault("items", {})[key] = {
            field: document.query_id(text) if field == "query" else document.sources[text] for field, text in self.texts
        }
        return _GradeForm("grade", low=rubric.low, high=rubric.high, whole=rubric.whole)

    def parse(self, item: object, call: calls.AskedCall, style: calls.PromptStyle) -> Grade:
        fields, rubric = calls.item_of(item, "grade"), self.rubric
        grade = calls.number(fields.get("grade"))
        if grade is None or not rubric.low <= grade <= rubric.high or (rubric.whole and grade != int(grade)):
            scale = f"a {'whole ' if rubric.whole else ''}number from {rubric.low:g} to {rubric.high:g}"
            raise calls.InvalidItem(f'has as its "grade" {calls.described(fields.get("grade"))}, not {scale}')
        return Grade(grade, calls.rationale_of(fields, style))

    def joint(self, answers: Sequence[Grade]) -> Grade:
        """The mean, or the median rounded down on a scale of whole numbers; the rationale nearest to it."""
        values = [answer.value for answer in answers]
        value = float(floor(median(values))) if self.rubric.whole else mean(values)
        nearest = sorted((answer for answer in answers if answer.rationale), key=lambda grade: abs(grade.value - value))
        return Grade(value, first(answer.rationale for answer in nearest))

    async def answer_by(self, call: CallFunction) -> Grade:
        told = {"wording": self.rubric.wording, "low": self.rubric.low, "high": self.rubric.high}
        (grade,) = await call((self.rubric.name,), named=told, **dict(self.texts))
        grade, reason = grade if isinstance(grade, tuple) and len(grade) == 2 else (grade, None)
        if isinstance(grade, bool) or not isinstance(grade, int | float):
            raise UnusableReply("rate() must return a number", grade)
        return Grade(float(grade), reason)

    @property
    def scale(self) -> tuple[float, float]:
        return self.rubric.low, self.rubric.high

    @property
    def wording(self) -> str:
        return f"{self.rubric.name}, {self._range}: {self.rubric.wording}"

    @property
    def _range(self) -> str:
        return f"{self.rubric.low:g} to {self.rubric.high:g}"

    def typed_answer(self, typed: str) -> Grade:
        try:
            return Grade(float(typed.replace(",", ".")))
        except ValueError:
            raise UsageError(f"{typed!r} is not a grade; type a number from {self._range}") from None

    @classmethod
    def samples(cls, text: str) -> Sequence[Rate]:
        return [
            cls(TOPICAL_MATCH, (("query", QUERY), ("response", text))),
            cls(COHERENCE, (("source", CHUNK), ("response", text))),
            cls(CHUNK_UTILITY, (("query", QUERY), ("chunk", text))),
        ]
