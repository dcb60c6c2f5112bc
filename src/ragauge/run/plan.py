"""Planning: what a run would ask, and what that would cost, before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragauge.judges.base import ExpectedCall, ForecastingJudge
from ragauge.judges.embedded import decompose
from ragauge.questions import KINDS, Decompose, Entail, Judgment, Question, Rate, judgment_key, kind
from ragauge.report.wording import dollars, one_line
from ragauge.rounds import Rounds
from ragauge.run.asking import Dispatcher
from ragauge.run.prepare import LabelsLike, MetricsLike, RunSettings, StoreLike, prepared
from ragauge.run.specs import JudgeLike
from ragauge.store import Store
from ragauge.types import Answer, ChunkVerdict, Decomposition, Grade, Identity, Label, Sample, Verdict

GUESS = Identity("guess")


@dataclass
class Cost:
    """What calls to models would take.

    dollars: None where the price of one of them is not known. seconds: a rough idea, from the number of calls side by
    side and the limits that the judge was given, and from what hosted models of middling size take for a reply.
    """

    calls: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    dollars: float | None = 0.0
    seconds: float = 0.0

    def add(self, expected: ExpectedCall, share: float = 1.0) -> None:
        """Count a call, or the share of it that is somebody's."""
        self.calls += share
        self.prompt_tokens += share * expected.prompt_tokens
        self.completion_tokens += share * expected.completion_tokens
        self.seconds += share * expected.seconds
        known = self.dollars is not None and expected.cost is not None
        self.dollars = (self.dollars or 0.0) + share * (expected.cost or 0.0) if known else None


@dataclass
class Plan:
    """What a run would ask.

    questions: how many would be put to a judge, by kind, each question once. known: how many the store or people's
    labels already answer, by kind. by_metric: what each metric would ask on its own, known or not; the sum is more
    than the total, since metrics share questions. cost: of the calls to models, and cost_by_metric the same shared out
    among the metrics that ask; together they make the whole. estimated: some counts depend on statements that nobody
    has yet found, and take those that the embedded judge would find. left_out: metrics that cannot be measured, with
    the reason.
    """

    samples: int = 0
    questions: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    by_metric: Counter[str] = field(default_factory=Counter)
    cost: Cost = field(default_factory=Cost)
    cost_by_metric: dict[str, Cost] = field(default_factory=dict)
    estimated: bool = False
    left_out: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(map(one_line, _lines(self)))


def _lines(plan: Plan) -> Iterator[str]:
    about = "about " if plan.estimated else ""
    yield f"{plan.samples} samples, {about}{plan.questions.total()} questions to ask, {plan.known.total()} known"
    yield from (f"  {name:<12}{plan.questions[name]:>8} to ask {plan.known[name]:>8} known" for name in KINDS)
    if plan.cost.calls:
        yield from _cost_lines(plan)
    yield "each metric on its own (metrics share questions):"
    yield from (f"  {metric:<28}{count:>8}" for metric, count in plan.by_metric.items())
    yield from (f"not measured: {metric} ({reason})" for metric, reason in plan.left_out.items())


def _cost_lines(plan: Plan) -> Iterator[str]:
    from ragauge.judges.llm.pricing import RELATIVE_ERROR

    cost = plan.cost
    yield (
        f"{cost.calls:.0f} calls, about {cost.prompt_tokens:.0f} prompt and {cost.completion_tokens:.0f} completion "
        f"tokens (estimated, ±{RELATIVE_ERROR:.0%} for the prompts), price {dollars(cost.dollars)}, "
        f"very roughly {duration(cost.seconds)}"
    )
    yield f"  {'share of each metric':<28}{'calls':>8}{'prompt':>10}{'reply':>9}{'price':>11}{'time':>9}"
    for metric, part in plan.cost_by_metric.items():
        yield (
            f"  {metric:<28}{part.calls:>8.0f}{part.prompt_tokens:>10.0f}{part.completion_tokens:>9.0f}"
            f"{dollars(part.dollars):>11}{duration(part.seconds):>9}"
        )


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
    """Count the questions that `evaluate` with the same arguments would ask, and the calls to models that takes.

    No judge is asked, no key is needed, and nothing is kept. Raises what `evaluate` raises before it asks.
    """
    there = store if isinstance(store, Store) or (store is not None and Path(store).exists()) else None
    task = prepared(data, metrics, judge, there, labels, map, group, limit, skip_bad_rows)
    counting = PlanCounter(task.settings, task.asker)
    for sample in task.samples:
        counting.count(sample)
        if progress:
            progress(counting.plan.samples)
    return counting.plan


class PlanCounter:
    """The counts of a plan under way."""

    def __init__(self, settings: RunSettings, asker: Dispatcher) -> None:
        self.plan = Plan(left_out=dict(settings.left_out))
        self._metrics = settings.metrics
        self._needs = {need.name: need for metric in settings.metrics for need in metric.needs}
        self._asker = asker
        self._seen: set[str] = set()

    def count(self, sample: Sample) -> float:
        """Walk through the waves of a sample, what is not known answered by a guess; the dollars that it will cost.

        Calls whose price is not known count nothing to these.
        """
        waves = Rounds(sample, self._needs.values())
        asked: dict[str, set[Question]] = {name: set() for name in self._needs}
        calls: list[ExpectedCall] = []
        while questions := waves.questions:
            for need, question in waves.asking():
                asked[need].add(question)
            known = self._asker.keeper.known(questions)
            calls += self._expected(self._fresh(questions, known))
            waves.advance({q: known.get(q) or Judgment(q, guess(q), GUESS, "") for q in questions})
        self.plan.samples += 1
        for metric in self._metrics:
            self.plan.by_metric[metric.key] += len(set[Question]().union(*(asked[need.name] for need in metric.needs)))
        self._share_out(calls, asked)
        return sum(call.cost or 0.0 for call in calls)

    def _fresh(self, questions: Sequence[Question], known: Mapping[Question, Judgment]) -> list[Question]:
        """Count questions; those that neither an earlier sample asks nor anybody has answered."""
        fresh = []
        for question in questions:
            key = judgment_key(question, GUESS)
            if key in self._seen:
                continue
            self._seen.add(key)
            (self.plan.known if question in known else self.plan.questions)[kind(question)] += 1
            if question not in known:
                self.plan.estimated |= isinstance(question, Decompose)
                fresh.append(question)
        return fresh

    def _expected(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        """The calls that judges would make for a wave of a sample."""
        calls: list[ExpectedCall] = []
        for judge, group in self._asker.bench.shared(questions):
            if judge is not None and isinstance(judge, ForecastingJudge):
                calls += judge.expect(group)
        return calls

    def _share_out(self, calls: Sequence[ExpectedCall], asked: Mapping[str, set[Question]]) -> None:
        """Charge each question of a call an equal part of it, to the metrics that ask it in equal parts."""
        for call in calls:
            self.plan.cost.add(call)
            for question in call.questions:
                needs = {name for name, questions in asked.items() if question in questions}
                payers = [metric.key for metric in self._metrics if any(need.name in needs for need in metric.needs)]
                for key in payers:
                    part = self.plan.cost_by_metric.setdefault(key, Cost())
                    part.add(call, 1 / len(call.questions) / len(payers))


def duration(seconds: float) -> str:
    """A time for people."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def guess(question: Question) -> Answer:
    """An answer of the right form, to see what would be asked next; statements are those of the embedded judge."""
    match question:
        case Decompose():
            return Decomposition(decompose(question.text, question.query))
        case Entail():
            return Verdict(Label.NEUTRAL, chunks=(ChunkVerdict(Label.NEUTRAL),) * len(question.premise))
        case Rate():
            return Grade(question.rubric.low)
        case _:
            return Verdict(Label.NO)
