"""A run: its estimates and scores, read from the store that keeps them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import msgspec

from ragauge.errors import BadData, BadParameter, RunFailed, UnknownName, UsageError
from ragauge.judges.base import JudgeRouter, LookupJudge
from ragauge.metrics import trust
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.metrics.registry import select_metrics
from ragauge.metrics.trust import RefusalPrefix, TrustEvalItem
from ragauge.needs.base import EvidenceTable, Need, Rounds, Undefined
from ragauge.needs.gold import Correctness
from ragauge.report.document import run_document
from ragauge.report.explain import chooser, explain, headline_metrics, worst
from ragauge.report.files import save
from ragauge.report.sections import Section, sections_of, slice_section
from ragauge.report.text import plain_text, run_markdown, run_text, worst_view
from ragauge.report.wording import score_words
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget
from ragauge.scores import Estimate, Gate, RunRecord, SampleRecord, Score, ScoreRecord, Slice, gates_of, slice_value
from ragauge.statistics.intervals import Interval, Summary, interval_of_aggregate, interval_of_mean
from ragauge.store import Place, Store
from ragauge.types import Sample

if TYPE_CHECKING:
    import pandas
    from opentelemetry._logs import LoggerProvider


@dataclass
class Accumulator:
    """The scores of one value of one metric."""

    measure: Measure
    summary: Summary
    undefined: int = 0
    failed: int = 0
    first_failure: str = ""
    first_undefined: str = ""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "measure": None}  # its functions need not be picklable, and `extend` does without

    def add(self, score: ScoreRecord, group: str | None) -> None:
        """Add the score of one sample; `group` is its group, None if samples are independent."""
        if score.failed is not None:
            self.failed += 1
            self.first_failure = self.first_failure or score.failed
        elif score.undefined is not None:
            self.undefined += 1
            self.first_undefined = self.first_undefined or score.undefined
        else:
            self.summary.add(score.counts if score.value is None else (score.value,), group)

    def estimate(self) -> Estimate:
        """The estimate over the scores added so far."""
        found, measure = self.interval(), self.measure
        ends, counts = (found.value, found.low, found.high), (self.summary.n, self.undefined, self.failed)
        over: Literal["data", "samples"] = "data" if isinstance(measure, DatasetMetric) else "samples"
        return Estimate(*ends, *counts, found.method, better=measure.better, over=over, scale=measure.scale)

    def interval(self, confidence: float = 0.95) -> Interval:
        """The value over the scores added so far, with its interval."""
        measure = self.measure
        if isinstance(measure, DatasetMetric):
            return interval_of_aggregate(self.summary, measure.total, scale=measure.scale, confidence=confidence)
        return interval_of_mean(self.summary, confidence)

    def extend(self, other: Accumulator) -> None:
        """Add the scores of another accumulator of the same value, of samples that come after these."""
        self.summary.merge(other.summary)
        self.undefined += other.undefined
        self.failed += other.failed
        self.first_failure = self.first_failure or other.first_failure
        self.first_undefined = self.first_undefined or other.first_undefined


class Accumulators:
    """The scores of a run, by value of a metric. empty: the number of empty responses. columns: of the metadata."""

    def __init__(self, metrics: Iterable[Measure]) -> None:
        self.empty = 0
        self.columns: dict[str, None] = {}
        self.by_key: dict[str, Accumulator] = {}
        for metric in metrics:
            scale = None if isinstance(metric, DatasetMetric) else metric.scale
            for key in metric.values:
                self.by_key[key] = Accumulator(metric, Summary(scale))

    def add(self, record: SampleRecord) -> None:
        """Add one sample; scores of other metrics are ignored."""
        response, group = record.sample.response, record.sample.group
        self.columns.update(dict.fromkeys(record.sample.metadata))
        self.empty += response is not None and not response.strip()
        for key, score in (record.scores | record.counted).items():
            if key in self.by_key:
                self.by_key[key].add(score, group)

    def extend(self, other: Accumulators) -> None:
        """Add the scores of other samples, which come after these, by some or all of the metrics."""
        self.columns.update(other.columns)
        self.empty += other.empty
        for key, one in other.by_key.items():
            self.by_key[key].extend(one)

    def estimates(self) -> dict[str, Estimate]:
        """An estimate for each value of each metric."""
        return {key: one.estimate() for key, one in self.by_key.items()}

    def fields(self) -> dict[str, Any]:
        """The fields of a run's record that follow from the scores, but for the estimates."""
        return {
            "failures": {key: one.first_failure for key, one in self.by_key.items() if one.failed},
            "undefined": {key: one.first_undefined for key, one in self.by_key.items() if one.undefined},
            "empty": self.empty,
            "columns": tuple(self.columns),
        }


def recovered_record(record: RunRecord) -> tuple[Measure, ...]:
    """The metrics of a run that the registry knows."""
    known = []
    for spec in record.metrics:
        with suppress(UsageError):
            select_metrics(spec)
            known.append(spec)
    return select_metrics(known) if known else ()


#: The most values of a column that is sliced by.
MAX_SLICES = 50
#: The chance of any slice that is no worse than the others being marked as worse.
LEVEL = 0.05


def slices_of(
    samples: Iterable[SampleRecord], metrics: Collection[Measure], column: str, compared: Collection[str]
) -> list[Slice]:
    """The estimates for each value of a metadata column, in order of first occurrence.

    A metric is worse in a slice if its interval lies on the worse side of that in all other samples, at the confidence
    of a Bonferroni correction for all slices and `compared` metrics. Raises UnknownName and UsageError as `Run.by`.
    """
    parts: dict[str, Accumulators] = {}
    sizes: Counter[str] = Counter()
    for record in samples:
        value = slice_value(record.sample, column)
        parts.setdefault(value, Accumulators(metrics)).add(record)
        sizes[value] += 1
        if len(parts) > MAX_SLICES:
            few = "slice by a column of few, such as a domain or a language"
            raise UsageError(f"{column!r} has more than {MAX_SLICES} values; {few}")
    columns = {name for part in parts.values() for name in part.columns}
    if column not in columns:
        if not columns:
            raise UsageError(f"there is no column {column!r}: the samples have no columns beyond the known fields")
        raise UnknownName("metadata column", column, columns)
    confidence = 1 - LEVEL / max(1, len(parts) * len(compared))
    return [
        Slice(
            value,
            sizes[value],
            part.estimates(),
            tuple(key for key in compared if key in part.by_key and _is_worse(key, value, parts, confidence)),
        )
        for value, part in parts.items()
    ]


def _is_worse(key: str, value: str, parts: dict[str, Accumulators], confidence: float) -> bool:
    here = parts[value].by_key[key]
    others = Accumulator(here.measure, Summary(here.summary.scale))
    for name, part in parts.items():
        if name != value:
            others.extend(part.by_key[key])
    one, rest = here.interval(confidence), others.interval(confidence)
    if one.low is None or one.high is None or rest.low is None or rest.high is None:
        return False
    return one.high < rest.low if here.measure.better == "higher" else one.low > rest.high


def recovered_run(store: Store, record: RunRecord) -> RunRecord:
    """The record of an unfinished run with the estimates of the samples kept so far; custom metrics are missing."""
    accumulators = Accumulators(recovered_record(record))
    samples = 0
    for kept in store.samples(record.id):
        accumulators.add(kept)
        samples += 1
    estimates = accumulators.estimates() if samples else {}
    return msgspec.structs.replace(record, samples=samples, estimates=estimates, **accumulators.fields())


class SampleScores(dict[str, Score]):
    """The scores of one sample by metric key; `sample` is the sample.

    A metric over the data set has no score here; `counted` has the contribution of the sample: a Score without a value,
    with its counts, or the reason why there are none, and the evidence.
    """

    def __init__(self, record: SampleRecord, estimates: Mapping[str, Estimate]) -> None:
        super().__init__({key: record.score(key) for key in record.scores})
        self.sample: Sample = record.sample
        self._record, self._estimates = record, estimates

    @property
    def counted(self) -> dict[str, Score]:
        """The contribution of the sample to each metric over the data set."""
        return {key: self._record.score(key) for key in self._record.counted}

    def __repr__(self) -> str:
        values = [f"{key} {score_words(score)}" for key, score in self.items()]
        more = f", and {len(values) - SHOWN_SCORES} more" if len(values) > SHOWN_SCORES else ""
        return f"<{self.sample.id}: {', '.join(values[:SHOWN_SCORES])}{more}>"

    def explain(self, key: str) -> str:
        """A score in words, with the evidence that lowers it; see `ragauge.explain`."""
        return explain(self[key], self._estimates[key].better)

    def __missing__(self, key: str) -> Score:
        if key in self._record.counted:
            raise KeyError(
                f"{key!r} is a metric over the data set: run.estimates[{key!r}] is its value, and "
                f"run.scores[i].counted[{key!r}] the contribution of a sample"
            )
        raise KeyError(f"no score is called {key!r}; there are {', '.join(self)}")


#: How many scores the short form of a sample's scores shows.
SHOWN_SCORES = 3


class WorstSamples(list[SampleScores]):
    """The worst samples of a run, which are shown with their response and the claim that decides."""

    def __init__(self, found: Sequence[SampleScores], text: str) -> None:
        super().__init__(found)
        self._text = text

    def __repr__(self) -> str:
        return self._text


class Scores(Sequence[SampleScores]):
    """The scores of a run by position, read from the store on access."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store, self._run = store, run

    def __len__(self) -> int:
        return self._run.samples

    @overload
    def __getitem__(self, position: int) -> SampleScores: ...
    @overload
    def __getitem__(self, position: slice) -> list[SampleScores]: ...
    def __getitem__(self, position: int | slice) -> SampleScores | list[SampleScores]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        at = position + len(self) if position < 0 else position
        if not 0 <= at < len(self):
            raise IndexError(f"position {position} in a run of {len(self)} samples")
        return SampleScores(self._store.sample(self._run.id, at), self._run.estimates)

    def __iter__(self) -> Iterator[SampleScores]:
        samples = self._store.samples(self._run.id, 0, self._run.samples)
        return (SampleScores(sample, self._run.estimates) for sample in samples)


class Run:
    """One execution over a data set: estimates, and every score with its evidence.

    estimates: metric key -> Estimate. scores: one entry per sample in the order of the data; `scores[0]["bleu"]` is a
    Score. left_out: metrics that were not measured, with the reason. record: all other data about the run.
    """

    def __init__(self, store: Store, record: RunRecord, metrics: Sequence[Measure] | None = None) -> None:
        self._store = store
        self._metrics = metrics
        self.record = record

    @classmethod
    def open(cls, store: Store | Place, run: str = "latest") -> Run:
        """Open a run of a store by its id, its name, the beginning of its id, or "latest".

        An unfinished run has the samples that are done.

        Raises:
            UnknownName: there is no such run.
            UsageError: there is no store.
            StoreError: the store cannot be read.
        """
        if not isinstance(store, Store) and not Store.exists(store):
            raise UsageError(f"there is no store at {store}; `ragauge run` makes one, as does evaluate(store=...)")
        opened = store if isinstance(store, Store) else Store.open(store, to_read=True)
        record = opened.run(run)
        return cls(opened, recovered_run(opened, record) if record.status == "running" else record)

    @property
    def id(self) -> str:
        """The run's id in its store."""
        return self.record.id

    @property
    def estimates(self) -> dict[str, Estimate]:
        """An estimate for each value of each metric."""
        return self.record.estimates

    @property
    def left_out(self) -> dict[str, str]:
        """Metrics that were not measured, with the reason."""
        return self.record.left_out

    @property
    def store(self) -> Store:
        """The store that keeps the run."""
        return self._store

    @property
    def scores(self) -> Scores:
        """The scores by position, read on access."""
        return Scores(self._store, self.record)

    def records(self) -> Iterator[SampleRecord]:
        """The samples with their scores, streamed from the store."""
        return self._store.samples(self.record.id, 0, self.record.samples)

    def values(self, metric: str) -> list[float | None]:
        """The values of one metric by position; None if undefined or failed."""
        return self._store.values(self.record.id, metric)[: self.record.samples]

    def worst(self, count: int = 3, metric: str | None = None) -> WorstSamples:
        """The samples with the worst scores, worst first; equal ones by contradiction, then by how sure the judge is.

        Args:
            count: how many.
            metric: the metric; None for the one that reports choose.

        Returns:
            Their scores with evidence; the list prints as responses with the claim that decides each score.

        Raises:
            UnknownName: samples have no score of this metric.
        """
        over = [key for key, one in self.estimates.items() if one.over == "samples"]
        key = metric or chooser(self.record)
        if key is None:
            return WorstSamples([], "no sample has a score")
        if key not in over:
            raise UnknownName("metric of this run", key, over)
        better = self.estimates[key].better
        found = worst(self.records(), key, better, count)
        text = plain_text(worst_view(found, key, better, self.record.about.get(key, "")), 100)
        return WorstSamples([SampleScores(record, self.estimates) for record in found], text)

    def by(self, column: str) -> tuple[Slice, ...]:
        """The estimates for each value of a metadata column, the worst slice first.

            for part in run.by("domain"):
                print(part.value, part.samples, part.estimates["faithfulness"], part.worse)

        Reports of this run show them from then on. Metrics of your own are missing in a run that was opened from
        a store.

        Args:
            column: a column of the data that is no field of a sample; it has at most 50 values.

        Returns:
            The slices. Each has an interval of its own; `worse` is corrected for all slices and headline metrics.

        Raises:
            UnknownName: no sample has the column.
            UsageError: the column has too many values.
        """
        if column not in self.record.slices:
            metrics = recovered_record(self.record) if self._metrics is None else self._metrics
            found = slices_of(self.records(), metrics, column, headline_metrics(self.record))
            key = chooser(self.record)
            sign = -1 if key and self.estimates[key].better == "lower" else 1

            def rank(part: Slice) -> tuple[bool, float]:
                value = part.estimates[key].value if key in part.estimates else None
                return value is None, sign * (value or 0)

            self.record.slices[column] = tuple(sorted(found, key=rank))
        return self.record.slices[column]

    def sections(self) -> tuple[Section, ...]:
        """The tables below the estimates in reports: of slices, and of functions registered with `report_section`."""
        return (*(slice_section(self.record, column) for column in self.record.slices), *sections_of(self))

    def to_dict(self) -> dict[str, Any]:
        """The whole run as one document of schema "ragauge.run/1"; see docs/output.md."""
        return run_document(self.record, self.records(), self.sections())

    def to_pandas(self) -> pandas.DataFrame:
        """One row per sample: id, query, response, metadata, and a column per metric; NaN if there is no value.

        Raises MissingExtra if pandas is not installed.
        """
        from ragauge.report.files import run_frame

        return run_frame(self.record, self.records())

    def save(self, path: str | Path, *, raw_csv: bool = False) -> Path:
        """Write the run to a file in the format of its ending; docs/output.md lists them.

        Args:
            path: the file; it is replaced if it exists.
            raw_csv: keep texts in CSV as they are; by default a text that a spreadsheet would run as a formula is
                prefixed with an apostrophe.

        Raises:
            UsageError: the ending is unknown, or the place cannot be written.
        """
        return save(self.record, self.records(), Path(path), raw_csv, self.sections)

    def emit(self, provider: LoggerProvider | None = None) -> int:
        """Emit each score to OpenTelemetry as an event `gen_ai.evaluation.result`; see docs/ci.md.

        Args:
            provider: the logger provider; None: that of the process.

        Returns:
            The number of events.

        Raises:
            MissingExtra: OpenTelemetry is not installed.
            UsageError: no provider is set.
        """
        from ragauge.report.ci import emit_events

        return emit_events(self.record, self.records(), provider)

    def hold_to(self, bounds: Mapping[str, float] | Sequence[Gate]) -> None:
        """Set the gates of the run, replacing earlier ones; reports show which hold.

        Args:
            bounds: metric key -> the lowest acceptable value, or the highest if lower is better; or gates. A key such
                as "faithfulness@domain=finance" is of a slice, see `by`.

        Raises:
            UnknownName: a metric was not measured, or no sample has the column of a slice.
            BadParameter: a bound is not a number or off the metric's scale, or a gate fails on the better side.
        """
        self.record.gates = gates_of(bounds, self.estimates)
        for column in {gate.column for gate in self.record.gates if gate.column}:
            self.by(column)
        self._store.finish(self.record)

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.record.samples} samples, {len(self.estimates)} estimates, {self.record.status}>"

    def __str__(self) -> str:
        return run_text(self.record, sections=self.sections())

    def _repr_markdown_(self) -> str:
        return run_markdown(self.record, self.records(), self.sections())


def trust_eval_block(
    run: Run, correctness: Correctness = "cm", prefix: RefusalPrefix = "reject", at_most: int = 3
) -> dict[str, float | None]:
    """The result of Trust-Eval for a data set (Song et al., ICLR 2025): its keys, in per cent, with its own zeros.

    Args:
        run: one that measured `trust(variant=trust_eval,labels=given)` with the same correctness and at_most; no judge
            is asked.
        correctness: "cm", "em" or "em5".
        prefix: the prefix of the keys about refusals.
        at_most: the number of citations of a sentence that count.

    Returns:
        key -> value; None where Trust-Eval has NaN, the mean of nothing.

    Raises:
        BadData: a sample lacks gold claims, or a document its labels.
        RunFailed: a question has no answer.
        UsageError: the run did not ask it, or a parameter is wrong.
    """
    for given, known in ((correctness, get_args(Correctness)), (prefix, get_args(RefusalPrefix))):
        if given not in known:
            raise BadParameter(f"{given!r} is none of {', '.join(known)}")
    wanted = trust.needs(correctness, at_most)
    router = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.record.judges.items()})
    dispatcher = Dispatcher(router, run.store, Budget())
    items = [_item(record, wanted, dispatcher) for record in run.records()]
    return trust.trust_eval_block(items, correctness, prefix)


def _item(record: SampleRecord, wanted: tuple[Need[EvidenceTable], ...], dispatcher: Dispatcher) -> TrustEvalItem:
    rounds = Rounds(record.sample, wanted)
    while questions := rounds.questions:
        known = dispatcher.known(dispatcher.keys(questions))
        if len(known) < len(questions) and record.failures:
            fix = "with a store, the same run again asks only for what is missing"
            raise RunFailed(f"sample {record.sample.id}: {record.failures[0]}; {fix}")
        if len(known) < len(questions):
            raise UsageError(
                f"sample {record.sample.id}: the run did not ask what Trust-Eval counts; measure "
                "'trust(variant=trust_eval,labels=given)' with the same correctness and at_most"
            )
        rounds.advance(known)
    outcomes = [rounds.outcomes[need.name] for need in wanted]
    if undefined := next((one for one in outcomes if isinstance(one, Undefined)), None):
        fix = "samples need 'answers' and documents 'answers_found', which `ragauge dataset build` makes"
        fix = "give its 'output', or leave it out" if record.sample.response is None else fix
        raise BadData(f"sample {record.sample.id}: {undefined.reason}; {fix}")
    return TrustEvalItem(record.sample, *outcomes)  # type: ignore[arg-type]  # each need returns what the field of its place is
