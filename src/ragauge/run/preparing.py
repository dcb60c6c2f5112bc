"""Preparing: what the caller gave, settled before any judge is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from ragauge.errors import BadData
from ragauge.questions import Judgment, Question
from ragauge.readers import SampleReader, read
from ragauge.run.asking import Asker
from ragauge.run.budget import Budget, check_priced
from ragauge.run.keeping import Keeper
from ragauge.run.settings import MetricsLike, Settings
from ragauge.run.specs import JudgeLike, bench_of
from ragauge.store import Store, read_labels
from ragauge.types import Sample

#: How many samples are looked at, before any judge is asked, to see which fields the data has.
PEEK = 1000

StoreLike = Store | str | Path | None
LabelsLike = str | Path | Iterable[Judgment] | None


class Prepared(NamedTuple):
    """A run that can begin."""

    reading: SampleReader
    samples: Iterator[Sample]
    settings: Settings
    asker: Asker
    store: Store


def prepared(
    data: Any,
    metrics: MetricsLike,
    judge: JudgeLike,
    store: StoreLike,
    labels: LabelsLike,
    map: Mapping[str, str] | None,
    group: str | None,
    limit: int | None,
    skip_bad_rows: bool,
    max_cost: float | None = None,
) -> Prepared:
    """Read the first samples and settle metrics, judges and store; `evaluate` documents the arguments and errors."""
    columns = {**(map or {}), **({"group": group} if group else {})}
    reading = read(data, map=columns or None, skip_bad_rows=skip_bad_rows, limit=limit)
    samples = iter(reading)
    first = list(islice(samples, PEEK))
    if not first:
        raise BadData(f"{reading.name} holds no sample" + _skipped(reading))
    bench = bench_of(judge)
    check_priced(bench.unique(), max_cost)
    settings = Settings(metrics, bench, first, reading.columns)
    opened = opened_store(store)
    asker = Asker(bench, Keeper(bench, opened, _by_question(labels)), Budget(max_cost))
    return Prepared(reading, chain(first, samples), settings, asker, opened)


def _skipped(reading: SampleReader) -> str:
    if not reading.bad_rows:
        return ""
    return f"; all {len(reading.bad_rows)} rows were skipped, the first because: {reading.bad_rows[0]}"


def opened_store(store: StoreLike) -> Store:
    """An open store; None is one that does not outlive its Run."""
    if isinstance(store, Store):
        return store
    return Store.temporary() if store is None else Store.open(store)


def _by_question(labels: LabelsLike) -> dict[Question, Judgment]:
    """People's labels by question; of several for one question the last counts."""
    given = read_labels(Path(labels)) if isinstance(labels, str | Path) else labels or ()
    return {judgment.question: judgment for judgment in given}
