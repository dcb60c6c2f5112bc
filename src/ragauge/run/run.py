"""A run: what was measured, as the store keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ragauge.errors import UsageError
from ragauge.report.document import run_document
from ragauge.report.explaining import explain
from ragauge.report.files import save
from ragauge.report.markdown import run_markdown
from ragauge.report.notebook import run_html
from ragauge.report.terminal import run_text
from ragauge.run.reviving import revived
from ragauge.scores import Estimate, Gate, RunRecord, SampleRecord, Score, gates_of
from ragauge.store import Store
from ragauge.types import Sample

if TYPE_CHECKING:
    import pandas
    from opentelemetry._logs import LoggerProvider


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
        return cls(opened, revived(opened, record) if record.status == "running" else record)

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
        from ragauge.report.frame import run_frame

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
