"""Planning: what a run would ask, counted before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragauge.nouns.answers import Answer, ChunkVerdict, Decomposition, Grade, Label, Verdict
from ragauge.nouns.identity import Identity
from ragauge.nouns.samples import Sample
from ragauge.nouns.statements import Statement
from ragauge.questions import KINDS, Decompose, Entail, Judgment, Question, Rate, judgment_key, kind
from ragauge.run.asking import Asker
from ragauge.run.preparing import LabelsLike, StoreLike, prepared
from ragauge.run.settings import MetricsLike, Settings
from ragauge.run.specs import JudgeLike
from ragauge.store import Store
from ragauge.text.sentences import sentences
from ragauge.waves import Waves

GUESS = Identity("guess")


@dataclass
class Plan:
    """What a run would ask.

    questions: how many would be put to a judge, by kind, each question once. known: how many the store or people's
    labels already answer, by kind. by_metric: what each metric would ask on its own, known or not; the sum is more
    than the total, since metrics share questions. estimated: some counts depend on statements that nobody has yet
    found, and take a sentence for a statement. left_out: metrics that cannot be measured, with the reason.
    """

    samples: int = 0
    questions: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    by_metric: Counter[str] = field(default_factory=Counter)
    estimated: bool = False
    left_out: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        about = "about " if self.estimated else ""
        lines = [
            f"{self.samples} samples, {about}{self.questions.total()} questions to ask, {self.known.total()} known"
        ]
        lines += [f"  {name:<12}{self.questions[name]:>8} to ask {self.known[name]:>8} known" for name in KINDS]
        lines += ["each metric on its own (metrics share questions):"]
        lines += [f"  {metric:<28}{count:>8}" for metric, count in self.by_metric.items()]
        lines += [f"not measured: {metric} ({reason})" for metric, reason in self.left_out.items()]
        return "\n".join(lines)


def plan(
    data: Any,
    metrics: MetricsLike = None,
    judge: JudgeLike = "embedded",
    store: StoreLike = None,
    *,
    labels: LabelsLike = None,
    map: Mapping[str, str] | None = None,
    group: str | None = None,
    limit: int | None = None,
    skip_bad_rows: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Plan:
    """Count the questions that `evaluate` with the same arguments would ask. No judge is asked and nothing is kept.

    Raises what `evaluate` raises before it asks.
    """
    there = store if isinstance(store, Store) or (store is not None and Path(store).exists()) else None
    task = prepared(data, metrics, judge, there, labels, map, group, limit, skip_bad_rows)
    counting = Counting(task.settings, task.asker)
    for sample in task.samples:
        counting.count(sample)
        if progress:
            progress(counting.plan.samples)
    return counting.plan


class Counting:
    """The counts of a plan under way."""

    def __init__(self, settings: Settings, asker: Asker) -> None:
        self.plan = Plan(left_out=dict(settings.left_out))
        self._metrics = settings.metrics
        self._needs = {need.name: need for metric in settings.metrics for need in metric.needs}
        self._asker = asker
        self._seen: set[str] = set()

    def count(self, sample: Sample) -> None:
        """Walk through the waves of a sample; what is not known is answered by a guess that asks the most."""
        waves = Waves([sample], self._needs.values())
        asked: dict[str, set[Question]] = {name: set() for name in self._needs}
        while questions := waves.questions:
            for need, question in waves.asking():
                asked[need].add(question)
            known = self._asker.known(questions)
            self._add(questions, known)
            waves.advance({q: known.get(q) or Judgment(q, guess(q), GUESS, "") for q in questions})
        self.plan.samples += 1
        for metric in self._metrics:
            self.plan.by_metric[metric.key] += len(set[Question]().union(*(asked[need.name] for need in metric.needs)))

    def _add(self, questions: Sequence[Question], known: Mapping[Question, Judgment]) -> None:
        for question in questions:
            key = judgment_key(question, GUESS)
            if key in self._seen:
                continue
            self._seen.add(key)
            (self.plan.known if question in known else self.plan.questions)[kind(question)] += 1
            self.plan.estimated |= isinstance(question, Decompose) and question not in known


def guess(question: Question) -> Answer:
    """An answer of the right form, to see what would be asked next: each sentence is a claim and an opinion."""
    match question:
        case Decompose():
            pieces = (question.text[a:b] for a, b in sentences(question.text))
            return Decomposition(tuple(Statement(piece, None, claim=True, opinion=True) for piece in pieces))
        case Entail():
            return Verdict(Label.NEUTRAL, chunks=(ChunkVerdict(Label.NEUTRAL),) * len(question.premise))
        case Rate():
            return Grade(question.rubric.low)
        case _:
            return Verdict(Label.NO)
