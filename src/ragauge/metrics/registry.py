"""The registry of metrics, and the syntax of the specs that name them.

faithfulness                                   a metric
rouge(types=rouge1+rougeL,stemmer=true)        with parameters; lists are joined by +
composite(faithfulness=0.4,rouge.rougeL=0.6)   a weighted mean of values
pooled(faithfulness)                           over the data set
pass_all(4,tool_calls.success)                 over the groups of the data set
trust(correctness=em)                          a family: several metrics that share parameters
max_words(100)                                 parameters in their order
criterion("It is polite, and short",1-5)       texts with , ( ) + = or spaces in quotation marks
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.host import installed, load_only, source_of
from ragauge.metrics import agents, checks, claims, retrieval, rubrics, trust
from ragauge.metrics.base import (
    Composite,
    DatasetMetric,
    Measure,
    Metric,
    over_data,
    pass_all,
    pooled,
    spec_of,
    split_at,
    unquoted,
    weighted_mean,
)
from ragauge.needs.base import Need, NothingToCount
from ragauge.needs.checks import aligned
from ragauge.scores import RunRecord
from ragauge.text.citations import citations_in
from ragauge.types import Sample

_MODULES = (claims, retrieval, rubrics, trust, checks, agents)
_BY_NAME = {
    metric.name: metric for module in _MODULES for metric in vars(module).values() if isinstance(metric, Metric)
}

#: Metrics that are measured by default, if the data have the fields that they read.
METRICS = tuple(sorted((metric for metric in _BY_NAME.values() if metric.default), key=lambda metric: metric.default))

#: Metrics that are measured when named, each with one value for the whole data set.
OVER_DATA = tuple(metric for metric in _BY_NAME.values() if metric.over == "data")

#: Metrics that are measured when named, and some of them if the data call for it; see `default_metrics`.
ON_REQUEST = tuple(metric for metric in _BY_NAME.values() if not metric.default and metric.over == "samples")

#: The group of entry points by which installed packages offer metrics of their own: name -> a `Metric`.
ENTRY_POINTS = "ragauge.metrics"

#: All metrics of the package.
CATALOGUE = (*METRICS, *ON_REQUEST, *OVER_DATA)

#: The variants that are measured by default where samples have a source.
OF_SUMMARIES = tuple(
    metric.renamed(metric.spec) for metric in (claims.faithfulness(against="source"), claims.claim_recall(of="source"))
)

#: Alias -> the name of the metric.
ALIASES = {alias: metric.name for metric in _BY_NAME.values() for alias in metric.aliases}

#: Metrics that are requested together and share parameters; "" stands for the one that `correctness` selects.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "trust": (
        "answered_ratio",
        *(metric.name for metric in OVER_DATA if metric.name.startswith(("reject", "answerable", "macro"))),
        "",
        *("answered_correctness", "calibrated_answered", "calibrated_answerable", "calibrated_f1", "parametric"),
        *("citation_recall", "citation_precision", "regular_citation_f1"),
        *("answered_citation_recall", "answered_citation_precision", "answered_citation_f1"),
        "trust_score",
    )
}

#: All names that the package itself defines.
_OWN = (*_BY_NAME, *ALIASES, *FAMILIES, "composite", "pooled", "pass_all")

#: The weights of `composite` without parameters, from the documentation of RAG Evals.
PRESET = {"faithfulness": 0.4, "chunk_precision": 0.3, "relevance_rubric.overall": 0.3}

#: Names that a metric has elsewhere -> its name here.
_ELSEWHERE = {
    other_name: name
    for name, other_names in {
        "faithfulness": "groundedness grounding hallucinations summarization",
        "answer_relevance": "answer_relevancy response_relevancy relevance",
        "correctness": "accuracy factuality factual_correctness answer_accuracy",
        "criterion": "g_eval geval aspect_critic rubric rubrics llm_judge coherence politeness tone style",
        "similarity": "embedding cosine semantic_similarity",
        "matches": "regex",
        "max_words": "length",
    }.items()
    for other_name in other_names.split()
}

#: What is suggested for a name that resembles no other.
_FALLBACKS = ("faithfulness", "correctness", "context_recall")


def default_metrics(samples: Sequence[Sample]) -> tuple[Measure, ...]:
    """The metrics measured by default, and more where there are citations, gold claims, a source, calls or ids."""
    more: list[Measure] = []
    if any(sample.source and sample.response is not None for sample in samples):
        more += OF_SUMMARIES
    if any(map(_retrieves_relevant, samples)):
        more += [retrieval.retrieval_precision, retrieval.retrieval_recall, retrieval.mrr, retrieval.ndcg]
    if any(map(_cites, samples)):
        more += [claims.citation_recall, claims.citation_precision]
    if any(sample.calls for sample in samples):
        more += [agents.failed_calls, agents.repeated_calls]
    if any(sample.reference_tool_calls is not None for sample in samples):
        more += [agents.tool_calls]
    if any(sample.answer_weights for sample in samples):
        more += [claims.nugget_recall]
    if any(sample.criteria for sample in samples):
        more += [rubrics.criteria]
    if any(sample.answers for sample in samples):
        more += [claims.claim_match, trust.refusal]
    return (*METRICS, *more)


def _cites(sample: Sample) -> bool:
    return sample.contexts is not None and any(citations_in(sample.response or "", sample.contexts))


def _retrieves_relevant(sample: Sample) -> bool:
    try:
        _, _, positions = aligned(sample)
    except NothingToCount:
        return False
    return any(position is not None for position in positions)


def metric_named(name: str) -> Metric:
    """The metric called `name`, of ragauge or of an installed package. Raises UnknownName or BadParameter."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in ALIASES:
        return replace(_BY_NAME[ALIASES[name]], name=name)
    return installed_metric(name)


def installed_metric(name: str) -> Metric:
    """The metric that an installed package offers as `name`. Raises UnknownName, or BadParameter if it is unusable."""
    points = [point for point in installed(ENTRY_POINTS) if point.name == name]
    if not points:
        names = [*_OWN, *installed_names()]
        raise UnknownName("metric", name, names, _suggestions(name, names), "`ragauge metrics` lists all")
    where = source_of(points[0])
    if name in _OWN:
        raise BadParameter(f"metric {name!r}, {where}, is not used, as ragauge has one of that name; rename it")
    metric = load_only(points, f"metric {name!r}")
    if not isinstance(metric, Metric):
        raise BadParameter(f"metric {name!r}, {where}, is not a metric; decorate its function with @ragauge.metric")
    return replace(metric, name=name)


def installed_names() -> list[str]:
    """The names of the metrics that installed packages offer."""
    return list(dict.fromkeys(point.name for point in installed(ENTRY_POINTS)))


def _suggestions(name: str, names: Sequence[str]) -> list[str]:
    """The metrics that have an unknown name elsewhere, or its words in their names or summaries, best first."""
    words = {word for word in re.split(r"[\W_]+", name.casefold()) if len(word) > 2}
    elsewhere = [_ELSEWHERE[other_name] for other_name in get_close_matches(name.casefold(), _ELSEWHERE, cutoff=0.8)]
    named = [known_name for known_name in _BY_NAME if words & set(re.split(r"[\W_]+", known_name))]
    summarised = [metric.name for metric in CATALOGUE if words & set(re.findall(r"\w+", metric.summary.casefold()))]
    related = [*elsewhere, *named, *summarised]
    return related if related or get_close_matches(name, names) else [*_FALLBACKS]


def parse_metric(spec: str) -> Measure:
    """The metric that a spec names. Raises UnknownName, or BadParameter, as for a family."""
    measures = parse_metrics(spec)
    if len(measures) > 1:
        names = ", ".join(measure.key for measure in measures)
        raise BadParameter(f"{spec} is a family of metrics; give one of {names}")
    return measures[0]


def composite(weights: Mapping[str, float]) -> Composite:
    """A weighted mean of metric values such as "rouge.rougeL" or "rouge(stemmer=true).rougeL".

    Without weights it is the composite of the RAG Evals documentation. Where a part is undefined or failed, so is the
    whole.

    Raises BadParameter for weights that are not positive and finite, a value given twice, a metric over the data set,
    or a mixture of metrics that are better high and better low.
    """
    if not all(weight > 0 for weight in weights.values()) or not 0 < sum(weights.values()) < math.inf:
        raise BadParameter("composite needs at least one metric, every weight greater than 0, and a finite sum")
    parts = tuple((*value_of(name), float(weight)) for name, weight in weights.items())
    metrics, keys, part_weights = zip(*parts, strict=True)
    if len(set(keys)) < len(parts):
        raise BadParameter(f"composite gives a value twice: {', '.join(keys)}")
    if len({metric.better for metric in metrics}) > 1:
        raise BadParameter("the parts of a composite must all be better high, or all better low")
    arguments = ",".join(f"{key}={spec_of(weight)}" for _, key, weight in parts)
    needs = tuple({need.name: need for metric in metrics for need in metric.needs}.values())
    lows, highs = zip(*(metric.scale for metric in metrics), strict=True)
    scale = (weighted_mean(lows, part_weights), weighted_mean(highs, part_weights))
    return Composite("composite", f"composite({arguments})", parts, needs, metrics[0].better, scale)


def parse_metrics(spec: str) -> list[Measure]:
    """The metrics that a spec names: one, or those of a family. Raises UnknownName or BadParameter."""
    match = re.fullmatch(r"\s*([\w@]+)\s*(?:\((.*)\))?\s*", spec, re.DOTALL)
    if match is None:
        fix = "write it as name or name(parameter=value,...)"
        if ":" in spec:
            fix += "; a function of your own is itself given to `evaluate`, and by its file to `ragauge run`"
        raise BadParameter(f"cannot read {spec!r} as a metric; {fix}")
    name, inside = match[1], match[2] or ""
    if name == "pooled":
        metric = parse_metric(inside)
        if not isinstance(metric, Metric):
            raise BadParameter(f"pooled({inside}): only a metric over samples can be pooled")
        return [pooled(metric)]
    values, arguments = _arguments(inside, spec)
    if name == "pass_all":
        return [_pass_all(values, arguments, spec)]
    if name not in {"composite", *FAMILIES}:
        return [_measure(metric_named(name)(*values, **arguments))]
    if values:
        raise BadParameter(f"{spec!r}: {values[0]!r} is not of the form parameter=value")
    if name == "composite":
        weights = {key: _number(value, spec) for key, value in arguments.items()}
        return [composite(weights or PRESET)]
    return _family(name, arguments)


def _pass_all(values: Sequence[str], arguments: Mapping[str, str], spec: str) -> DatasetMetric:
    """The chance that all trials of a task pass, from the parameters `k` and `metric`, which may go without names."""
    parameters = {**dict(zip(("k", "metric"), values, strict=False)), **arguments}
    k, value = parameters.pop("k", "4"), parameters.pop("metric", "outcome")
    if parameters or len(values) > 2 or not k.isdecimal() or int(k) < 1:
        raise BadParameter(
            f"{spec!r}: write it as pass_all(4) or pass_all(4,tool_calls.success), for 4 trials of a task"
        )
    return pass_all(*value_of(value), int(k))


def with_arguments(metric: Metric, inside: str, spec: str) -> Measure:
    """A metric with parameters, as in its spec.

    Args:
        metric: the metric without them.
        inside: what the spec has in parentheses, such as "100" or "types=rouge1+rougeL".
        spec: the whole spec, for errors.

    Raises:
        BadParameter: the parameters cannot be read, or one is unknown, invalid or missing.
    """
    values, arguments = _arguments(inside, spec)
    return _measure(metric(*values, **arguments))


def _measure(metric: Measure) -> Measure:
    """The metric, ready to be measured. Raises BadParameter if a required parameter is missing."""
    if isinstance(metric, Metric):
        return over_data(metric.complete()) if metric.over == "data" else metric.complete()
    return metric


def _family(family: str, arguments: dict[str, str]) -> list[Measure]:
    """The metrics of a family, each with those of the arguments that it takes."""
    mode = arguments.get("correctness", "cm")
    names = [name or ALIASES.get(mode, "answered_correctness") for name in FAMILIES[family]]
    parameters = {parameter for name in names for parameter in metric_named(name).defaults}
    for parameter in arguments.keys() - parameters:
        raise UnknownName(f"parameter of {family}", parameter, parameters)
    if arguments.get("variant", "default") != "default":
        arguments = {"refusals": "trust_eval", **arguments}
    if mode == "em5":  # responses are lists, which are cited item by item
        arguments = {"units": "items", **arguments}
    measures = []
    for metric in map(metric_named, dict.fromkeys(names)):
        own = {key: value for key, value in arguments.items() if key in metric.defaults}
        measures.append(_measure(metric(**own)))
    return measures


def _arguments(inside: str, spec: str) -> tuple[list[str], dict[str, str]]:
    """The values that a spec gives without a name, in order, and those that it gives by name."""
    values: list[str] = []
    arguments: dict[str, str] = {}
    for argument in split_specs(inside):
        *key_parts, value = split_at(argument, "=")  # the last "=" separates them
        key, value = "=".join(key_parts).strip(), unquoted(value.strip())
        if not key_parts and arguments:
            raise BadParameter(f"{spec!r}: {argument!r} is not of the form parameter=value")
        if key in arguments:
            raise BadParameter(f"{spec!r} gives {key!r} twice")
        if key_parts:
            arguments[key] = value
        else:
            values.append(value)
    return values, arguments


def _number(text: str, spec: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadParameter(f"{spec!r}: {text!r} is not a number") from None


def split_specs(specs: str) -> list[str]:
    """Split specs at commas outside parentheses and quotation marks; empty ones are dropped."""
    return [piece.strip() for piece in split_at(specs, ",") if piece.strip()]


def select_metrics(metrics: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """The requested metrics, each once; variants of one metric are keyed by their specs.

    Raises UnknownName or BadParameter for a spec that cannot be read, two different metrics of one name, one of your
    own with a name of ragauge's, or no metric.
    """
    measures: list[Measure] = []
    for wanted in metrics if isinstance(metrics, Iterable) and not isinstance(metrics, str) else [metrics]:
        if isinstance(wanted, str):
            measures += [measure for spec in split_specs(wanted) for measure in parse_metrics(spec)]
        elif isinstance(wanted, Measure):
            measures.append(_measure(wanted))
        else:
            fix = "decorate a function of a sample with @ragauge.check" if callable(wanted) else "give a metric itself"
            raise BadParameter(f"{wanted!r} is not a metric; give a spec such as 'faithfulness', or {fix}")
    for measure in measures:
        _refuse_taken_names(measure)
    distinct: dict[tuple[str, str], Measure] = {}
    for measure in measures:
        if distinct.setdefault((measure.key, measure.spec), measure) != measure:
            raise BadParameter(f"two different metrics are called {measure.key!r}; rename one with .renamed(...)")
    if not distinct:
        raise BadParameter("no metric was requested")
    needs: dict[str, Need[Any]] = {}
    for need in (need for measure in distinct.values() for need in measure.needs):
        if _flow_of(needs.setdefault(need.name, need)) != _flow_of(need):
            raise BadParameter(f"two different needs are called {need.name!r}; give each a name of its own")
    variants = Counter(key for key, _ in distinct)
    return tuple(
        measure.renamed(spec) if variants[key] > 1 and spec != key else measure
        for (key, spec), measure in distinct.items()
    )


def registered_metrics(record: RunRecord) -> tuple[Measure, ...]:
    """The metrics of a run that the registry knows."""
    registered = []
    for spec in record.metrics:
        with suppress(UsageError):
            select_metrics(spec)
            registered.append(spec)
    return select_metrics(registered) if registered else ()


def _refuse_taken_names(measure: Measure) -> None:
    """Raise BadParameter where a metric goes by the name of another one that ragauge itself defines."""
    if not isinstance(measure, Metric):
        return
    for name in {measure.name, measure.key}.intersection(_OWN):
        metric = _BY_NAME.get(ALIASES.get(name, name))
        if metric is None or metric.function is not measure.function:
            raise BadParameter(f"ragauge has a metric called {name!r}; give yours another name")


def key_of(name: str | Measure, measures: Iterable[Measure]) -> str:
    """The key of a value that is named by its metric, or by the spec of that in any spelling.

    Args:
        name: such as "ndcg(k=1)", "rouge(stemmer=true).rougeL", or "ndcg(k=1)@domain=finance" for a slice; a name that
            is none of the specs stays as it is.
        measures: the metrics of the run.
    """
    name = spec = wanted = name if isinstance(name, str) else name.spec
    if "(" in name:
        with suppress(UsageError):
            spec = wanted = split_at(name, ")")[0] + ")"
            wanted = parse_metric(spec).spec
    key = next((measure.key for measure in measures if measure.spec == wanted), None)
    return name if key is None else key + name[len(spec) :]


def _flow_of(need: Need[Any]) -> tuple[object, ...]:
    """Identifies what a need does: its code, and the values that the code closes over."""
    cells = getattr(need.flow, "__closure__", None) or ()
    return getattr(need.flow, "__code__", need.flow), *(cell.cell_contents for cell in cells)


def value_of(name: str) -> tuple[Measure, str]:
    """The metric that a value belongs to, and the key of the value.

    Args:
        name: the metric's spec, followed by a dot and the name of a value if it has several: "faithfulness",
            "rouge(stemmer=true).rougeL".

    Returns:
        The metric, keyed by its full spec so that variants can share a run, and the key.

    Raises:
        UnknownName, BadParameter: the name cannot be read, names none of several values, or a metric over the data set.
    """
    spec = name[: name.rfind(")") + 1] or name.partition(".")[0]
    measure = parse_metric(spec)
    if isinstance(measure, DatasetMetric):
        raise BadParameter(f"{name} is a metric over the data set; name one that each sample has")
    metric = measure.renamed(measure.spec)
    key = metric.key + name[len(spec) :]
    if key not in metric.values:
        raise UnknownName(f"value of {metric.key}", name, metric.values)
    return metric, key
