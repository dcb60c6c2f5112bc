"""Plans: what a run would ask and cost, before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ragauge.judges.base import ExpectedCall, JudgeLike
from ragauge.judges.embedded import decompose
from ragauge.needs.base import Rounds
from ragauge.questions import KINDS, Judgment, Question, judgment_key
from ragauge.readers.conversations import Per
from ragauge.report.wording import counted, dollars, one_line
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import price_dates
from ragauge.run.prepare import LabelsLike, MetricsLike, RunRequest, RunSettings, StoreLike, existing_store, prepared
from ragauge.run.specs import with_settings
from ragauge.types import Identity, Sample

#: The judge of guessed answers.
GUESS = Identity("guess")


@dataclass
class Cost:
    """The expected cost of calls to models. dollars: None if a price is unknown. seconds: a rough estimate."""

    calls: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    dollars: float | None = 0.0
    seconds: float = 0.0

    def add(self, expected: ExpectedCall) -> None:
        """Add the cost of a call."""
        self.calls += 1
        self.prompt_tokens += expected.prompt_tokens
        self.completion_tokens += expected.completion_tokens
        self.seconds += expected.seconds
        self.dollars = None if self.dollars is None or expected.cost is None else self.dollars + expected.cost


@dataclass
class Plan:
    """What a run would ask.

    questions: the number of questions for judges by kind, each question once. known: the number that the store or
    people's labels already answer, by kind. by_metric: the number that each metric would ask on its own, known or not;
    they add up to more than the total, since metrics share questions. cost: of the calls to models. estimated: whether
    counts depend on statements that have not been extracted yet; the embedded judge's stand for them. left_out: metrics
    that cannot be measured, with the reason. notes: what is unknown about the judges. priced: the dates of the price
    tables.
    """

    samples: int = 0
    questions: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    by_metric: Counter[str] = field(default_factory=Counter)
    cost: Cost = field(default_factory=Cost)
    estimated: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    priced: tuple[date, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(one_line, _lines(self)))

    def cost_words(self) -> str:
        """The calls to models, with their price."""
        from ragauge.judges.llm.pricing import RELATIVE_ERROR

        cost = self.cost
        duration = f"{cost.seconds:.0f} s" if cost.seconds < 100 else f"{cost.seconds / 60:.0f} min"
        dated = f" (prices of {', '.join(map(str, self.priced))})" if cost.dollars and self.priced else ""
        return (
            f"{cost.calls:.0f} calls, about {cost.prompt_tokens:.0f} prompt and {cost.completion_tokens:.0f} "
            f"completion tokens (estimated, ±{RELATIVE_ERROR:.0%} for the prompts), "
            f"price {dollars(cost.dollars)}{dated}, very roughly {duration}"
        )


def _lines(plan: Plan) -> Iterator[str]:
    asked = f"{'about ' if plan.estimated else ''}{counted(plan.questions.total(), 'question')} to ask"
    yield f"{counted(plan.samples, 'sample')}, {asked}, {plan.known.total()} already answered"
    yield from (
        f"  {kind:<12}{plan.questions[kind]:>8} to ask {plan.known[kind]:>8} answered"
        for kind in KINDS
        if kind in plan.questions | plan.known
    )
    if plan.cost.calls:
        yield plan.cost_words()
    yield "each metric on its own (metrics share questions):"
    yield from (f"  {metric:<28}{count:>8}" for metric, count in plan.by_metric.items())
    yield from (f"not measured: {metric} ({reason})" for metric, reason in plan.left_out.items())
    yield from plan.notes


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
    per: Per | None = None,
    corpus: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Plan:
    """Count the questions that `evaluate` would ask with the same arguments, and price its calls to models.

    No judge is asked, no key is needed, nothing is stored or sent, and no judge's code is imported; the stored answers
    and calls of `python:` and `hf/` judges are therefore unknown.

    Args:
        data, metrics, judge, store, labels, map, group, limit, skip_bad_rows, per, corpus, progress: as for `evaluate`.

    Returns:
        The plan; `print(plan)` shows it as `ragauge plan` does.

    Raises:
        UsageError: as `evaluate` raises before it asks.
    """
    unloaded = with_settings(judge, imports=False)
    options = (labels, map, group, limit, skip_bad_rows)
    request = RunRequest(data, metrics, unloaded, existing_store(store), *options, per=per, corpus=corpus)
    run = prepared(request)
    counter = PlanCounter(run.settings, run.dispatcher)
    for sample in run.samples:
        counter.add_sample(sample)
        if progress:
            progress(counter.plan.samples)
    return counter.plan


class PlanCounter:
    """Builds a plan, sample by sample."""

    def __init__(self, settings: RunSettings, dispatcher: Dispatcher) -> None:
        judges = dispatcher.router.unique
        self.plan = Plan(left_out=dict(settings.left_out), priced=tuple(sorted(price_dates(judges))))
        self.plan.notes = tuple(note for judge in judges for note in judge.notes())
        self._metrics = settings.metrics
        self._needs = {need.name: need for metric in settings.metrics for need in metric.needs}
        self._dispatcher = dispatcher
        self._seen: set[str] = set()

    def add_sample(self, sample: Sample) -> float:
        """Add a sample to the plan, guessing unknown answers; return its expected cost, 0 for calls without a price."""
        rounds = Rounds(sample, self._needs.values())
        asked: dict[str, set[Question]] = {name: set() for name in self._needs}
        calls: list[ExpectedCall] = []
        while questions := rounds.questions:
            for need, question in rounds.pending():
                asked[need].add(question)
            stored = self._dispatcher.labelled_or_stored(self._dispatcher.keys(questions))
            for judge, group in self._dispatcher.router.by_judge(self._fresh(questions, stored)):
                calls += judge.expect(group) if judge else ()
            guesses = {q: Judgment(q, q.guess(decompose), GUESS, "") for q in questions if q not in stored}
            rounds.advance({**stored, **guesses})
        self.plan.samples += 1
        for metric in self._metrics:
            of_metric = set[Question]().union(*(asked[need.name] for need in metric.needs))
            self.plan.by_metric[metric.key] += len(of_metric)
        for call in calls:
            self.plan.cost.add(call)
        return sum(call.cost or 0.0 for call in calls)

    def _fresh(self, questions: Sequence[Question], stored: Mapping[Question, Judgment]) -> list[Question]:
        """Count questions, each once; return those that no earlier sample asks and no judgment answers."""
        fresh = []
        for question in questions:
            if (key := judgment_key(question, GUESS)) in self._seen:
                continue
            self._seen.add(key)
            if question in stored:
                self.plan.known[question.kind] += 1
                continue
            self.plan.questions[question.kind] += 1
            self.plan.estimated |= question.comes_first
            fresh.append(question)
        return fresh
