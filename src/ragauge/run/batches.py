"""Batches of samples, scored wherever they are: Arrow in, Arrow out, for engines that send work to other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ragauge.errors import RunFailed
from ragauge.judges.base import JudgeLike, JudgeRouter
from ragauge.metrics.base import DatasetMetric
from ragauge.metrics.registry import select_metrics
from ragauge.readers import read
from ragauge.readers.formats import pyarrow_for
from ragauge.report.files import claims, claims_schema
from ragauge.report.wording import by_reason
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget
from ragauge.run.prepare import LabelsLike, MetricsLike, RunRequest, RunSettings, labels_by_question
from ragauge.run.scoring import SampleScoring
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking
from ragauge.scores import SampleRecord
from ragauge.store import Place, Store, is_url
from ragauge.store.store import MemoryStore
from ragauge.types import Sample

if TYPE_CHECKING:
    import pyarrow

Batch = TypeVar("Batch", "pyarrow.RecordBatch", "pyarrow.Table")


class BatchScorer:
    """Scores a batch of samples at a time: rows in, rows out.

        score = rg.BatchScorer("faithfulness,rouge", judge="embedded", store="postgresql://writer@db/evals")
        scores = score(pyarrow.RecordBatch.from_pylist(rows))

    It can be pickled, as engines such as Ray Data, Spark and Dask do; each process loads the judge and opens the store
    once, with its first batch. The scores of a sample are those of `evaluate`. See docs/scale.md.

    Args:
        metrics: as for `evaluate`, but not None, so that all batches are measured alike. A sample that lacks a field
            has undefined scores.
        judge: as for `evaluate`; a spec, rather than a judge, can always be pickled.
        store: a file, folder or URL that every process reaches. None: judgments live as long as their batch.
        labels, map, group: as for `evaluate`. Columns are recognised by the first rows of each batch; `map` makes that
            certain.

    Raises:
        UsageError: a metric is unknown, or labels cannot be read. Judge and store are checked by the first call.
    """

    def __init__(
        self,
        metrics: MetricsLike,
        judge: JudgeLike = "embedded",
        store: Store | Place | None = None,
        *,
        labels: LabelsLike = None,
        map: Mapping[str, str] | None = None,
        group: str | None = None,
    ) -> None:
        self._metrics, self._judge = metrics or (), judge
        place = store.place if isinstance(store, Store) else store
        self._place = place if place is None or is_url(place) else Path(str(place)).absolute()  # workers run elsewhere
        self._labels = labels_by_question(labels)
        self._map = RunRequest(map=map, group=group).columns
        self.by_name = True
        select_metrics(self._metrics)

    def __getstate__(self) -> dict[str, Any]:
        made_here = ("router", "settings", "store", "schema")
        return {name: value for name, value in vars(self).items() if name not in made_here}

    @cached_property
    def router(self) -> JudgeRouter:
        """The judges of this process."""
        return load_judges(self._judge, store=self._place)

    @cached_property
    def settings(self) -> RunSettings:
        """The metrics, without those that the judges turn out to be unable to answer."""
        return RunSettings(self._metrics, self.router, by_name=self.by_name)

    @cached_property
    def store(self) -> Store | None:
        """The open store; None if there is none."""
        return None if self._place is None else Store.open(self._place, wait=True)

    @cached_property
    def schema(self) -> pyarrow.Schema:
        """The columns of the result, which are the same for all batches.

        `id`; a column for each value of a metric, null if undefined or failed; `counts` by metric; `remarks`, the
        reasons of missing values; `evidence`, the judged pieces with the columns of `.claims.parquet`.
        """
        arrow = pyarrow_for("scoring batches")
        metrics = [metric for metric in select_metrics(self._metrics) if not isinstance(metric, DatasetMetric)]
        return arrow.schema(
            [
                ("id", arrow.string()),
                *((key, arrow.float64()) for metric in metrics for key in metric.values),
                ("counts", arrow.map_(arrow.string(), arrow.list_(arrow.float64()))),
                ("remarks", arrow.string()),
                ("evidence", arrow.list_(arrow.struct(list(claims_schema().remove(0))))),
            ]
        )

    def __call__(self, batch: Batch) -> Batch:
        """The scores of a batch of samples, one row per sample in their order.

        Args:
            batch: a record batch or a table, with the columns of any data that `evaluate` reads.

        Returns:
            A record batch or table with the columns of `schema`.

        Raises:
            UsageError, StoreError: as `evaluate`.
            RunFailed: the judge cannot answer any more.
        """
        arrow = pyarrow_for("scoring batches")
        rows = batch if isinstance(batch, arrow.Table) else arrow.Table.from_batches([batch])
        records, stopped, _ = self.score(list(read(rows, map=self._map))) if rows.num_rows else ([], "", None)
        if stopped:
            raise RunFailed(stopped)
        table = self.arrow(records)
        return arrow.Table.from_batches([table]) if isinstance(batch, arrow.Table) else table

    async def score_async(
        self, samples: Iterable[Sample], budget: Budget | None = None
    ) -> tuple[list[SampleRecord], str, Dispatcher]:
        """The records of samples before the first that cannot be scored, why that cannot be, and what was asked."""
        store = MemoryStore() if self.store is None else self.store
        dispatcher = Dispatcher(self.router, store, budget or Budget(), self._labels)
        scoring = SampleScoring(self.settings, dispatcher)
        async with dispatcher.opened(), aclosing(scoring.records(samples)) as scored:
            records = [record async for record in scored]
        return records, scoring.stopped, dispatcher

    score = blocking(score_async, "score", shared=True)

    def arrow(self, records: Sequence[SampleRecord]) -> pyarrow.RecordBatch:
        """The records of samples as a batch with the columns of `schema`."""
        return pyarrow_for("scoring batches").RecordBatch.from_pylist([_row(record) for record in records], self.schema)


def _row(record: SampleRecord) -> dict[str, Any]:
    scores = {**record.scores, **record.counted}
    missing = {key: reason for key, score in scores.items() if (reason := score.undefined or score.failed)}
    return {
        "id": record.sample.id,
        **{key: score.value for key, score in record.scores.items()},
        "counts": [(key, score.counts) for key, score in scores.items() if score.counts],
        "remarks": "; ".join(by_reason(missing)),
        "evidence": list(claims([record])),
    }
