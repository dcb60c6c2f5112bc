"""A run: its estimates and scores, read from the store that keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.base import Bounds, Measure
from ragauge.metrics.registry import key_of, registered_metrics
from ragauge.report.document import run_document
from ragauge.report.explain import chooser, explain, worst
from ragauge.report.files import save
from ragauge.report.losses import loss_section
from ragauge.report.sections import Section, sections_of, slice_section
from ragauge.report.text import plain_text, run_markdown, run_view, worst_view
from ragauge.report.wording import score_words
from ragauge.run.aggregation import recovered_run, slices_of
from ragauge.scores import Estimate, Gate, RunRecord, SampleRecord, Score, Slice, gates_of
from ragauge.store import Place, Store
from ragauge.types import Sample

if TYPE_CHECKING:
    import pandas
    from opentelemetry._logs import LoggerProvider


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
        return explain(self[key], self._estimates[key].better, self.sample)

    def __missing__(self, key: str) -> Score:
        over_data = "; metrics over the data set are in `counted`" if self._record.counted else ""
        raise KeyError(f"no score is called {key!r}; there are {', '.join(self)}{over_data}")


class WorstSamples(list[SampleScores]):
    """The worst samples of a run, which are shown with their response and the claim that decides."""

    def __init__(self, samples: Sequence[SampleScores], text: str) -> None:
        super().__init__(samples)
        self._text = text

    def __repr__(self) -> str:
        return self._text


#: How many scores the short form of a sample's scores shows.
SHOWN_SCORES = 3


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
        if isinstance(position, str):
            raise TypeError(f"scores have positions, as in run.scores[0], not {position!r}; each has its sample.id")
        if not isinstance(position, slice) and not -len(self) <= position < len(self):
            raise IndexError(f"position {position} in a run of {len(self)} samples")
        chosen = range(len(self))[position]
        if isinstance(chosen, range):
            return [self[index] for index in chosen]
        return SampleScores(self._store.sample(self._run.id, chosen), self._run.estimates)

    def __iter__(self) -> Iterator[SampleScores]:
        samples = self._store.samples(self._run.id, 0, self._run.samples)
        return (SampleScores(sample, self._run.estimates) for sample in samples)


class Run:
    """One execution over a data set: estimates, and every score with its evidence.

    estimates: metric key -> Estimate. scores: one entry per sample in the order of the data; `scores[0]["bleu"]` is a
    Score. left_out: metrics that were not measured, with the reason. record: all other data about the run. index: the
    labels of the samples' rows, where `evaluate` was given a pandas frame.
    """

    index: pandas.Index | None = None

    def __init__(self, store: Store, record: RunRecord, metrics: Sequence[Measure] | None = None) -> None:
        self._store = store
        self._metrics = metrics
        self._losses: Section | tuple[()] | None = None
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

        Perfect ones are left out, and those that the other text is not preferred to.

        Args:
            count: how many.
            metric: the metric; None for the one that reports choose.

        Returns:
            Their scores with evidence; the list prints as responses with the claim that decides each score.

        Raises:
            UnknownName: samples have no score of this metric.
        """
        over = [key for key, estimate in self.estimates.items() if estimate.over == "samples"]
        key = metric or chooser(self.record)
        if key is None:
            return WorstSamples([], "no sample has a score")
        if key not in over:
            raise UnknownName("metric of this run", key, over)
        records = worst(self.records(), key, self.estimates[key], count)
        text = plain_text(worst_view(records, key, self.record), 100)
        return WorstSamples([SampleScores(record, self.estimates) for record in records], text)

    def by(self, column: str) -> tuple[Slice, ...]:
        """The estimates for each value of a metadata column, the worst slice first.

            for part in run.by("domain"):
                print(part.value, part.samples, part.estimates["faithfulness"], part.worse)

        Reports of this run show them from then on. Metrics of your own are missing in a run that was opened from
        a store.

        Args:
            column: a column of the data that is no field of a sample, or its group; it has at most 50 values.

        Returns:
            The slices. Each has an interval of its own; `worse` is corrected for all slices, and for the named metrics
            or the six to show first.

        Raises:
            UnknownName: no sample has the column.
            UsageError: the column has too many values.
        """
        if column not in self.record.slices:
            slices = slices_of(self.records(), self._measures(), column, self.record)
            key = chooser(self.record)
            sign = -1 if key and self.estimates[key].better == "lower" else 1

            def rank(part: Slice) -> float:
                value = part.estimates[key].value if key in part.estimates else None
                return inf if value is None else sign * value

            self.record.slices[column] = tuple(sorted(slices, key=rank))
        return self.record.slices[column]

    def _measures(self) -> Sequence[Measure]:
        return registered_metrics(self.record) if self._metrics is None else self._metrics

    def sections(self) -> tuple[Section, ...]:
        """The tables below the estimates in reports: of lost claims, slices, and functions of `report_section`."""
        if self._losses is None:
            self._losses = loss_section(self.record, self.records()) or ()
        return (
            *([self._losses] if self._losses else []),
            *(slice_section(self.record, column) for column in self.record.slices),
            *sections_of(self),
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole run as one document of schema "ragauge.run/1"; see docs/output.md."""
        return run_document(self.record, self.records(), self.sections())

    def to_pandas(self) -> pandas.DataFrame:
        """One row per sample: id, query, response, metadata, and a column per metric; NaN if there is no value.

        The rows have the labels of the pandas frame that was evaluated, so that `frame.join` finds them.
        Raises MissingExtra if pandas is not installed.
        """
        from ragauge.report.files import run_frame

        frame = run_frame(self.record, self.records())
        return frame if self.index is None else frame.set_axis(self.index[: len(frame)])

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

    def emit(self, provider: LoggerProvider | str | None = None) -> int:
        """Emit each score to OpenTelemetry as an event `gen_ai.evaluation.result`; see docs/ci.md.

        Args:
            provider: the logger provider; the address of a receiver of OTLP over HTTP, such as a collector's
                http://localhost:4318, which needs no other package; None: the provider of the process.

        Returns:
            The number of events.

        Raises:
            MissingExtra: OpenTelemetry is not installed.
            UsageError: no provider is set, or the receiver cannot be reached or refuses events.
        """
        from ragauge.report.otlp import emit_events, send_events

        if isinstance(provider, str):
            return send_events(self.record, self.records(), provider)
        return emit_events(self.record, self.records(), provider)

    def hold_to(self, bounds: Bounds | Sequence[Gate], min_measured: float = 0.0) -> None:
        """Set the gates of the run, replacing earlier ones; reports show which hold.

        Args:
            bounds: metric, by its key, spec or itself -> the lowest acceptable value, or the highest if lower is
                better; or gates. A key such as "faithfulness@domain=finance" is of a slice, see `by`.
            min_measured: the share of its samples, from 0 to 1, that each gate must have scores of.

        Raises:
            UnknownName: a metric was not measured, or no sample has the column of a slice.
            BadParameter: a bound is not a number or off the metric's scale, or a gate fails on the better side.
        """
        self.record.gates = self._gates(bounds, min_measured)
        self.keep()

    def _gates(self, bounds: Bounds | Sequence[Gate], min_measured: float) -> tuple[Gate, ...]:
        """Gates with these bounds, and the slices that they are on."""
        if isinstance(bounds, Mapping):
            named = {key_of(name, self._measures()): bound for name, bound in bounds.items()}
            bounds = gates_of(named, self.estimates)
        gates = gates_of(bounds, self.estimates, min_measured)
        for column in dict.fromkeys(gate.column for gate in gates if gate.column):
            self.by(column)
        return gates

    def keep(self) -> None:
        """Store what was added to the run since it ended, such as slices, so that it is there when it is opened."""
        self._store.finish(self.record)

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.record.samples} samples, {len(self.estimates)} estimates, {self.record.status}>"

    def __str__(self) -> str:
        return plain_text(run_view(self.record, self.sections()), 100)

    def _repr_markdown_(self) -> str:
        return run_markdown(self.record, self.records(), self.sections())
