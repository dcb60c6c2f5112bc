"""A run: what was measured, as the store keeps it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args, overload

import msgspec

from ragauge.errors import BadData, BadParameter, RunFailed, UsageError
from ragauge.judges.base import JudgeRouter, LookupJudge
from ragauge.metrics import trust
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.metrics.registry import select_metrics
from ragauge.metrics.trust import RefusalPrefix, TrustEvalItem
from ragauge.needs.base import EvidenceTable, Need, Undefined
from ragauge.needs.gold import Correctness
from ragauge.report.document import run_document
from ragauge.report.explain import explain
from ragauge.report.files import save
from ragauge.report.text import run_html, run_markdown, run_text
from ragauge.rounds import Rounds
from ragauge.run.asking import JudgmentCache
from ragauge.scores import Estimate, Gate, RunRecord, SampleRecord, Score, ScoreRecord, gates_of
from ragauge.statistics.aggregates import aggregate_interval
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.store import Store
from ragauge.types import Sample

if TYPE_CHECKING:
    import pandas
    from opentelemetry._logs import LoggerProvider


@dataclass
class Accumulator:
    """The scores of one value of one metric, without evidence."""

    measure: Measure
    values: array[float] = field(default_factory=lambda: array("d"))
    counts: list[tuple[float, ...]] = field(default_factory=list)
    groups: list[str | None] = field(default_factory=list)
    undefined: int = 0
    failed: int = 0
    first_failure: str = ""
    first_undefined: str = ""

    def add(self, score: ScoreRecord, group: str | None) -> None:
        """Take in one sample's score; `group` is the sample's group, None where samples are independent."""
        if score.failed is not None:
            self.failed += 1
            self.first_failure = self.first_failure or score.failed
        elif score.undefined is not None:
            self.undefined += 1
            self.first_undefined = self.first_undefined or score.undefined
        else:
            self.groups.append(group)
            if isinstance(self.measure, DatasetMetric):
                self.counts.append(score.counts)
            else:
                assert score.value is not None
                self.values.append(score.value)

    def estimate(self) -> Estimate:
        """The estimate over what was taken in."""
        interval = self._interval()
        return Estimate(
            interval.value,
            interval.low,
            interval.high,
            len(self.groups),
            self.undefined,
            self.failed,
            interval.method,
            better=self.measure.better,
            over="data" if isinstance(self.measure, DatasetMetric) else "samples",
            scale=self.measure.scale,
        )

    def _interval(self) -> Interval:
        clusters = self.groups if any(group is not None for group in self.groups) else None
        scale = self.measure.scale
        if isinstance(self.measure, DatasetMetric):
            return aggregate_interval(self.counts, self.measure.total, scale=scale, clusters=clusters)
        return mean_interval(self.values, scale=scale, clusters=clusters)


class Accumulators:
    """The tallies of all metrics of a run. empty: how many responses are empty."""

    def __init__(self, metrics: Iterable[Measure]) -> None:
        self.empty = 0
        self._by_key = {key: Accumulator(metric) for metric in metrics for key in metric.values}

    def add(self, record: SampleRecord) -> None:
        """Take in one sample; scores of metrics that are not among those tallied are passed over."""
        response = record.sample.response
        self.empty += response is not None and not response.strip()
        for key, score in (record.scores | record.counted).items():
            if key in self._by_key:
                self._by_key[key].add(score, record.sample.group)

    def failures(self) -> dict[str, str]:
        """For each value that some samples failed to get, the first reason."""
        return {key: tally.first_failure for key, tally in self._by_key.items() if tally.failed}

    def undefined(self) -> dict[str, str]:
        """For each value that has nothing to count on some samples, the first reason."""
        return {key: tally.first_undefined for key, tally in self._by_key.items() if tally.undefined}

    def estimates(self) -> dict[str, Estimate]:
        """An estimate for each value of each metric."""
        return {key: tally.estimate() for key, tally in self._by_key.items()}


def recovered_run(store: Store, record: RunRecord) -> RunRecord:
    """The record with the estimates of the samples that were kept; metrics of one's own are not among them."""
    tallies = Accumulators(recovered_record(record))
    samples = 0
    for kept in store.samples(record.id):
        tallies.add(kept)
        samples += 1
    return msgspec.structs.replace(
        record,
        samples=samples,
        estimates=tallies.estimates() if samples else {},
        failures=tallies.failures(),
        undefined=tallies.undefined(),
        empty=tallies.empty,
    )


def recovered_record(record: RunRecord) -> tuple[Measure, ...]:
    """The run's metrics as the catalogue knows them."""
    known = []
    for spec in record.metrics:
        try:
            select_metrics(spec)
        except UsageError:
            continue
        known.append(spec)
    return select_metrics(known) if known else ()


class SampleScores(dict[str, Score]):
    """The scores of one sample by metric key, with the sample itself as `sample`.

    A metric over the data set has no score here. `counted` has what the sample adds to it: a Score without a value,
    with its counts, or the reason there are none, and the evidence.
    """

    def __init__(self, record: SampleRecord, estimates: Mapping[str, Estimate]) -> None:
        super().__init__({key: record.score(key) for key in record.scores})
        self.sample: Sample = record.sample
        self._record, self._estimates = record, estimates

    @property
    def counted(self) -> dict[str, Score]:
        """What the sample adds to each metric over the data set."""
        return {key: self._record.score(key) for key in self._record.counted}

    def explain(self, key: str) -> str:
        """A score in words, with the pieces that count against the text; see `ragauge.explain`."""
        return explain(self[key], self._estimates[key].better)

    def __missing__(self, key: str) -> Score:
        if key in self._record.counted:
            raise KeyError(
                f"{key!r} is a metric over the data set: run.estimates[{key!r}] is its value, and "
                f"run.scores[i].counted[{key!r}] what a sample adds to it"
            )
        raise KeyError(f"no score is called {key!r}; there are {', '.join(self)}")


class Scores(Sequence[SampleScores]):
    """The scores of a run by position, each read from the store when it is looked at."""

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
        samples = self._store.samples(self._run.id)
        return (SampleScores(sample, self._run.estimates) for sample in samples)


class Run:
    """One execution over a data set: estimates, and behind them every score with its evidence.

    estimates: metric key -> Estimate. scores: one entry per sample in the order of the data; `scores[0]["bleu"]` is a
    Score. left_out: metrics that were not measured, with the reason. record: everything else that is known of the run.
    """

    def __init__(self, store: Store, record: RunRecord) -> None:
        self._store = store
        self.record = record

    @classmethod
    def open(cls, store: Store | str | Path, run: str = "latest") -> Run:
        """A run that a store keeps, by its id, its name, the beginning of its id, or "latest".

        Of a run that has not finished it holds what is done.

        Raises UnknownName where there is none such, StoreError where the store cannot be read.
        """
        if not isinstance(store, Store) and not Path(store).exists():
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
        """Where the run is kept."""
        return self._store

    @property
    def scores(self) -> Scores:
        """The scores by position; each is read when it is looked at."""
        return Scores(self._store, self.record)

    def records(self) -> Iterator[SampleRecord]:
        """The samples with their scores, one after the other from the store."""
        return self._store.samples(self.record.id)

    def values(self, metric: str) -> list[float | None]:
        """The values of one metric by position; None where undefined or failed."""
        return self._store.values(self.record.id, metric)

    def to_dict(self) -> dict[str, Any]:
        """The whole run as one document of schema "ragauge.run/1"; see docs/output.md."""
        return run_document(self.record, self.records())

    def to_pandas(self) -> pandas.DataFrame:
        """One row per sample: id, query, response, and a column per metric; NaN where there is no value.

        Raises MissingExtra where pandas is not installed.
        """
        from ragauge.report.files import run_frame

        return run_frame(self.record, self.records())

    def save(self, path: str | Path, *, raw_csv: bool = False) -> Path:
        """Write the run to a file, as its ending says; docs/output.md lists them.

        raw_csv: leave texts in CSV as they are; otherwise one that a spreadsheet would take for a formula gets an
        apostrophe before it.
        Raises UsageError for others.
        """
        return save(self.record, self.records(), Path(path), raw_csv)

    def emit(self, provider: LoggerProvider | None = None) -> int:
        """Hand each score to OpenTelemetry as an event `gen_ai.evaluation.result`; see docs/ci.md. Gives their number.

        provider: where they go; None is the one that is set for the process. Raises MissingExtra where OpenTelemetry is
        not installed, UsageError where no provider is set.
        """
        from ragauge.report.events import emit_events

        return emit_events(self.record, self.records(), provider)

    def hold_to(self, bounds: Mapping[str, float] | Sequence[Gate]) -> None:
        """Keep with the run, in place of others, the conditions that its estimates must meet; reports show which hold.

        bounds: metric key -> the least that will do, or the most where lower is better.
        Raises UnknownName for a metric that was not measured, BadParameter for a bound that is no number or off the
        metric's scale, and for a gate that fails on the side where its metric is better.
        """
        self.record.gates = gates_of(bounds, self.estimates)
        self._store.finish(self.record)

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.record.samples} samples, {len(self.estimates)} estimates, {self.record.status}>"

    def __str__(self) -> str:
        return run_text(self.record)

    def _repr_html_(self) -> str:
        return run_html(self.record)

    def _repr_markdown_(self) -> str:
        return run_markdown(self.record, self.records())


def trust_eval_block(
    run: Run, correctness: Correctness = "cm", prefix: RefusalPrefix = "reject", at_most: int = 3
) -> dict[str, float | None]:
    """What Trust-Eval returns for a data set (Song et al., ICLR 2025): its keys, in per cent, with its own zeros.

    run: one that measured `trust(variant=trust_eval,labels=given)` with the same correctness and at_most; nothing is
    asked. correctness: "cm", "em" or "em5". prefix: how the keys about refusals begin. at_most: the citations of a
    sentence that count. A value is None where Trust-Eval has NaN, the mean of nothing.

    Raises BadData where a sample lacks gold claims, or a document its labels; RunFailed where a question has no answer;
    UsageError where the run did not ask it, or a parameter is wrong.
    """
    for given, known in ((correctness, get_args(Correctness)), (prefix, get_args(RefusalPrefix))):
        if given not in known:
            raise BadParameter(f"{given!r} is none of {', '.join(known)}")
    wanted = trust.needs(correctness, at_most)
    bench = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.record.judges.items()})
    keeper = JudgmentCache(bench, run.store, {})
    items = [_item(record, wanted, keeper) for record in run.records()]
    return trust.trust_eval_block(items, correctness, prefix)


def _item(record: SampleRecord, wanted: tuple[Need[EvidenceTable], ...], keeper: JudgmentCache) -> TrustEvalItem:
    """A sample with everything that the run found out about it."""
    waves = Rounds(record.sample, wanted)
    while questions := waves.questions:
        known = keeper.known(questions)
        if len(known) < len(questions):
            _unanswered(record)
        waves.advance(known)
    outcomes = [waves.outcomes[need.name] for need in wanted]
    for outcome in outcomes:
        if isinstance(outcome, Undefined):
            fix = "samples need 'answers' and documents 'answers_found', which `ragauge dataset build` makes"
            fix = "give its 'output', or leave it out" if record.sample.response is None else fix
            raise BadData(f"sample {record.sample.id}: {outcome.reason}; {fix}")
    return TrustEvalItem(record.sample, *outcomes)  # type: ignore[arg-type]  # each need returns what the field of its place is


def _unanswered(record: SampleRecord) -> NoReturn:
    if record.failures:
        fix = "with a store, the same run again asks only for what is missing"
        raise RunFailed(f"sample {record.sample.id}: {record.failures[0]}; {fix}")
    raise UsageError(
        f"sample {record.sample.id}: the run did not ask what Trust-Eval counts; measure "
        "'trust(variant=trust_eval,labels=given)' with the same correctness and at_most"
    )
