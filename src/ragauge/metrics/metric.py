"""The form of a metric: a pure function from findings to a result, with its needs, direction, scale and parameters."""

from __future__ import annotations

import inspect
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

#: What a metric's function may return for one value: counts, a plain number, or the reason there is none.
One = Counts | float | Undefined | Failed
#: ... and for a metric of several values, one for each name.
Result = One | Mapping[str, One]


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
    a metric of one. params: the parameters it was bound with.
    Calling a metric with other parameters gives a new one: `rouge(stemmer=True)`.
    """

    name: str
    function: Callable[..., Result] = field(repr=False)
    declared: tuple[Need[EvidenceTable] | Callable[..., Need[EvidenceTable]], ...] = field(repr=False)
    better: Better = "higher"
    scale: Scale = (0.0, 1.0)
    parts_of: Callable[..., Sequence[str]] = field(default=lambda: (), repr=False)
    params: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

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
        given = [f"{key}={written(value)}" for key, value in self.params.items() if value != self.defaults[key]]
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


def written(value: Any) -> str:
    """A parameter as it is written in a spec."""
    if isinstance(value, tuple | list):
        return "+".join(map(written, value))
    return str(value).lower() if isinstance(value, bool) else str(value).replace("e+", "e")


def metric(
    *needs: Need[EvidenceTable] | Callable[..., Need[EvidenceTable]],
    name: str = "",
    better: Better = "higher",
    scale: Scale = (0.0, 1.0),
    parts: Callable[..., Sequence[str]] | Sequence[str] = (),
) -> Callable[[Callable[..., Result]], Metric]:
    """Make a metric of a function from the findings of `needs`, in their order, to a result.

    A need may also be a function from parameters to a need. The metric's parameters are those, and the keyword-only
    ones of its function; all must have defaults and annotations. `parts` names the values of a metric that
    returns a mapping, or is a function from the parameters to those names.
    """

    def declare(function: Callable[..., Result]) -> Metric:
        named = parts if callable(parts) else lambda: parts
        return Metric(name or function.__name__, function, needs, better, scale, named)

    return declare


def share(flags: Iterable[bool], nothing: str) -> Share | Undefined:
    """How many of `flags` are set; `nothing` is the reason given where there are none."""
    flags = list(flags)
    return Share(sum(flags), len(flags)) if flags else Undefined(nothing)
