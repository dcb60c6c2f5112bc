"""Metrics made of metrics: a weighted mean on each sample, and pooled values over the data set."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.metric import Measure, Metric, One, written
from ragauge.needs.base import EvidenceTable, Failed, Need, NeedOutcome, Undefined
from ragauge.scores import Better, Counts, Scale, Score


@dataclass(frozen=True)
class Part:
    """One value of a metric with its weight in a composite."""

    metric: Measure
    value: str
    weight: float


@dataclass(frozen=True)
class Composite:
    """The weighted mean of values of other metrics, on each sample."""

    parts: tuple[Part, ...]
    label: str = ""
    summary: str = "Weighted mean of named metrics."

    @property
    def key(self) -> str:
        """What its scores and estimates are keyed by."""
        return self.label or "composite"

    @property
    def spec(self) -> str:
        """The metric as it is written."""
        return f"composite({','.join(f'{part.value}={written(part.weight)}' for part in self.parts)})"

    @property
    def better(self) -> Better:
        """Whether higher or lower is better."""
        return self.parts[0].metric.better

    @property
    def scale(self) -> Scale:
        """Its lowest and highest value."""
        return self._mean([part.metric.scale[0] for part in self.parts]), self._mean(
            [part.metric.scale[1] for part in self.parts]
        )

    @property
    def needs(self) -> tuple[Need[EvidenceTable], ...]:
        """What it must know of a sample."""
        return tuple({need.name: need for part in self.parts for need in part.metric.needs}.values())

    @property
    def values(self) -> tuple[str, ...]:
        """The keys of its scores."""
        return (self.key,)

    def renamed(self, name: str) -> Composite:
        """The same metric under another name."""
        return replace(self, label=name)

    def _mean(self, values: Sequence[float]) -> float:
        weights = [part.weight for part in self.parts]
        return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)

    def scores(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, Score]:
        """The weighted mean; a part that is undefined or failed makes the whole so, and is named."""
        scored = {part.value: part.metric.scores(outcomes)[part.value] for part in self.parts}
        for name, score in scored.items():
            if score.failed is not None:
                return {self.key: Score(failed=f"{name}: {score.failed}")}
        for name, score in scored.items():
            if score.undefined is not None:
                return {self.key: Score(undefined=f"{name}: {score.undefined}")}
        values = [score.value for score in scored.values() if score.value is not None]
        low, high = self.scale
        return {self.key: Score(value=min(max(self._mean(values), low), high))}


def composite(weights: Mapping[str, float], find: Callable[[str], Measure]) -> Composite:
    """A weighted mean of metrics; `weights` maps a value ("rouge.rougeL", "rouge(stemmer=true).rougeL") to its weight.

    `find` gives a metric by its spec. Raises BadParameter for weights that are not positive and finite, for a value
    named twice, for a part over the data set, and for parts of which some are better high and some better low.
    """
    if not all(weight > 0 for weight in weights.values()) or not 0 < sum(weights.values()) < math.inf:
        raise BadParameter("composite needs at least one metric, every weight greater than 0, and a finite sum")
    parts = tuple(_part(value, float(weight), find) for value, weight in weights.items())
    if len({part.value for part in parts}) < len(parts):
        raise BadParameter(f"composite names a value twice: {', '.join(part.value for part in parts)}")
    if len({part.metric.better for part in parts}) > 1:
        raise BadParameter("the parts of a composite must all be better high, or all better low")
    return Composite(parts)


def _part(value: str, weight: float, find: Callable[[str], Measure]) -> Part:
    return Part(*value_named(value, find), weight)


def value_named(value: str, find: Callable[[str], Measure]) -> tuple[Measure, str]:
    """The metric, keyed by its full spec, and the key of its value: what `catalogue.value_of` documents."""
    spec = value[: value.rfind(")") + 1] or value.partition(".")[0]
    found = find(spec)
    if isinstance(found, DatasetMetric):
        raise BadParameter(f"{value} is a metric over the data set; name one that each sample has")
    metric = found.renamed(found.spec)
    key = metric.key + value[len(spec) :]
    if key not in metric.values:
        raise UnknownName(f"value of {metric.key}", value, metric.values)
    return metric, key


@dataclass(frozen=True)
class DatasetMetric:
    """A metric over the whole data set: the counts of all samples, added up, make one value.

    count: from the outcomes of a sample's needs to a score with counts. total: from the sums of the counts over the
    samples to the value, None where they leave nothing to count. written: its spec, where that is not the name.
    """

    name: str
    needs: tuple[Need[EvidenceTable], ...] = field(repr=False)
    count: Callable[[Mapping[str, NeedOutcome]], Score] = field(repr=False, compare=False)
    total: Callable[[Sequence[float]], float | None] = field(repr=False, compare=False)
    better: Better = "higher"
    scale: Scale = (0.0, 1.0)
    summary: str = ""
    label: str = ""
    written: str = ""

    @property
    def key(self) -> str:
        """What its scores and estimates are keyed by."""
        return self.label or self.name

    @property
    def spec(self) -> str:
        """The metric as it is written."""
        return self.written or self.name

    @property
    def values(self) -> tuple[str, ...]:
        """The keys of its scores."""
        return (self.key,)

    def renamed(self, name: str) -> DatasetMetric:
        """The same metric under another name."""
        return replace(self, label=name)

    def scores(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, Score]:
        """The sample's counts, without a value of their own."""
        score = self.count(outcomes)
        return {self.key: Score(undefined=score.undefined, failed=score.failed, counts=score.counts)}


def pooled(metric: Metric) -> DatasetMetric:
    """A metric's formula on the counts of all samples together (the micro mean), so that long responses weigh more.

    Raises BadParameter for a metric that is not made of counts.
    """
    return replace(
        over_data(metric),
        name=f"pooled({metric.spec})",
        count=lambda outcomes: metric.scores(outcomes)[metric.key],
        summary=f"{metric.key} over all samples together, each counted piece weighing the same.",
        label="",
        written="",
    )


def over_data(metric: Metric) -> DatasetMetric:
    """A metric whose counts make a value only when added up over the data set, such as the F1 of refusals.

    Raises BadParameter for a metric that is not made of counts.
    """
    counts: type[Counts] | None = metric.counts
    if counts is None or metric.parts:
        raise BadParameter(f"{metric.key} is not made of counts, so it cannot be pooled")
    return DatasetMetric(
        metric.name,
        metric.needs,
        lambda outcomes: _counted(metric.results(outcomes)[metric.key]),
        lambda sums: counts(*sums).value,
        metric.better,
        metric.scale,
        metric.summary,
        metric.label,
        metric.spec,
    )


def _counted(one: One) -> Score:
    """A sample's counts, which count even where they make no value by themselves."""
    if isinstance(one, Undefined):
        return Score(undefined=one.reason)
    if isinstance(one, Failed):
        return Score(failed=one.reason)
    assert not isinstance(one, float)
    return Score(counts=tuple(map(float, one.numbers)))
