"""Nuggets of questions: what answers should say, proposed by a judge and graded by people; in several file formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from ragauge.datasets.samples import SampleOptions
from ragauge.errors import BadData, UnanswerableNeed
from ragauge.judges.base import JudgeLike
from ragauge.metrics.rubrics import nuggets as nuggets_metric
from ragauge.needs.nuggets import NUGGET, nuggets_of_question
from ragauge.report.files import replacing
from ragauge.run.evaluate import evaluate
from ragauge.run.results import Run
from ragauge.scores import SampleRecord
from ragauge.types import Sample

#: The formats in which nuggets are written: those of ragauge, nuggetizer and HealthBench.
NuggetForm = Literal["ragauge", "nuggetizer", "healthbench"]

#: The points of a HealthBench criterion for a nugget of weight 1.
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
    """The nuggets of each question, None where the judge did not answer, and the run that judged them, if any did."""

    questions: list[tuple[Sample, list[Nugget] | None]]
    run: Run | None

    def save(self, path: str | Path, form: NuggetForm = "ragauge") -> None:
        """Write one row per question as JSON Lines, the whole file or none. Raises UsageError.

        A question that the judge did not answer has a row without nuggets in the form of ragauge, and none in others.
        """
        rows = [
            _FORMS[form](sample, nuggets or [])
            for sample, nuggets in self.questions
            if nuggets is not None or form == "ragauge"
        ]
        with replacing(Path(path)) as part:
            part.write_bytes(msgspec.json.Encoder().encode_lines(rows))


def nuggets(questions: Any, judge: JudgeLike | None = None, **options: Any) -> NuggetSet:
    """What the answers to questions should say, from their references and contexts.

    A judge says which texts help, splits them into claims, merges claims that say the same, and grades each as vital,
    good to have or not needed. The judgments are kept as a run, where people can correct the grades (`ragauge view`);
    the next call uses their grades.

    Args:
        questions: samples in any form that `read` takes; those with `answers` or `criteria` keep them, and no
            judge is asked.
        judge: a judge that can grade, such as "openai/gpt-4o-mini"; None where every question has nuggets or criteria.
        options: those of `SampleOptions`.

    Returns:
        The questions with their nuggets, in their order.

    Raises:
        BadData: a gold claim in `answers` has no wording.
        UnanswerableNeed: the judge cannot grade, or is needed and None; and what `evaluate` raises.
    """
    chosen = SampleOptions(**options)
    samples = list(chosen.read(questions))
    if empty := [sample.id for sample in samples if not all(sample.answers or ())]:
        raise BadData(f"sample {empty[0]!r}: a gold claim in 'answers' has no wording; give it one, or leave it out")
    unanswered = [sample for sample in samples if not sample.answers and not sample.criteria]
    run = None
    if unanswered:
        if judge is None:
            fix = "name a model, such as -j openai/gpt-4o-mini, or one for grades alone: -j rate=MODEL"
            raise UnanswerableNeed(f"{unanswered[0].id!r} has no nuggets, and to propose them takes a judge; {fix}")
        limits: dict[str, Any] = {"max_cost": chosen.max_cost, "progress": chosen.progress}
        run = evaluate(unanswered, [nuggets_metric], judge, chosen.store, name="nuggets", **limits)
    graded = {record.sample.id: _graded(record) for record in run.records()} if run else {}
    kept = {sample.id: _from_answers(sample) for sample in samples if sample.answers or sample.criteria}
    return NuggetSet([(sample, kept.get(sample.id, graded.get(sample.id))) for sample in samples], run)


def _graded(record: SampleRecord) -> list[Nugget] | None:
    """The nuggets with a grade above 0, vital ones first; None where the judge did not answer."""
    if record.score(nuggets_metric.name).is_unanswered:
        return None
    pieces = record.evidence.get(nuggets_of_question.name, ())
    kept = sorted((piece for piece in pieces if piece.value), key=lambda piece: -(piece.value or 0))
    return [Nugget(piece.text, piece.value == NUGGET.high, chunk=piece.field) for piece in kept]


def _from_answers(sample: Sample) -> list[Nugget]:
    """The gold claims of a sample as nuggets."""
    weights = sample.answer_weights or (1.0,) * len(sample.answers or ())
    return [
        Nugget(wordings[0], weight >= 1, wordings[1:], None if weight in (0.5, 1) else weight)
        for wordings, weight in zip(sample.answers or (), weights, strict=True)
    ]


def _own_row(sample: Sample, nuggets: list[Nugget]) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(sample, answers=None, answer_weights=None))
    return row | ({"answers": msgspec.to_builtins(nuggets)} if nuggets else {})


def _nuggetizer_row(sample: Sample, nuggets: list[Nugget]) -> dict[str, Any]:
    listed = [{"text": nugget.text, "importance": "vital" if nugget.vital else "okay"} for nugget in nuggets]
    return {"query": sample.query, "qid": sample.id, "nuggets": listed}


def _healthbench_row(sample: Sample, nuggets: list[Nugget]) -> dict[str, Any]:
    turns = [*((turn.role, turn.text) for turn in sample.turns or ()), ("user", sample.query or "")]
    criteria = [(criterion.text, criterion.points) for criterion in sample.criteria or ()]
    for nugget in nuggets:
        weight = nugget.weight or (1 if nugget.vital else 0.5)
        criteria.append((f"Says that: {nugget.text}", _POINTS * weight))
    return {
        "prompt_id": sample.id,
        "prompt": [{"role": role, "content": text} for role, text in turns],
        "rubrics": [{"criterion": text, "points": points, "tags": []} for text, points in criteria],
    }


_FORMS = {"ragauge": _own_row, "nuggetizer": _nuggetizer_row, "healthbench": _healthbench_row}
