"""The catalogue of metrics, and the grammar in which they are named.

faithfulness                                   a metric
rouge(types=rouge1+rougeL,stemmer=true)        with parameters; lists are joined by +
composite(faithfulness=0.4,rouge.rougeL=0.6)   a weighted mean of values
pooled(faithfulness)                           over the data set
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics import checker, correctness, grounding, opinions, overlap, relevance, retrieval
from ragauge.metrics.combined import Composite, composite, pooled
from ragauge.metrics.metric import Measure, Metric

METRICS: tuple[Metric, ...] = (
    grounding.faithfulness,
    grounding.hallucination,
    correctness.answer_correctness,
    relevance.answer_relevance,
    retrieval.context_precision,
    retrieval.context_recall,
    retrieval.context_relevance,
    grounding.context_coverage,
    correctness.claim_recall,
    correctness.claim_precision,
    correctness.claim_f1,
    retrieval.claim_recall_at_contexts,
    retrieval.context_precision_at_claims,
    checker.context_utilization,
    checker.noise_sensitivity,
    checker.self_knowledge,
    checker.claim_hallucination,
    relevance.relevance_rubric,
    relevance.chunk_utility,
    relevance.summary_coherence,
    opinions.bias,
    opinions.toxicity,
    overlap.rouge,
    overlap.bleu,
    overlap.chrf,
    overlap.exact_match,
    overlap.token_f1,
)

#: Other names of the same metrics.
ALIASES = {"chunk_precision": "context_relevance"}

_BY_NAME = {one.name: one for one in METRICS}

#: The composite of the RAG Evals documentation.
PRESET = {"faithfulness": 0.4, "chunk_precision": 0.3, "relevance_rubric.overall": 0.3}


def named(name: str) -> Metric:
    """The metric called `name`. Raises UnknownName with close matches."""
    if name in ALIASES:
        return replace(_BY_NAME[ALIASES[name]], name=name)
    if name not in _BY_NAME:
        raise UnknownName("metric", name, [*_BY_NAME, *ALIASES, "composite", "pooled"])
    return _BY_NAME[name]


def parsed(spec: str) -> Measure:
    """The metric that `spec` writes. Raises UnknownName or BadParameter."""
    match = re.fullmatch(r"\s*([\w@]+)\s*(?:\((.*)\))?\s*", spec, re.DOTALL)
    if match is None:
        raise BadParameter(f"cannot read {spec!r} as a metric; write name or name(parameter=value,...)")
    name, inside = match[1], match[2]
    if name == "pooled":
        return _pooled(inside or "")
    arguments = _arguments(inside or "", spec)
    if name == "composite":
        return composite({key: _number(value, spec) for key, value in arguments.items()} or PRESET, parsed)
    return named(name)(**arguments)


def _pooled(inside: str) -> Measure:
    metric = parsed(inside)
    if not isinstance(metric, Metric):
        raise BadParameter(f"pooled({inside}): only a metric over samples can be pooled")
    return pooled(metric)


def _arguments(inside: str, spec: str) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for pair in split(inside):
        key, equals, value = map(str.strip, pair.rpartition("="))
        if not equals:
            raise BadParameter(f"{spec!r}: {pair!r} is not of the form parameter=value")
        if key in arguments:
            raise BadParameter(f"{spec!r} gives {key!r} twice")
        arguments[key] = value
    return arguments


def _number(text: str, spec: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadParameter(f"{spec!r}: {text!r} is not a number") from None


def split(specs: str) -> list[str]:
    """Split at the commas that stand outside brackets; empty pieces are left out."""
    pieces, depth, start = [], 0, 0
    for i, character in enumerate(specs):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            pieces.append(specs[start:i])
            start = i + 1
    return [piece.strip() for piece in [*pieces, specs[start:]] if piece.strip()]


def chosen(metrics: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Metrics as they are asked for: specs, in one text or several, or metrics themselves; repetitions fall away.

    Where one run holds several variants of a metric, those with parameters are keyed by their full spec.
    """
    listed = [metrics] if isinstance(metrics, str | Measure) else list(metrics)
    measures: list[Measure] = []
    for one in listed:
        measures.extend(map(parsed, split(one)) if isinstance(one, str) else [_measure(one)])
    by_name: dict[tuple[str, str], Measure] = {}
    for measure in measures:
        if by_name.setdefault((measure.key, measure.spec), measure) != measure:
            raise BadParameter(f"two different metrics are called {measure.key!r}; rename one with .renamed(...)")
    unique = list(by_name.values())
    if not unique:
        raise BadParameter("no metric was asked for")
    shared = Counter(measure.key for measure in unique)
    return tuple(_told_apart(measure) if shared[measure.key] > 1 else measure for measure in unique)


def _measure(one: object) -> Measure:
    if not isinstance(one, Measure):
        raise BadParameter(f"{one!r} is not a metric; give a spec such as 'faithfulness', or a metric itself")
    return one


def _told_apart(measure: Measure) -> Measure:
    return measure if measure.spec == measure.key else measure.renamed(measure.spec)


__all__ = ["ALIASES", "METRICS", "Composite", "chosen", "named", "parsed"]
