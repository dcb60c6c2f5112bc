"""Nuggets of questions: what answers should say, proposed by a judge, graded by people, in the forms of others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from ragauge.datasets.samples import SampleOptions
from ragauge.errors import BadData
from ragauge.judges.base import JudgeLike
from ragauge.metrics.nuggets import nuggets as proposed
from ragauge.needs.nuggets import NUGGET, nuggets_of_question
from ragauge.report.files import replacing
from ragauge.run.evaluate import evaluate
from ragauge.run.results import Run
from ragauge.scores import SampleRecord
from ragauge.types import Sample

#: The forms in which nuggets are written.
NuggetForm = Literal["ragauge", "nuggetizer", "healthbench"]

#: Points in a form of criteria for a nugget of weight 1.
_POINTS = 2


class Nugget(msgspec.Struct, omit_defaults=True):
    """A claim that an answer should make, in one wording or more. chunk: where it was read, as in "contexts[0]"."""

    text: str
    vital: bool
    wordings: tuple[str, ...] = ()
    weight: float | None = None
    chunk: str = ""


@dataclass
class NuggetSet:
    """The nuggets of each question. run: in which they were judged; None where all questions had some."""

    questions: list[tuple[Sample, list[Nugget]]]
    run: Run | None

    def save(self, path: str | Path, form: NuggetForm = "ragauge") -> None:
        """Write a row a question as JSON Lines, whole or not at all. Raises UsageError."""
        rows = [_FORMS[form](sample, nuggets) for sample, nuggets in self.questions]
        with replacing(Path(path)) as part:
            part.write_bytes(msgspec.json.Encoder().encode_lines(rows))


def nuggets(questions: Any, judge: JudgeLike = "embedded", **options: Any) -> NuggetSet:
    """What the answers to questions should say, from their references and contexts.

    A judge says which texts help, takes them apart, joins what says the same, and grades each claim as vital, good to
    have or not needed. The judgments are kept as a run, where people can grade anew (`ragauge view`): the next call
    goes by their grades.

    Args:
        questions: samples in any form that `read` takes; those with `answers` or `criteria` keep them, unasked.
        judge: one that grades, such as "openai/gpt-4o-mini".
        options: those of `SampleOptions`.

    Returns:
        The questions with their nuggets, in their order.

    Raises:
        UsageError: as `evaluate`; BadData for a nugget without text.
    """
    chosen = SampleOptions(**options)
    samples = list(chosen.read(questions))
    if empty := [sample.id for sample in samples if not all(sample.answers or ())]:
        raise BadData(f"sample {empty[0]!r}: a gold claim in 'answers' has no wording; give it one, or leave it out")
    bare = [sample for sample in samples if not sample.answers and not sample.criteria]
    run = None
    if bare:
        limits: dict[str, Any] = {"max_cost": chosen.max_cost, "progress": chosen.progress}
        run = evaluate(bare, [proposed], judge, chosen.store, name="nuggets", **limits)
    records = {record.sample.id: _graded(record) for record in run.records()} if run else {}
    return NuggetSet([(sample, records.get(sample.id) or _given(sample)) for sample in samples], run)


def _graded(record: SampleRecord) -> list[Nugget]:
    """The nuggets that are worth something, vital ones first."""
    pieces = record.evidence.get(nuggets_of_question.name, ())
    kept = sorted((piece for piece in pieces if piece.value), key=lambda piece: -(piece.value or 0))
    return [Nugget(piece.text, piece.value == NUGGET.high, chunk=piece.field) for piece in kept]


def _given(sample: Sample) -> list[Nugget]:
    weights = sample.answer_weights or (1.0,) * len(sample.answers or ())
    return [
        Nugget(wordings[0], weight >= 1, wordings[1:], None if weight in (0.5, 1) else weight)
        for wordings, weight in zip(sample.answers or (), weights, strict=True)
    ]


def _own_row(sample: Sample, nuggets: list[Nugget]) -> dict[str, Any]:
    fields = msgspec.to_builtins(sample)
    written = {"answers": msgspec.to_builtins(nuggets)} if nuggets else {}
    return {name: value for name, value in fields.items() if name not in ("answers", "answer_weights")} | written


def _nuggetizer_row(sample: Sample, nuggets: list[Nugget]) -> dict[str, Any]:
    listed = [{"text": nugget.text, "importance": "vital" if nugget.vital else "okay"} for nugget in nuggets]
    return {"query": sample.query, "qid": sample.id, "nuggets": listed}


def _healthbench_row(sample: Sample, nuggets: list[Nugget]) -> dict[str, Any]:
    asked = [*((turn.role, turn.text) for turn in sample.turns or ()), ("user", sample.query or "")]
    points = ((nugget.text, _POINTS * (nugget.weight or (1 if nugget.vital else 0.5))) for nugget in nuggets)
    criteria = [(criterion.text, criterion.points) for criterion in sample.criteria or ()]
    criteria += [(f"Says that: {text}", number) for text, number in points]
    return {
        "prompt_id": sample.id,
        "prompt": [{"role": role, "content": text} for role, text in asked],
        "rubrics": [{"criterion": text, "points": number, "tags": []} for text, number in criteria],
    }


_FORMS = {"ragauge": _own_row, "nuggetizer": _nuggetizer_row, "healthbench": _healthbench_row}
