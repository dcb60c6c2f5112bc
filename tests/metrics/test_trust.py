"""Trust-Eval's metrics as a family: their arithmetic over the data, their parameters, and bad input."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.labelled import FLAG, NO, doc, row

from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.base import DatasetMetric
from ragauge.metrics.registry import (
    ALIASES,
    FAMILIES,
    METRICS,
    OVER_DATA,
    default_metrics,
    parse_metric,
    select_metrics,
)
from ragauge.metrics.trust import MeanCitations, MeanF1, MeanRecall, RefusalConfusion, Trust, trust_eval_block
from ragauge.statistics.intervals import aggregate_interval
from ragauge.types import Sample

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Scoring

#: Answered and answerable, half of it right; answered from memory; refused rightly; refused wrongly.
FOUR = [
    row("k x [1].", (doc("k", 1, 0), doc("c", 0, 1)), (("k",), ("c",))),
    row("b [1].", (doc("z", 0),), (("b",),)),
    row(NO, (doc("z", 0),), (("b",),)),
    row(NO, (doc("d", 1),), (("d",),)),
]


def over(samples: list[Sample], spec: str, drive: type[Drive], words: Answering) -> float | None:
    """The value of a metric over the data set."""
    metric = parse_metric(spec)
    assert isinstance(metric, DatasetMetric)
    scored = [scores[metric.key] for scores in drive(samples, [metric], words).scores]
    counted = [score.counts for score in scored if score.counts]
    return metric.total([sum(column) for column in zip(*counted, strict=True)]) if counted else None


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ("reject_recall", 1 / 2),
        ("reject_precision", 1 / 2),
        ("reject_f1", 1 / 2),
        ("answerable_recall", 1 / 2),
        ("answerable_precision", 1 / 2),
        ("answerable_f1", 1 / 2),
        ("macro_avg", 1 / 2),
        ("macro_f1", 1 / 2),
        ("answered_correctness(correctness=em)", 3 / 4),
        ("calibrated_answered(correctness=em)", 1 / 4),
        ("calibrated_answerable(correctness=em)", 1 / 4),
        ("calibrated_f1(correctness=em)", 1 / 4),
        ("parametric(correctness=em)", 1 / 2),
        ("reject_f1(refusals=trust_eval)", 0.0),
        ("reject_precision(refusals=trust_eval)", None),
    ],
)
def test_values_over_the_data(spec: str, value: float | None, drive: type[Drive], words: Answering) -> None:
    """Each counts what its definition says on four samples, one of each kind."""
    assert over(FOUR, spec, drive, words) == (value if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    ("spec", "value", "in_trust_eval"),
    [
        ("answerable_recall", 1 / 2, 1),
        ("answerable_precision", 1 / 2, 1 / 2),
        ("answerable_f1", 1 / 2, 2 / 3),
        ("reject_recall", 0, 0),
        ("reject_precision", None, None),
        ("macro_avg", 1 / 4, 1 / 2),
    ],
)
def test_an_empty_response_is_no_answer(
    spec: str, value: float, in_trust_eval: float, drive: type[Drive], words: Answering
) -> None:
    """It is no refusal either, whether there is an answer or not; Trust-Eval takes it for an answer."""
    samples = [*FOUR[:2], row(" ", (doc("k", 1),), (("k",),)), row("", (doc("z", 0),), (("b",),))]
    assert over(samples, spec, drive, words) == value
    assert over(samples, f"{spec}(refusals=trust_eval)", drive, words) == in_trust_eval
    scores = drive(samples, [parse_metric("answered_ratio")], words).scores
    assert [of_sample["answered_ratio"].value for of_sample in scores] == [1, 1, 0, 0]


def test_the_trust_score_is_the_mean_of_its_parts(drive: type[Drive], words: Answering) -> None:
    """It is made of macro F1, calibrated F1 and the citation F1 of answers, each as it is by itself."""
    parts = [over(FOUR, spec, drive, words) for spec in ("macro_f1", "calibrated_f1", "answered_citation_f1")]
    assert over(FOUR, "trust_score", drive, words) == pytest.approx(sum(part or 0.0 for part in parts) / 3)


def test_one_sort_of_samples_has_values_too(drive: type[Drive], words: Answering) -> None:
    """Where every sample is answerable, a recall of refusals has nothing to count, and macro F1 is at most one half."""
    answered = [FOUR[0], FOUR[0]]
    assert over(answered, "reject_recall", drive, words) is None
    assert over(answered, "macro_avg", drive, words) is None
    assert over(answered, "macro_f1", drive, words) == 0.5


def test_the_trust_score_has_an_interval(drive: type[Drive], words: Answering) -> None:
    """The counts of the samples make an interval around the value."""
    metric = parse_metric("trust_score")
    assert isinstance(metric, DatasetMetric)
    counts = [scores["trust_score"].counts for scores in drive(FOUR * 5, [metric], words).scores]
    found = aggregate_interval(counts, metric.total, resamples=200)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < found.value < found.high <= 1


def test_the_whole_family_takes_the_style() -> None:
    """A style given to the family goes to each of its metrics that reads citations."""
    needs = {
        need.name for metric in select_metrics("trust(correctness=em5,style=parentheses)") for need in metric.needs
    }
    assert "claims_in_response(em5,default,parentheses)" in needs
    assert not any("brackets" in name for name in needs)


def test_the_family_hands_its_parameters_to_its_members() -> None:
    """Each member gets those parameters that it has; lists are cited item by item; a variant brings its refusals."""
    keys = {measure.key: measure.spec for measure in select_metrics("trust(correctness=em5,variant=trust_eval)")}
    assert keys["reject_f1"] == "reject_f1(refusals=trust_eval)"
    assert "units=items" in keys["citation_recall"]
    assert "correctness=em5" in keys["trust_score"]
    assert "list_match" in keys
    assert len(select_metrics("trust,reject_f1")) == len(FAMILIES["trust"])


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("trust(correctnes=em)", UnknownName, "did you mean 'correctness'"),
        ("trust(correctness=exact)", BadParameter, "cm"),
        ("composite(trust=1)", BadParameter, "trust is a family"),
        ("composite(reject_f1=1)", BadParameter, "over the data set"),
        ("citation_recall(variant=ours)", BadParameter, "default"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec: str, error: type[Exception], message: str) -> None:
    """Unknown parameters and values are named, and a family is no part of a composite."""
    with pytest.raises(error, match=message):
        select_metrics(spec)


def test_refusals_are_spelt_in_three_ways() -> None:
    """reject, refuse and refusal name the same metrics, in short and in full, and specs read as they are written."""
    for word in ("reject", "refuse", "refusal"):
        for end in ("rec", "recall", "prec", "precision", "f1"):
            assert parse_metric(f"{word}_{end}").spec == f"{word}_{end}"
    for metric in (*(one.name for one in OVER_DATA), *ALIASES):
        assert parse_metric(parse_metric(metric).spec) == parse_metric(metric)


def test_the_usual_metrics_follow_the_data() -> None:
    """Citations and gold claims are measured by default where the data has them, and nowhere else."""
    plain = Sample("1", response="a", contexts=())
    assert default_metrics([plain]) == METRICS
    cited = [one.key for one in default_metrics([plain, Sample("2", response="a [1].", contexts=())])[len(METRICS) :]]
    assert cited == ["citation_recall", "citation_precision"]
    assert [one.key for one in default_metrics(FOUR[1:2])[len(METRICS) :]][2:] == ["claim_match", "refusal"]
    assert default_metrics([Sample("1", response="a [1].")]) == METRICS


@pytest.mark.parametrize(
    ("sample", "spec", "reason"),
    [
        (
            row("a", None, (("a",),)),
            "reject_f1",
            "has no contexts, so whether they hold an answer is unknown",
        ),
        (row("a", (doc("a"),), None), "reject_f1", "neither an 'answerable' label nor a gold claim"),
        (row("a", (doc("a"),), (("a",),)), "reject_f1(labels=given)", "labels=asked lets the judge decide"),
        (row("a", (doc("a", 1, 0),), (("a",),)), "reject_f1", r"of document 1 is \[1, 0\], not 0 or 1 for each of 1"),
        (row("a", (doc("a", 7),), (("a",),)), "reject_f1", r"of document 1 is \[7\]"),
        (row("a", (doc("a"),), ()), "calibrated_f1", "no gold claim"),
        (row("a", (doc("a"),), ((),)), "calibrated_f1", "a gold claim in 'answers' has no wording"),
        (row("a", (doc("a"),), None), "answered_correctness", "the sample has no answers"),
        (row(NO, (doc("a", 1),), (("a",),)), "answered_correctness", "the response is a refusal"),
        (row(NO, (doc("a", 1),), (("a",),)), "regular_citation_f1", "no sentence that needs a citation"),
    ],
)
def test_bad_input_has_a_stated_outcome(
    sample: Sample, spec: str, reason: str, scores: Scoring, words: Answering
) -> None:
    """What cannot be counted is undefined, with the reason, and is never left out unseen."""
    (score,) = scores(sample, spec, words).values()
    assert (score.value, score.failed, score.counts) == (None, None, ())
    assert score.undefined is not None
    assert re.search(reason, score.undefined)


CITED = st.lists(st.sampled_from(["b", "c.", "[1]", "[9].", NO, "F", FLAG, ",", "\n"]), max_size=6).map(" ".join)
SAMPLES = st.builds(
    Sample,
    id=st.just("1"),
    query=st.none() | st.just("b"),
    response=st.none() | CITED,
    contexts=st.none() | st.lists(st.builds(doc, st.sampled_from(["b c", "!b", ""])), max_size=3).map(tuple),
    answers=st.none() | st.lists(st.sampled_from([("b",), ("c", "b"), ()]), max_size=3).map(tuple),
    answerable=st.none() | st.booleans(),
)


@given(
    sample=SAMPLES,
    correctness=st.sampled_from(["cm", "em", "em5"]),
    variant=st.sampled_from(["default", "trust_eval", "alce"]),
    labels=st.sampled_from(["asked", "given"]),
    seed=st.integers(0, 1000),
)
def test_every_member_has_a_value_counts_or_a_reason(
    sample: Sample, correctness: str, variant: str, labels: str, seed: int, scores: Scoring, chance: Any
) -> None:
    """Whatever the sample and the verdicts, each score is a value on its scale, counts of no sign, or one reason."""
    spec = f"trust(correctness={correctness},variant={variant},labels={labels})"
    for measure in select_metrics(spec):
        for score in scores(sample, measure, chance(seed)).values():
            reported = bool(score.counts) if isinstance(measure, DatasetMetric) else score.value is not None
            assert reported == (score.undefined is None)
            assert score.value is None or 0 <= score.value <= 1
            assert all(count >= 0 for count in score.counts)
            assert score.failed is None


COUNTS = st.lists(st.integers(0, 20).map(float), min_size=6, max_size=6)


@given(counts=COUNTS)
def test_means_of_refusals_are_fractions(counts: list[float]) -> None:
    """Whatever the counts, the means lie from 0 to 1, and F1 is never above the larger of recall and precision."""
    f1, recall = MeanF1(*counts).value, MeanRecall(*counts).value
    assert f1 is not None
    assert 0 <= f1 <= 1
    assert recall is None or 0 <= recall <= 1
    assert msgspec.structs.astuple(RefusalConfusion(*counts)) == tuple(counts)


def test_counts_that_contradict_each_other_have_no_value() -> None:
    """More recall than samples, or more citations than answers, is no possible sample for an interval."""
    assert MeanCitations(1, 2, 0).value is None
    assert MeanCitations(0, 0, 0).value is None
    assert Trust(1, 0, 0, 0, 0, 0, 2, 0, 0, 0).value is None
    assert Trust(1, 0, 0, 0, 0, 0, 1, 2, 1, 1).value is None
    assert Trust(1, 0, 0, 1, 0, 0, 1, 1, 1, 1).value == 1.0


def test_a_block_of_nothing_is_refused() -> None:
    """Trust-Eval's shares need a sample."""
    with pytest.raises(BadParameter, match="no sample"):
        trust_eval_block([])
