"""Reviving: what can be said of a run that has not finished, because it was killed or is still under way."""

from __future__ import annotations

import msgspec

from ragauge.errors import UsageError
from ragauge.metrics.base import Measure
from ragauge.metrics.registry import select_metrics
from ragauge.run.tally import Tallies
from ragauge.scores import RunRecord
from ragauge.store import Store


def revived(store: Store, record: RunRecord) -> RunRecord:
    """The record with the estimates of the samples that were kept; metrics of one's own are not among them."""
    tallies = Tallies(catalogued(record))
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


def catalogued(record: RunRecord) -> tuple[Measure, ...]:
    """The run's metrics as the catalogue knows them."""
    known = []
    for spec in record.metrics:
        try:
            select_metrics(spec)
        except UsageError:
            continue
        known.append(spec)
    return select_metrics(known) if known else ()
