"""The tally: what a run remembers of its scores while samples stream by, enough to estimate from."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.scores import Estimate, SampleRecord, ScoreRecord
from ragauge.statistics.aggregates import aggregate_interval
from ragauge.statistics.intervals import Interval, mean_interval


@dataclass
class Tally:
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


class Tallies:
    """The tallies of all metrics of a run. empty: how many responses are empty."""

    def __init__(self, metrics: Iterable[Measure]) -> None:
        self.empty = 0
        self._by_key = {key: Tally(metric) for metric in metrics for key in metric.values}

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
