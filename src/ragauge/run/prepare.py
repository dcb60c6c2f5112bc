"""The arguments of a run, resolved and checked before any judge is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ragauge.errors import BadData, BadParameter, MissingField, UnanswerableNeed, UsageError
from ragauge.judges.base import JudgeLike, JudgeRouter
from ragauge.metrics.base import Measure
from ragauge.metrics.registry import default_metrics, select_metrics
from ragauge.needs.base import OF_CONVERSATIONS, missing_fields, unanswerable
from ragauge.questions import Judgment, Question
from ragauge.readers import SampleReader, read
from ragauge.readers.columns import rank
from ragauge.readers.conversations import Per
from ragauge.report.wording import by_reason
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget, DailyBudget, check_priced
from ragauge.run.specs import load_judges
from ragauge.store import Opinions, Place, Store, opinions, read_labels
from ragauge.store.store import MemoryStore
from ragauge.types import Sample

MetricsLike = str | Measure | Iterable[str | Measure] | None

#: Descriptions of fields, for messages about missing fields.
_DESCRIPTIONS = {
    "contexts": "the retrieved chunks",
    "references": "correct answers",
    "source": "the text that was summarised",
    "reference_tool_calls": "the calls that should have been made",
}


class RunSettings:
    """The metrics of a run: all that were asked for by name, or the measurable ones of the default set.

    Args:
        metrics: as for `evaluate`.
        router: the judges.
        samples: the first of the data set, enough to see which fields it has; empty if that has been checked before.
        columns: the column of each field, for messages.
        all_fields: raise for a metric asked for by name whose fields the samples lack, instead of leaving it out.
        by_name: raise for a metric asked for by name, instead of leaving it out.

    Raises:
        MissingField: the samples lack the fields of a metric, or of all.
        UnanswerableNeed: no judge answers what a metric needs.
    """

    def __init__(
        self,
        metrics: MetricsLike,
        router: JudgeRouter,
        samples: Sequence[Sample] = (),
        columns: Mapping[str, str] | None = None,
        *,
        all_fields: bool = True,
        by_name: bool = True,
    ) -> None:
        self.by_name = by_name and metrics is not None
        self.left_out: dict[str, str] = {}
        self._router = router
        self.metrics: tuple[Measure, ...] = default_metrics(samples) if metrics is None else select_metrics(metrics)
        if samples:
            faults = {metric.key: _missing(metric, samples, columns or {}) for metric in self.metrics}
            self._leave_out(faults, MissingField if all_fields else None)
        self.check_judges()
        if not self.metrics:
            nearest, fault = min(self.left_out.items(), key=lambda item: len(item[1]))
            unused = dict.fromkeys(column for sample in samples for column in sample.metadata)
            also = f"; columns in no field: {', '.join(map(repr, unused))}" if unused else ""
            raise MissingField(f"no metric can be measured on this data; for {nearest}: {fault}{also}")

    def check_judges(self, unable: Collection[str] = ()) -> None:
        """Leave out the metrics that the judges cannot answer; raises UnanswerableNeed for a metric asked for by name.

        unable: topics that no judge could decide during the run, such as contradiction for a two-way function.
        """
        faults = {metric.key: _unanswerable(metric, self._router, unable) for metric in self.metrics}
        self._leave_out(faults, UnanswerableNeed)

    def _leave_out(self, faults: Mapping[str, str | None], error: type[UsageError] | None) -> None:
        faulty = {key: fault for key, fault in faults.items() if fault}
        if faulty and self.by_name and error:
            raise error("; ".join(by_reason(faulty)))
        self.left_out.update(faulty)
        self.metrics = tuple(metric for metric in self.metrics if metric.key not in faulty)


def _missing(metric: Measure, samples: Sequence[Sample], columns: Mapping[str, str]) -> str | None:
    """Which fields of a metric all samples lack, and how to give them; None if none is missing."""
    fields = missing_fields(metric.needs, samples)
    if not fields:
        return None
    if column := next((field.removeprefix("metadata.") for field in fields if field.startswith("metadata.")), ""):
        return f"no sample has the column {column!r}; add it, or name another in the parameters of the metric"
    fix = _fix_for(fields, columns)
    if all("trace_id" in sample.metadata for sample in samples):
        has_ids = any("retrieved_context_ids" in sample.metadata for sample in samples)
        content = "ids, not texts: --corpus FILE looks them up" if has_ids and fields[0] == "contexts" else "none"
        fix = f"the traces hold {content}"
    are_turns = any(sample.is_turn for sample in samples)
    if are_turns and "reference_tool_calls" in fields and "reference_tool_calls" in columns:
        fix = OF_CONVERSATIONS
    if fields == ["contexts"] and "against" in getattr(metric, "parameters", ()):
        if any(sample.source for sample in samples):
            fix = "for a summary there is faithfulness(against=source)"
        elif any(sample.calls for sample in samples):
            fix += "; where tools returned what the answer rests on, there is faithfulness(against=calls)"
    return f"no sample has {' and '.join(map(_field_words, fields))}; {fix}"


def _field_words(field: str) -> str:
    """A field, or the alternatives "FIELD or metadata.COLUMN", in quotes, with its description."""
    quoted = "'" + field.replace("metadata.", "").replace(" or ", "' or '") + "'"
    return f"{quoted} ({_DESCRIPTIONS[field]})" if field in _DESCRIPTIONS else quoted


def _fix_for(fields: Sequence[str], columns: Mapping[str, str]) -> str:
    names = [field.partition(" or ")[0] for field in fields]
    for name in names:
        for other, column in columns.items():
            if other == name:
                return f"the column {column!r} is empty in all of them"
            if rank(name, column) is not None and name == "turns":
                return f"the samples from {column!r} have no earlier turns; --per turn makes a sample of each answer"
            if rank(name, column) is not None:
                return f"the column {column!r} is read as {other!r}, which --map {name}={column} changes"
    if ids := fields[0].partition(" or metadata.")[2]:
        return f"name the column with --map {names[0]}=COLUMN if it holds texts, or --map {ids}=COLUMN if it holds ids"
    return f"name the column with --map {names[0]}=COLUMN if it is there under another name"


def _unanswerable(metric: Measure, router: JudgeRouter, unable: Collection[str]) -> str | None:
    """Which topics of a metric no judge answers, and how to choose one; None if all are answered."""
    topics = unanswerable(metric.needs, lambda topic: router.can(topic) and topic not in unable)
    if not topics:
        return None
    unnamed = sorted({topic.partition(":")[0] for topic in topics} - router.judges.keys())
    if unnamed and "*" not in router.judges:
        kinds = ", ".join(unnamed)
        return f"no judge was given for {kinds}; add one for all that is not named, as in {{'*': 'embedded'}}"
    names = " and ".join(sorted({str(judge.identity) for judge in router.judges.values()}))
    answered = {topic.partition(":")[0] for judge in router.judges.values() for topic in judge.answers}
    unanswered = {topic if (kind := topic.partition(":")[0]) in answered else kind for topic in topics}
    remedies = (judge.remedy for judge in router.unique if not judge.unable.isdisjoint(topics))
    other = "choose a judge that does, such as openai/gpt-4o-mini, or one for each kind of question"
    return f"{names} does not answer {', '.join(sorted(unanswered))}; {next(filter(None, remedies), other)}"


#: How many samples are read ahead, before any judge is asked, to see which fields the data has.
SAMPLES_READ_AHEAD = 1000

StoreLike: TypeAlias = "Store | Place | None"
LabelsLike = str | Path | Iterable[Judgment] | None


@dataclass(frozen=True)
class RunRequest:
    """What is to be measured, as the caller gave it; `evaluate` documents the fields. per_day: of `max_cost`."""

    data: Any = ()
    metrics: MetricsLike = None
    judge: JudgeLike = "embedded"
    store: StoreLike = None
    labels: LabelsLike = None
    map: Mapping[str, str] | None = None
    group: str | None = None
    limit: int | None = None
    skip_bad_rows: bool = False
    max_cost: float | None = None
    per: Per | None = None
    corpus: str | None = None
    per_day: bool = False

    @property
    def columns(self) -> dict[str, str]:
        """field -> column, with that of `group`. Raises BadParameter if `map` is not a mapping."""
        if not isinstance(self.map or {}, Mapping):
            raise BadParameter(f"map is {self.map!r}; give a dict from field to column")
        return {**(self.map or {}), **({"group": self.group} if self.group else {})}

    def dispatcher(self, router: JudgeRouter, store: Store) -> Dispatcher:
        """What answers questions from people's labels, the store and the judges, within `max_cost`."""
        budget = Budget(self.max_cost)
        if self.per_day and self.max_cost is not None:
            budget = DailyBudget(self.max_cost)
        return Dispatcher(router, store, budget, labels_by_question(self.labels))


class Prepared(NamedTuple):
    """A run that is ready to start."""

    reading: SampleReader
    samples: Iterator[Sample]
    settings: RunSettings
    dispatcher: Dispatcher
    store: Store


def prepared(request: RunRequest) -> Prepared:
    """Read the first samples and resolve metrics, judges and store; raises what `evaluate` does before it asks."""
    columns = request.columns or None
    reading = read(
        request.data,
        map=columns,
        skip_bad_rows=request.skip_bad_rows,
        limit=request.limit,
        per=request.per,
        corpus=request.corpus,
    )
    samples = iter(reading)
    first_samples = list(islice(samples, SAMPLES_READ_AHEAD))
    if not first_samples:
        skipped = f"; rows were skipped, the first because: {reading.bad_rows[0]}" if reading.bad_rows else ""
        raise BadData(f"{reading.name} holds no sample{skipped}")
    router = load_judges(request.judge, store=request.store)
    check_priced(router.unique, request.max_cost)
    settings = RunSettings(request.metrics, router, first_samples, reading.columns)
    store = opened_store(request.store)
    return Prepared(reading, chain(first_samples, samples), settings, request.dispatcher(router, store), store)


def opened_store(store: StoreLike) -> Store:
    """An open store; None gives one that lives as long as its Run."""
    if isinstance(store, Store):
        return store
    return MemoryStore() if store is None else Store.open(store)


def existing_store(store: StoreLike) -> StoreLike:
    """The store, or None if there is none yet: planning reads a store and creates none."""
    return store if isinstance(store, Store) or (store is not None and Store.exists(store)) else None


def labels_by_question(labels: LabelsLike) -> dict[Question, Opinions]:
    """What people say, by question."""
    judgments = read_labels(Path(labels)) if isinstance(labels, str | Path) else labels or ()
    if not isinstance(judgments, Iterable):
        raise BadParameter(f"labels are {labels!r}; give the path of a file, or judgments")
    return opinions(judgments) if judgments else {}
