"""The form of a metric: a pure function from evidence to a result, on a sample or over a data set."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb
from numbers import Real
from typing import Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints

import msgspec

from ragauge.errors import BadParameter, MissingExtra, UnknownName
from ragauge.needs.base import EvidenceTable, Failed, Need, NeedOutcome, NotReported, Undefined, failed_by
from ragauge.scores import ROUNDING, Better, Counts, Scale, Score, Share

#: Whether a metric is a mean over samples, or one value made of the counts of the whole data set.
Over = Literal["samples", "data"]

#: What a metric's function may return for one value: counts, a plain number, or why there is none.
MetricValue = Counts | float | Undefined | Failed
#: ... and for a metric of several values, one per part.
MetricResult = MetricValue | Mapping[str, MetricValue]


@dataclass(frozen=True)
class _Named:
    """What all metrics share.

    label: the key of its scores in a run, where that is not the name.
    """

    name: str
    label: str = field(default="", kw_only=True)

    @property
    def key(self) -> str:
        """The key of its scores and estimates."""
        return self.label or self.name

    @property
    def values(self) -> tuple[str, ...]:
        """The keys of its scores."""
        return (self.key,)

    def renamed(self, name: str) -> Self:
        """The same metric under another name, for aliases and for variants in one run."""
        return replace(self, label=name)


@dataclass(frozen=True)
class Metric(_Named):
    """A metric over samples.

    Calling a metric with other parameters gives a new one: `rouge(stemmer=True)`, `max_words(100)`. A parameter called
    `name` is the key of its scores.

    Args:
        name: the name in the registry.
        function: from the evidence tables of its needs to its value.
        declared: its needs, or functions from parameters to them.
        better_of: whether higher or lower is better, or a function from parameters to that.
        scale_of: its lowest and highest value, or a function from parameters to them.
        caption_of: in about four words, what its value is a share of, or a function from parameters to that.
        parts_of: from parameters to the names of its values; none for a metric of one value.
        params: the parameters it was bound with.
        over: "data" if, by name, it is measured as one value of the whole data set.
        default, aliases: see `listed`.
    """

    function: Callable[..., MetricResult] = field(repr=False)
    declared: tuple[Need[EvidenceTable] | Callable[..., Need[EvidenceTable]], ...] = field(repr=False)
    better_of: Better | Callable[..., Better] = "higher"
    scale_of: Scale | Callable[..., Scale] = (0.0, 1.0)
    parts_of: Callable[..., Sequence[str]] = field(default=lambda: (), repr=False)
    params: Mapping[str, Any] = field(default_factory=dict)
    over: Over = "samples"
    caption_of: str | Callable[..., str] = field(default="", repr=False, kw_only=True)
    default: int = field(default=0, repr=False, compare=False, kw_only=True)
    aliases: tuple[str, ...] = field(default=(), repr=False, compare=False, kw_only=True)

    def __hash__(self) -> int:
        return hash(self.spec)

    @cached_property
    def needs(self) -> tuple[Need[EvidenceTable], ...]:
        """The needs whose evidence it counts, given its parameters."""
        return tuple(declared if isinstance(declared, Need) else self._bind(declared) for declared in self.declared)

    @cached_property
    def better(self) -> Better:
        """Whether higher or lower is better."""
        return self._bind(self.better_of) if callable(self.better_of) else self.better_of

    @cached_property
    def scale(self) -> Scale:
        """Its lowest and highest value."""
        return self._bind(self.scale_of) if callable(self.scale_of) else self.scale_of

    @cached_property
    def caption(self) -> str:
        """In about four words, what its value is a share of; may be empty."""
        return self._bind(self.caption_of) if callable(self.caption_of) else self.caption_of

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The names of its values; empty for a metric of one value."""
        return tuple(self._bind(self.parts_of))

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The keys of its scores: its own key alone, or `key.part` for each part."""
        return tuple(f"{self.key}.{part}" for part in self.parts) or (self.key,)

    @property
    def spec(self) -> str:
        """The metric as written in a spec: its name with the parameters that differ from their defaults."""
        written = [f"{key}={spec_of(value)}" for key, value in self.params.items() if value != self.defaults.get(key)]
        return f"{self.name}({','.join(written)})" if written else self.name

    @property
    def counts(self) -> type[Counts] | None:
        """The type of the counts behind its value; None for a plain number."""
        hint = get_type_hints(self.function).get("return")
        kinds = [kind for kind in get_args(hint) or (hint,) if isinstance(kind, type) and issubclass(kind, Counts)]
        return kinds[0] if kinds else None

    @property
    def summary(self) -> str:
        """The first line of its docstring, or with parameters its caption, where that depends on them."""
        if self.params and callable(self.caption_of):
            return f"{self.caption[:1].upper()}{self.caption[1:]}."
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its parameters: those of its function and of its needs."""
        of_needs = [p for factory in self._need_factories for p in inspect.signature(factory).parameters.values()]
        return {p.name: p for p in (*of_needs, *self._function_parameters)}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of its parameters; a required one has none."""
        return {name: p.default for name, p in self.parameters.items() if p.default is not p.empty}

    @property
    def described(self) -> dict[str, str]:
        """What each parameter is for: the text among its annotations, as in `Annotated[int, "the most words"]`.

        The values of which one is chosen follow it.
        """
        texts: dict[str, str] = {}
        for function in (*self._need_factories, self.function):
            for name, hint in get_type_hints(function, include_extras=True).items():
                inner = getattr(hint, "__origin__", None)
                choices = _choices(inner) if get_origin(inner) is Literal else []
                for text in getattr(hint, "__metadata__", ()):
                    if name in self.parameters and isinstance(text, str):
                        is_told = all(choice in text for choice in choices)
                        texts.setdefault(name, text if is_told else f"{text} ({', '.join(choices)})")
        return {name: texts.get(name, "") for name in self.parameters}

    @property
    def usage(self) -> list[str]:
        """Its parameters as written in a spec, with their defaults."""
        return [f"{key}={spec_of(self.defaults[key])}" if key in self.defaults else key for key in self.parameters]

    @property
    def _need_factories(self) -> list[Callable[..., Need[EvidenceTable]]]:
        return [declared for declared in self.declared if not isinstance(declared, Need)]

    @cached_property
    def _function_parameters(self) -> list[inspect.Parameter]:
        return [p for p in inspect.signature(self.function).parameters.values() if p.kind is p.KEYWORD_ONLY]

    def _bind(self, function: Callable[..., Any]) -> Any:
        """Call `function` with the metric's parameters that it accepts; a required one not yet given is ""."""
        values = {**dict.fromkeys(self.parameters, ""), **self.defaults, **self.params}
        return function(**{name: values[name] for name in inspect.signature(function).parameters if name in values})

    def __call__(self, *values: Any, **params: Any) -> Metric:
        """The same metric with other parameters. Raises BadParameter for an invalid value, UnknownName for a name."""
        hints: dict[str, Any] = {}
        for function in (*self._need_factories, self.function):
            hints |= get_type_hints(function, include_extras=True)
        if len(values) > len(self.parameters):
            takes = ", ".join(self.usage) or "no parameter"
            raise BadParameter(f"{self.name} was given {len(values)} values; it takes {takes}")
        placed = dict(zip(self.parameters, values, strict=False))
        if twice := placed.keys() & params.keys():
            raise BadParameter(f"{self.name} was given {' and '.join(map(repr, sorted(twice)))} twice")
        bound = dict(self.params)
        for key, value in (placed | params).items():
            if key not in self.parameters:
                raise UnknownName(f"parameter of {self.name}", key, self.parameters)
            hint = hints.get(key, _hint_of(value, self.defaults.get(key)))
            bound[key] = _converted(value, hint, f"{self.name}({key}=...)")
        bound = {key: value for key, value in bound.items() if key not in self.defaults or value != self.defaults[key]}
        metric = replace(self, params=bound, label=bound.get("name") or self.label)
        try:
            metric.parts, metric.needs, metric.scale  # noqa: B018  # raises for a parameter out of range here, not in the run
        except ValueError as error:
            raise BadParameter(f"{self.name}: {error}") from error
        return metric

    def complete(self) -> Metric:
        """The metric itself. Raises BadParameter where it lacks a required parameter."""
        missing = [name for name in self.parameters if name not in self.defaults and name not in self.params]
        if missing:
            raise BadParameter(f"{self.name} needs {', '.join(missing)}; write {self.name}({', '.join(self.usage)})")
        return self

    def scores(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, Score]:
        """Its scores for one sample, without evidence, from the outcomes of its needs by name."""
        return {key: self._on_scale(_score(result)) for key, result in self.results(outcomes).items()}

    def results(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, MetricValue]:
        """What its function returns for one sample, by key, or why it cannot be called."""
        ended = [outcomes[need.name] for need in self.needs]
        unusable = [outcome for outcome in ended if isinstance(outcome, Undefined | Failed)]
        if unusable:  # a failure takes precedence over nothing to count
            return dict.fromkeys(self.values, min(unusable, key=lambda outcome: isinstance(outcome, Undefined)))
        params = {p.name: self.params[p.name] for p in self._function_parameters if p.name in self.params}
        try:
            result = self.function(*ended, **params)
            by_part = result if isinstance(result, Mapping) else {"": result}
            return {key: by_part[part] for part, key in zip(self.parts or ("",), self.values, strict=True)}
        except NotReported as missing:
            return dict.fromkeys(self.values, Failed(str(missing)))
        except MissingExtra:
            raise
        except Exception as error:  # the code of a user's metric may raise anything
            return dict.fromkeys(self.values, failed_by(self.name, error))

    def _on_scale(self, score: Score) -> Score:
        """The score; failed where its value is not on the metric's scale."""
        low, high = self.scale
        if score.value is None or low <= score.value <= high:
            return score
        if low - ROUNDING <= score.value <= high + ROUNDING:
            return msgspec.structs.replace(score, value=min(max(score.value, low), high))
        off = f"{self.key} is {score.value}, which is off its scale of {low:g} to {high:g}"
        return Score(failed=f"{off}; a metric of your own may declare another, as in scale=(0, 1000)")


def _score(result: MetricValue, counts_alone: bool = False) -> Score:
    """The score of a result; `counts_alone` without its value, so that counts are kept even where they have none."""
    match result:
        case Undefined():
            return Score(undefined=result.reason, abstained=result.abstained)
        case Failed():
            return Score(failed=result.reason)
        case Real():
            return Score(value=float(result))
        case Counts():
            value = None if counts_alone else result.value
            if value is None and not counts_alone:
                return Score(undefined="nothing to count")
            return Score(value=value, counts=tuple(map(float, msgspec.structs.astuple(result))))
    return Score(failed=f"the metric returned {result!r}; return counts, a number or Undefined(reason)")


class Quoted(str):
    """A text that was written in quotation marks in a spec."""


def split_at(text: str, separator: str) -> list[str]:
    """Split a spec outside parentheses and quotation marks. Raises BadParameter where a quotation mark is left open."""
    pieces, depth, quoted, start = [], 0, False, 0
    for match in re.finditer(r'\\.|[()"]|' + re.escape(separator), text, re.DOTALL):
        token = match[0]
        quoted ^= token == '"'
        if not quoted:
            depth += (token == "(") - (token == ")")
            if token == separator and depth == 0:
                pieces.append(text[start : match.start()])
                start = match.end()
    if quoted:
        raise BadParameter(f"{text!r}: a quotation mark is not closed")
    return [*pieces, text[start:]]


def unquoted(text: str) -> str:
    """What a spec writes in quotation marks, in which a backslash precedes a mark or a backslash; else the text."""
    match = re.fullmatch(r'\s*"((?:[^"\\]|\\.)*)"\s*', text, re.DOTALL)
    return Quoted(re.sub(r'\\(["\\])', r"\1", match[1])) if match else text


def _hint_of(value: Any, default: Any) -> Any:
    """What a parameter without an annotation takes: a text is read as what the default is."""
    is_text = isinstance(value, str) and isinstance(default, bool | int | float)
    return (int | float if type(default) is int else type(default)) if is_text else Any


def _converted(value: Any, hint: Any, where: str) -> Any:
    """A parameter converted to its annotation; text such as "rouge1+rougeL" or "true" is parsed."""
    plain_hint = hint.__origin__ if get_origin(hint) is Annotated else hint
    plain = value
    if isinstance(value, str):
        is_list = get_origin(plain_hint) is tuple
        plain = str(value)
        if is_list and isinstance(value, Quoted):
            plain = [str(value)]
        elif is_list:
            plain = [str(unquoted(piece)) for piece in split_at(value, "+")] if value else []
    try:
        return msgspec.convert(plain, hint, strict=False)
    except msgspec.ValidationError as error:
        constraints = getattr(hint, "__metadata__", ())
        wanted = next(filter(None, (getattr(constraint, "description", None) for constraint in constraints)), None)
        fix = f"give {wanted}" if wanted else str(error)
        if choices := _choices(hint):
            fix = f"choose from {', '.join(choices)}"
        raise BadParameter(f"{where}: {value!r} is not valid; {fix}") from error


def _choices(hint: Any) -> list[str]:
    """The literals that an annotation allows; empty where it allows other values."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [choice for inner in get_args(hint) for choice in _choices(inner)]


def spec_of(value: Any) -> str:
    """A parameter as written in a spec."""
    if isinstance(value, tuple | list):
        return "+".join(map(spec_of, value))
    if isinstance(value, str) and not re.fullmatch(r"[^\s,()+=\"\\]+", value):
        return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
    return str(value).lower() if isinstance(value, bool) else str(value).replace("e+", "e")


def metric(
    *needs: Need[EvidenceTable] | Callable[..., Need[EvidenceTable]],
    name: str = "",
    better: Better | Callable[..., Better] = "higher",
    scale: Scale | Callable[..., Scale] = (0.0, 1.0),
    parts: Callable[..., Sequence[str]] | Sequence[str] = (),
    over: Over = "samples",
    caption: str | Callable[..., str] = "",
) -> Callable[[Callable[..., MetricResult]], Metric]:
    """Decorate a function from evidence tables to counts, a number, or `Undefined` to make it a metric.

    The metric's parameters are the keyword-only ones of the function and those of its needs, with their annotations;
    one without a default must be given. `ragauge metrics` describes them by a text among these, as in
    `words: Annotated[int, "how many are allowed"] = 50`.

    Args:
        needs: what the metric must know; the function gets their evidence tables in this order. A need may also be a
            function from parameters to a need.
        name: the name of the metric; that of the function if empty.
        better, scale: whether higher or lower is better, and its lowest and highest value; or functions from
            parameters to these.
        parts: the names of its values, for a function that returns a mapping; or a function from parameters to them.
        over: "data" if, by name, it is measured as one value of the counts of the whole data set.
        caption: in about four words, what its value is a share of: "claims contexts support", or a function from
            parameters to that. Reports show it.

    Raises:
        BadParameter: no need is given.
    """
    if not needs:
        raise BadParameter("a metric has at least one need; decorate a function of a sample with @ragauge.check")

    def declare(function: Callable[..., MetricResult]) -> Metric:
        named = parts if callable(parts) else lambda: parts
        return Metric(name or function.__name__, function, needs, better, scale, named, over=over, caption_of=caption)

    return declare


def listed(*, default: int = 0, aliases: tuple[str, ...] = ()) -> Callable[[Metric], Metric]:
    """Decorate a metric of ragauge's own that is measured by default, or that has other names.

    Args:
        default: its place among the metrics measured by default, from 1; 0 if it is measured when asked for by name.
        aliases: other names under which it can be asked for.
    """
    return lambda metric: replace(metric, default=default, aliases=aliases)


def share(flags: Iterable[bool], nothing: str) -> Share | Undefined:
    """The share of `flags` that are set; without flags undefined, with the reason `nothing`."""
    flags = list(flags)
    return Share(sum(flags), len(flags)) if flags else Undefined(nothing)


@dataclass(frozen=True)
class Composite(_Named):
    """The weighted mean of values of other metrics, on each sample. parts: metrics, keys of values, and weights."""

    spec: str
    parts: tuple[tuple[Measure, str, float], ...]
    needs: tuple[Need[EvidenceTable], ...]
    better: Better
    scale: Scale
    summary: str = "Weighted mean of named metrics."
    caption: str = "weighted mean of metrics"

    def scores(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, Score]:
        """The weighted mean; undefined or failed if a part is, which is named."""
        scored = {value: metric.scores(outcomes)[value] for metric, value, _ in self.parts}
        failed = [f"{name}: {score.failed}" for name, score in scored.items() if score.failed is not None]
        undefined = [(name, score) for name, score in scored.items() if score.undefined is not None]
        if failed:
            return {self.key: Score(failed=failed[0])}
        if undefined:
            name, score = undefined[0]
            return {self.key: Score(undefined=f"{name}: {score.undefined}", abstained=score.abstained)}
        mean = weighted_mean([score.value or 0.0 for score in scored.values()], [weight for *_, weight in self.parts])
        return {self.key: Score(value=min(max(mean, self.scale[0]), self.scale[1]))}


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean of some values."""
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


@dataclass(frozen=True)
class DatasetMetric(_Named):
    """A metric over the whole data set: one value of the summed counts of all samples.

    count: from the outcomes of a sample's needs to a score with counts. total: from the summed counts to the value.
    by_group: whether `total` is of the counts of each group, such as the trials of a task, and the value is their mean.
    """

    spec: str
    needs: tuple[Need[EvidenceTable], ...] = field(repr=False)
    count: Callable[[Mapping[str, NeedOutcome]], Score] = field(repr=False, compare=False)
    total: Callable[[Sequence[float]], float | None] = field(repr=False, compare=False)
    better: Better
    scale: Scale
    summary: str
    by_group: bool = False
    caption: str = ""

    def scores(self, outcomes: Mapping[str, NeedOutcome]) -> dict[str, Score]:
        """The sample's counts, without a value of their own."""
        return {self.key: msgspec.structs.replace(self.count(outcomes), value=None)}


#: A metric of any kind, over samples or over the data set.
Measure = Metric | Composite | DatasetMetric

#: The bound of each metric, which is named by its key or spec, or given itself.
Bounds = Mapping[str, float] | Mapping[str | Measure, float]


def over_data(metric: Metric) -> DatasetMetric:
    """A metric whose counts make a value only when added up over the data. Raises BadParameter if it has no counts."""
    counts: type[Counts] | None = metric.counts
    if counts is None or metric.parts:
        raise BadParameter(f"{metric.key} has no counts, so it cannot be pooled")
    return DatasetMetric(
        metric.name,
        metric.spec,
        metric.needs,
        lambda outcomes: _score(metric.results(outcomes)[metric.key], counts_alone=True),
        lambda sums: counts(*sums).value,
        metric.better,
        metric.scale,
        metric.summary,
        label=metric.label,
        caption=metric.caption,
    )


def pooled(metric: Metric) -> DatasetMetric:
    """A metric's formula on the counts of all samples together, the micro average: long responses weigh more.

    Raises as `over_data`.
    """
    name = f"pooled({metric.spec})"
    summary = f"{metric.key} over all samples together, each counted piece weighing the same."
    counted = replace(over_data(metric), name=name, spec=name, summary=summary, label="")
    return replace(counted, count=lambda outcomes: metric.scores(outcomes)[metric.key])


#: How near to 1 a score passes, for rewards that are computed.
_PASSES = 1 - 1e-6


def pass_all(metric: Measure, key: str, k: int) -> DatasetMetric:
    """The chance that all of k trials of a task, the samples of a group, pass; the mean over the groups.

    Of a group with c passes in n trials, C(c, k) / C(n, k), which is unbiased (pass^k; Yao et al., 2024). A trial
    passes with a score of 1 (of `outcome`, where a spec names no metric). Groups of fewer than k trials are left out.
    """
    spec = f"pass_all({k},{key})"

    def count(outcomes: Mapping[str, NeedOutcome]) -> Score:
        score = metric.scores(outcomes)[key]
        return score if score.value is None else Score(value=score.value, counts=(float(score.value >= _PASSES), 1.0))

    def of_group(sums: Sequence[float]) -> float | None:
        passes, trials = (round(number) for number in sums)
        return comb(passes, k) / comb(trials, k) if trials >= k else None

    summary = f"Chance that all of {k} trials of a task have a {key} of 1."
    caption = f"tasks passed in {k} of {k} trials"
    return DatasetMetric(
        spec, spec, metric.needs, count, of_group, "higher", (0.0, 1.0), summary, by_group=True, caption=caption
    )
