"""Composites and pooled metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.base import Composite, DatasetMetric, Metric, pooled
from ragauge.metrics.registry import METRICS, composite, parse_metric
from ragauge.questions import Question, Rate
from ragauge.types import Answer, Failure, Grade

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Sampling, Scoring, Valuing


def test_the_preset_of_rag_evals(value: Valuing, words: Answering) -> None:
    """The bare composite weighs faithfulness 0.4, chunk precision 0.3 and the overall relevance 0.3."""

    def graded_080(question: Question) -> Answer | Failure:
        return Grade(0.8) if isinstance(question, Rate) else words(question)

    got = value("composite", answering=graded_080, query="q", response="a", contexts=["q a", "x"])
    assert got == pytest.approx(0.79, rel=1e-15)


def test_weights_need_not_sum_to_one(value: Valuing) -> None:
    """A composite is a weighted mean: weights 2 and 1 are the same as 2/3 and 1/3."""
    fields = {"query": "q", "response": "a x", "contexts": ["q", "a"]}
    assert value("composite(faithfulness=2,context_relevance=1)", **fields) == pytest.approx(0.5)
    assert value("composite(faithfulness=3,claim_recall@contexts=1)", references=["a b"], **fields) == 0.5


def test_a_part_that_is_undefined_is_named(value: Valuing) -> None:
    """A composite of an undefined part is undefined and says which part and why."""
    got = value("composite(context_relevance=1,faithfulness=1)", query="q", response="", contexts=["q"])
    assert got == "undefined: faithfulness: the response makes no claim"


def test_a_part_that_failed_is_named_before_one_that_is_undefined(value: Valuing, words: Answering) -> None:
    """A failed part makes the composite failed even where another part is undefined."""

    def cannot_rate(question: Question) -> Answer | Failure:
        return Failure("judge_error", "no grade") if isinstance(question, Rate) else words(question)

    got = value("composite", answering=cannot_rate, query="q", response="", contexts=["q"])
    assert got == "failed: relevance_rubric.overall: judge_error: no grade"


def test_parts_may_be_variants(value: Valuing) -> None:
    """Parts are named by their specs, so two variants of one metric can be weighed against each other."""
    spec = "composite(rouge(stemmer=true).rouge1=1,rouge.rouge1=1)"
    assert value(spec, response="cats", references=["cat"]) == 0.5
    assert parse_metric(spec).spec == "composite(rouge(stemmer=true).rouge1=1.0,rouge.rouge1=1.0)"


def test_a_composite_may_hold_a_composite(value: Valuing) -> None:
    """A composite is a metric over samples like any other, and can be a part."""
    spec = "composite(composite(exact_match=1,token_f1=3)=1,exact_match=1)"
    assert value(spec, response="a b c d", references=["b c x y"]) == pytest.approx((3 * (4 / 7) / 4 + 0) / 2)
    assert parse_metric(parse_metric(spec).spec).spec == parse_metric(spec).spec


def test_the_scale_of_a_composite_is_that_of_its_parts() -> None:
    """A metric from 1 to 5 and one from 0 to 1 at equal weights give a scale from 0.5 to 3."""
    assert parse_metric("composite(summary_coherence=1,faithfulness=1)").scale == (0.5, 3.0)
    assert parse_metric("composite(hallucination=1,noise_sensitivity.relevant=1)").better == "lower"


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ({}, BadParameter, "at least one metric"),
        ({"faithfulness": 0.0}, BadParameter, "greater than 0"),
        ({"faithfulness": -1.0}, BadParameter, "greater than 0"),
        ({"faithfulness": float("nan")}, BadParameter, "greater than 0"),
        ({"faithfulness": float("inf")}, BadParameter, "a finite sum"),
        ({"faithfulness": 1e308, "context_recall": 1e308}, BadParameter, "a finite sum"),
        ({"faithfulness": 1.0, "hallucination": 1.0}, BadParameter, "all be better high"),
        ({"pooled(faithfulness)": 1.0}, BadParameter, "over the data set"),
        ({"rouge(stemmer=false).rouge1": 1.0, "rouge.rouge1": 1.0}, BadParameter, "twice"),
        ({"rouge": 1.0}, UnknownName, "rouge.rouge1"),
        ({"rouge.rouge8": 1.0}, UnknownName, "unknown value of rouge"),
        ({"faithfulness.x": 1.0}, UnknownName, "did you mean 'faithfulness'"),
        ({"faithfullness": 1.0}, UnknownName, "did you mean 'faithfulness'"),
    ],
)
def test_what_no_composite_can_be_made_of(weights: dict[str, float], error: type[Exception], message: str) -> None:
    """Weights and parts that give no weighted mean on a sample are refused with a reason, before any run."""
    with pytest.raises(error, match=message):
        composite(weights)


@pytest.mark.parametrize("metric", [one for one in METRICS if one.counts and not one.parts], ids=lambda one: one.key)
def test_pooling_applies_the_formula_to_the_sums(
    drive: type[Drive], sample: Sampling, words: Answering, metric: Metric
) -> None:
    """A pooled metric is the metric's own formula on counts added over samples; samples without counts add nothing."""
    responses = ["a b q *biased", "a *x +toxic", "", "p"]
    samples = [
        sample(id=str(i), query="p q", response=response, contexts=["a q", "!b"][: i + 1], references=["a p", "b c"])
        for i, response in enumerate(responses)
    ]
    whole = pooled(metric)
    done = drive(samples, [metric, whole], words)
    counted = [scores[whole.key].counts for scores in done.scores if scores[whole.key].undefined is None]
    assert counted == [scores[metric.key].counts for scores in done.scores if scores[metric.key].value is not None]
    sums = [sum(column) for column in zip(*counted, strict=True)]
    assert metric.counts is not None
    assert whole.total(sums) == metric.counts(*sums).value
    if len(sums) == 2:
        assert whole.total(sums) == sums[0] / sums[1]
    assert all(scores[whole.key].value is None for scores in done.scores)


def test_a_pooled_metric_keeps_failures_and_reasons(scores: Scoring, sample: Sampling) -> None:
    """A sample that is undefined or failed says so in the pooled metric too, and counts nothing."""
    score = scores(sample(response="", contexts=["a"]), "pooled(faithfulness)")["pooled(faithfulness)"]
    assert (score.undefined, score.counts) == ("the response makes no claim", ())
    failing = scores(sample(response="a", contexts=["a"]), "pooled(faithfulness)", lambda q: Failure("judge_error"))
    assert failing["pooled(faithfulness)"].failed == "judge_error"


def test_a_pooled_bias_counts_responses_without_opinions(
    drive: type[Drive], sample: Sampling, words: Answering
) -> None:
    """A response without opinions adds nothing to a pooled bias, and a data set without any has a bias of 0."""
    whole = parse_metric("pooled(bias)")
    assert isinstance(whole, DatasetMetric)
    done = drive([sample(response="*biased *b"), sample(response="c")], [whole], words)
    assert [score["pooled(bias)"].counts for score in done.scores] == [(1, 2), (0, 0)]
    assert whole.total([0, 0]) == 0.0


@pytest.mark.parametrize("spec", ["rouge", "bleu", "context_precision", "noise_sensitivity", "summary_coherence"])
def test_what_is_not_made_of_counts_cannot_be_pooled(spec: str) -> None:
    """A metric that is not one formula of counts is refused by name."""
    with pytest.raises(BadParameter, match=f"{spec} has no counts"):
        parse_metric(f"pooled({spec})")


def test_only_metrics_over_samples_are_pooled() -> None:
    """A composite or a pooled metric cannot be pooled."""
    for inner in ("composite", "pooled(faithfulness)"):
        with pytest.raises(BadParameter, match="only a metric over samples"):
            parse_metric(f"pooled({inner})")


def test_combined_metrics_can_be_renamed() -> None:
    """A composite and a pooled metric score under the name they are given."""
    assert parse_metric("composite").renamed("mine").values == ("mine",)
    assert parse_metric("pooled(faithfulness)").renamed("mine").values == ("mine",)
    assert isinstance(parse_metric("composite"), Composite)
