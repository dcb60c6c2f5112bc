"""The form of a metric: a pure function from evidence to a result, on a sample or over a data set."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol, get_args, get_origin, get_type_hints, runtime_checkable

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.needs.base import EvidenceTable, Failed, Need, NeedOutcome, Undefined
from ragauge.needs.evidence import NotReported
from ragauge.scores import Better, Counts, Scale, Score, Share

#: How far rounding may carry a value beyond its scale.
ROUNDING = 1e-9

#: Whether a metric is a mean over samples, or one value made of the counts of the whole data set.
Over = Literal["samples", "data"]

#: What a metric's function may return for one value: counts, a plain number, or the reason there is none.
One = Counts | float | Undefined | Failed
#: ... and for a metric of several values, one for each name.
MetricResult = One | Mapping[str, One]


@runtime_checkable
class Measure(Protocol):
    """What a run asks of every metric, whether over samples or over the data set."""

    @property
    def key(self) -> str:
        """What its scores and estimates are keyed by."""

    @property
    def summary(self) -> str:
        """One line on what it is."""

    @property
    def better(self) -> Better:
        """Whether higher or lower is better."""

    @property
    def scale(self) -> Scale:
        """Its lowest and highest value."""

    @property
    def needs(self) -> tuple[Need[EvidenceTable], ...]:
        """What it must know of a sample."""

    @property
    def values(self) -> tuple[str, ...]:
        """The keys of its scores."""

    @property
    def spec(self) -> str:
        """The metric as it is written."""

    def renamed(self, name: str) -> Measure:
        """The same metric under another name."""

    def scores(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, Score]:
        """Its scores of one sample, from the outcomes of its needs by name."""


@dataclass(frozen=True)
class Metric:
    """A metric over samples.

    name: as the catalogue has it. label: what its scores are keyed by in a run, where that is not the name.
    better: whether higher or lower is better. scale: its lowest and highest value. parts: names of its values, () for
    a metric of one. params: the parameters it was bound with. over: "samples", whose scores have a mean, or "data":
    by name it is measured as one value of the whole data set.
    Calling a metric with other parameters gives a new one: `rouge(stemmer=True)`.
    """

    name: str
    function: Callable[..., MetricResult] = field(repr=False)
    declared: tuple[Need[EvidenceTable] | Callable[..., Need[EvidenceTable]], ...] = field(repr=False)
    better: Better = "higher"
    scale: Scale = (0.0, 1.0)
    parts_of: Callable[..., Sequence[str]] = field(default=lambda: (), repr=False)
    params: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    over: Over = "samples"

    @property
    def key(self) -> str:
        """What its scores and estimates are keyed by."""
        return self.label or self.name

    @cached_property
    def needs(self) -> tuple[Need[EvidenceTable], ...]:
        """What it must know of a sample, given its parameters."""
        return tuple(one if isinstance(one, Need) else self._bind(one) for one in self.declared)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The names of its values, () for a metric of one."""
        return tuple(self._bind(self.parts_of))

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The keys of its scores: its own key alone, or `key.part` for each part."""
        return tuple(f"{self.key}.{part}" for part in self.parts) or (self.key,)

    @property
    def spec(self) -> str:
        """The metric as it is written: its name with the parameters that are not the default."""
        given = [f"{key}={spec_of(value)}" for key, value in self.params.items() if value != self.defaults[key]]
        return f"{self.name}({','.join(given)})" if given else self.name

    @property
    def counts(self) -> type[Counts] | None:
        """The kind of counts its value is made of, None for a plain number."""
        hint = get_type_hints(self.function).get("return")
        kinds = [kind for kind in get_args(hint) or (hint,) if hasattr(kind, "numbers")]
        return kinds[0] if kinds else None

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Its parameters with their default values: those of its function, and those of its needs."""
        of_needs = [p for one in self._made for p in inspect.signature(one).parameters.values()]
        return {p.name: p.default for p in (*self._own, *of_needs) if p.default is not p.empty}

    @property
    def _made(self) -> list[Callable[..., Need[EvidenceTable]]]:
        """The needs that depend on parameters."""
        return [one for one in self.declared if not isinstance(one, Need)]

    @cached_property
    def _own(self) -> list[inspect.Parameter]:
        """The parameters of its function."""
        return [p for p in inspect.signature(self.function).parameters.values() if p.kind is p.KEYWORD_ONLY]

    def _bind(self, function: Callable[..., Any]) -> Any:
        """Call `function` with those of the metric's parameters that it takes."""
        known = {**self.defaults, **self.params}
        return function(**{name: known[name] for name in inspect.signature(function).parameters if name in known})

    def __call__(self, **params: Any) -> Metric:
        """The same metric with other parameters. Raises BadParameter for a wrong value, UnknownName for a new name."""
        hints: dict[str, Any] = {}
        for one in (*self._made, self.function):
            hints |= get_type_hints(one, include_extras=True)
        bound = dict(self.params)
        for key, value in params.items():
            if key not in self.defaults:
                raise UnknownName(f"parameter of {self.name}", key, self.defaults)
            bound[key] = _converted(value, hints[key], f"{self.name}({key}=...)")
        metric = replace(self, params=bound)
        try:
            metric.parts, metric.needs  # noqa: B018  # a parameter out of range shows here, not in the run
        except ValueError as error:
            raise BadParameter(f"{self.name}: {error}") from error
        return metric

    def renamed(self, name: str) -> Metric:
        """The same metric under another name, for aliases and for variants in one run."""
        return replace(self, label=name)

    def scores(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, Score]:
        """The metric's scores of one sample, without evidence, from the outcomes of its needs by name."""
        return {key: self._on_scale(_score(one)) for key, one in self.results(outcomes).items()}

    def results(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, One]:
        """What the metric's function makes of one sample, for each of its values, or why it makes nothing."""
        ended = [outcomes[need.name] for need in self.needs]
        unusable = _unusable(ended)
        if unusable is not None:
            return dict.fromkeys(self.values, unusable)
        own = {p.name: self.params[p.name] for p in self._own if p.name in self.params}
        try:
            result = self.function(*ended, **own)
        except NotReported as missing:
            return dict.fromkeys(self.values, Failed(str(missing)))
        by_part = result if isinstance(result, Mapping) else {"": result}
        names = dict(zip(self.parts or ("",), self.values, strict=True))
        return {names[part]: one for part, one in by_part.items()}

    def _on_scale(self, score: Score) -> Score:
        """The score, failed where its value is no number of the metric's scale."""
        low, high = self.scale
        if score.value is None or low <= score.value <= high:
            return score
        if low - ROUNDING <= score.value <= high + ROUNDING:
            return msgspec.structs.replace(score, value=min(max(score.value, low), high))
        return Score(failed=f"{self.key} came to {score.value}, which is off its scale of {low:g} to {high:g}")


def _unusable(outcomes: Sequence[NeedOutcome]) -> Undefined | Failed | None:
    """Why a sample has no score, where its needs did not all end well; a failure outweighs having nothing to count."""
    ended = [one for one in outcomes if isinstance(one, Undefined | Failed)]
    return next((one for one in ended if isinstance(one, Failed)), ended[0] if ended else None)


def _score(one: One) -> Score:
    if isinstance(one, Undefined):
        return Score(undefined=one.reason)
    if isinstance(one, Failed):
        return Score(failed=one.reason)
    if isinstance(one, float | int):
        return Score(value=float(one))
    if one.value is None:
        return Score(undefined="nothing to count")
    return Score(value=one.value, counts=tuple(map(float, one.numbers)))


def _converted(value: Any, hint: Any, where: str) -> Any:
    """A parameter as its annotation wants it; text such as "rouge1+rougeL" or "true" is read by the same rule."""
    bare = hint.__origin__ if get_origin(hint) is Annotated else hint
    parted = value.split("+") if isinstance(value, str) and get_origin(bare) is tuple else value
    try:
        return msgspec.convert(parted, hint, strict=False)
    except msgspec.ValidationError as error:
        choices = ", ".join(_choices(hint))
        wanted = f"choose from {choices}" if choices else str(error)
        raise BadParameter(f"{where}: {value!r} does not fit; {wanted}") from error


def _choices(hint: Any) -> list[str]:
    """The words that an annotation allows; none where it allows other things too."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [choice for inner in get_args(hint) for choice in _choices(inner)]


def spec_of(value: Any) -> str:
    """A parameter as it is written in a spec."""
    if isinstance(value, tuple | list):
        return "+".join(map(spec_of, value))
    return str(value).lower() if isinstance(value, bool) else str(value).replace("e+", "e")


def metric(
    *needs: Need[EvidenceTable] | Callable[..., Need[EvidenceTable]],
    name: str = "",
    better: Better = "higher",
    scale: Scale = (0.0, 1.0),
    parts: Callable[..., Sequence[str]] | Sequence[str] = (),
    over: Over = "samples",
) -> Callable[[Callable[..., MetricResult]], Metric]:
    """Make a metric of a function from the findings of `needs`, in their order, to a result.

    A need may also be a function from parameters to a need. The metric's parameters are those, and the keyword-only
    ones of its function; all must have defaults and annotations. `parts` names the values of a metric that
    returns a mapping, or is a function from the parameters to those names.
    """

    def declare(function: Callable[..., MetricResult]) -> Metric:
        named = parts if callable(parts) else lambda: parts
        return Metric(name or function.__name__, function, needs, better, scale, named, over=over)

    return declare


def share(flags: Iterable[bool], nothing: str) -> Share | Undefined:
    """How many of `flags` are set; `nothing` is the reason given where there are none."""
    flags = list(flags)
    return Share(sum(flags), len(flags)) if flags else Undefined(nothing)


@dataclass(frozen=True)
class WeightedMetric:
    """One value of a metric with its weight in a composite."""

    metric: Measure
    value: str
    weight: float


@dataclass(frozen=True)
class Composite:
    """The weighted mean of values of other metrics, on each sample."""

    parts: tuple[WeightedMetric, ...]
    label: str = ""
    summary: str = "Weighted mean of named metrics."

    @property
    def key(self) -> str:
        """What its scores and estimates are keyed by."""
        return self.label or "composite"

    @property
    def spec(self) -> str:
        """The metric as it is written."""
        return f"composite({','.join(f'{part.value}={spec_of(part.weight)}' for part in self.parts)})"

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


def _part(value: str, weight: float, find: Callable[[str], Measure]) -> WeightedMetric:
    return WeightedMetric(*value_named(value, find), weight)


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
