"""Planning: what a run would ask and cost, before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ragauge.judges.base import ExpectedCall, ForecastingJudge, JudgeLike
from ragauge.judges.embedded import decompose
from ragauge.needs.base import Rounds
from ragauge.questions import KINDS, Decompose, Entail, Judgment, Question, Rate, judgment_key, kind
from ragauge.report.wording import dollars, one_line
from ragauge.run.asking import Dispatcher, price_dates
from ragauge.run.prepare import LabelsLike, MetricsLike, RunSettings, StoreLike, prepared
from ragauge.store import Store
from ragauge.types import Answer, ChunkVerdict, Decomposition, Grade, Identity, Label, Sample, Verdict

GUESS = Identity("guess")


@dataclass
class Cost:
    """The expected cost of calls to models.

    dollars: None if the price of one of them is unknown. seconds: a rough estimate from concurrency, the limits of the
    judge, and the usual reply times of hosted models of medium size.
    """

    calls: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    dollars: float | None = 0.0
    seconds: float = 0.0

    def add(self, expected: ExpectedCall, share: float = 1.0) -> None:
        """Add a call, or a share of it."""
        self.calls += share
        self.prompt_tokens += share * expected.prompt_tokens
        self.completion_tokens += share * expected.completion_tokens
        self.seconds += share * expected.seconds
        known = self.dollars is not None and expected.cost is not None
        self.dollars = (self.dollars or 0.0) + share * (expected.cost or 0.0) if known else None


@dataclass
class Plan:
    """What a run would ask.

    questions: numbers of questions for judges, by kind, each question once. known: numbers that the store or people's
    labels already answer, by kind. by_metric: numbers that each metric would ask on its own, known or not; they add up
    to more than the total, since metrics share questions. cost: of the calls to models; cost_by_metric: the same,
    divided among the metrics that ask. estimated: some counts depend on statements that have not been extracted yet,
    and use those that the embedded judge finds. left_out: metrics that cannot be measured, with the reason.
    priced: the days of the tables that the prices are from.
    """

    samples: int = 0
    questions: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    by_metric: Counter[str] = field(default_factory=Counter)
    cost: Cost = field(default_factory=Cost)
    cost_by_metric: dict[str, Cost] = field(default_factory=dict)
    estimated: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    priced: tuple[date, ...] = ()

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
    dated = f" (prices of {', '.join(map(str, plan.priced))})" if cost.dollars and plan.priced else ""
    yield (
        f"{cost.calls:.0f} calls, about {cost.prompt_tokens:.0f} prompt and {cost.completion_tokens:.0f} completion "
        f"tokens (estimated, ±{RELATIVE_ERROR:.0%} for the prompts), price {dollars(cost.dollars)}{dated}, "
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
    """Count the questions that `evaluate` would ask with the same arguments, and price its calls to models.

    No judge is asked, no key is needed, and nothing is stored.

    Args:
        data, metrics, judge, store, labels, map, group, limit, skip_bad_rows, progress: as of `evaluate`.

    Returns:
        The plan; `print(plan)` shows it as `ragauge plan` does.

    Raises:
        UsageError: as `evaluate` raises before it asks.
    """
    there = store if isinstance(store, Store) or (store is not None and Store.exists(store)) else None
    task = prepared(data, metrics, judge, there, labels, map, group, limit, skip_bad_rows)
    counting = PlanCounter(task.settings, task.dispatcher)
    for sample in task.samples:
        counting.count(sample)
        if progress:
            progress(counting.plan.samples)
    return counting.plan


class PlanCounter:
    """Builds a plan, sample by sample."""

    def __init__(self, settings: RunSettings, dispatcher: Dispatcher) -> None:
        dates = price_dates(dispatcher.router.unique())
        self.plan = Plan(left_out=dict(settings.left_out), priced=tuple(sorted(dates)))
        self._metrics = settings.metrics
        self._needs = {need.name: need for metric in settings.metrics for need in metric.needs}
        self._dispatcher = dispatcher
        self._seen: set[str] = set()

    def count(self, sample: Sample) -> float:
        """Count a sample, with guesses for unknown answers; returns its expected cost, 0 for calls of unknown price."""
        rounds = Rounds(sample, self._needs.values())
        asked: dict[str, set[Question]] = {name: set() for name in self._needs}
        calls: list[ExpectedCall] = []
        cache = self._dispatcher.cache
        while questions := rounds.questions:
            for need, question in rounds.pending():
                asked[need].add(question)
            known = cache.known(cache.keys(questions))
            calls += self._expected(self._fresh(questions, known))
            rounds.advance({q: known.get(q) or Judgment(q, guess(q), GUESS, "") for q in questions})
        self.plan.samples += 1
        for metric in self._metrics:
            self.plan.by_metric[metric.key] += len(set[Question]().union(*(asked[need.name] for need in metric.needs)))
        self._allocate(calls, asked)
        return sum(call.cost or 0.0 for call in calls)

    def _fresh(self, questions: Sequence[Question], known: Mapping[Question, Judgment]) -> list[Question]:
        """Count questions; returns those that no earlier sample asks and no judgment answers."""
        fresh = []
        for question in questions:
            if (key := judgment_key(question, GUESS)) in self._seen:
                continue
            self._seen.add(key)
            (self.plan.known if question in known else self.plan.questions)[kind(question)] += 1
            if question not in known:
                self.plan.estimated |= isinstance(question, Decompose)
                fresh.append(question)
        return fresh

    def _expected(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        by_judge = self._dispatcher.router.by_judge(questions)
        return [call for judge, some in by_judge if isinstance(judge, ForecastingJudge) for call in judge.expect(some)]

    def _allocate(self, calls: Sequence[ExpectedCall], asked: Mapping[str, set[Question]]) -> None:
        """Divide each call equally among its questions, and each question equally among the metrics that ask it."""
        for call in calls:
            self.plan.cost.add(call)
            for question in call.questions:
                metrics = [one.key for one in self._metrics if any(question in asked[need.name] for need in one.needs)]
                for key in metrics:
                    part = self.plan.cost_by_metric.setdefault(key, Cost())
                    part.add(call, 1 / len(call.questions) / len(metrics))


def duration(seconds: float) -> str:
    """A duration in words."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def guess(question: Question) -> Answer:
    """A valid answer, to see what would be asked next; statements are those of the embedded judge."""
    match question:
        case Decompose():
            return Decomposition(decompose(question.text, question.query))
        case Entail():
            return Verdict(Label.NEUTRAL, chunks=(ChunkVerdict(Label.NEUTRAL),) * len(question.premise))
        case Rate():
            return Grade(question.rubric.low)
        case _:
            return Verdict(Label.NO)
