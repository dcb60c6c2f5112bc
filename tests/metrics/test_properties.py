"""What holds of every metric on any sample and any verdicts."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ragauge.metrics.base import DatasetMetric, Metric
from ragauge.metrics.registry import METRICS, metric_named, parse_metric, select_metrics
from ragauge.questions import Decompose, Question
from ragauge.types import Answer, Chunk, Decomposition, Failure, Sample

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Scoring

words_ = st.sampled_from(["a", "b", "c", "d&e", "*f", "+g", "~h", "*biased", "*toxic", "!a"])
texts = st.lists(words_, max_size=5).map(" ".join)
some_texts = st.lists(texts, max_size=3).map(tuple)
seeds = st.integers(0, 10**6)

samples = st.builds(
    Sample,
    id=st.just("1"),
    query=st.none() | texts,
    response=st.none() | texts,
    contexts=st.none() | some_texts.map(lambda many: tuple(Chunk(text, str(i)) for i, text in enumerate(many, 1))),
    references=st.none() | some_texts,
    source=st.none() | texts,
)
full_samples = st.builds(
    Sample,
    id=st.just("1"),
    query=texts,
    response=texts,
    contexts=some_texts.map(lambda many: tuple(Chunk(text, str(i)) for i, text in enumerate(many, 1))),
    references=some_texts,
    source=texts,
)
subsets = st.lists(st.sampled_from(METRICS), min_size=1, max_size=6, unique_by=lambda one: one.name)


@given(sample=samples, seed=seeds)
def test_every_score_is_a_value_in_range_or_a_reason(
    scores: Scoring, chance: Callable[[int], Answering], sample: Sample, seed: int
) -> None:
    """Each value of each metric is on the metric's scale, or there is exactly one reason why there is none."""
    got = scores(sample, METRICS, chance(seed))
    assert set(got) == {value for metric in METRICS for value in metric.values}
    for metric in METRICS:
        for value in metric.values:
            score = got[value]
            assert [score.value, score.undefined, score.failed].count(None) == 2
            if score.value is not None:
                assert metric.scale[0] <= score.value <= metric.scale[1]


@given(sample=full_samples, seed=seeds)
def test_counts_give_the_value(scores: Scoring, chance: Callable[[int], Answering], sample: Sample, seed: int) -> None:
    """Where a score has counts they are whole, not negative, and the metric's formula makes the value of them."""
    for key, score in scores(sample, METRICS, chance(seed)).items():
        if not score.counts:
            continue
        assert all(count >= 0 and count == int(count) for count in score.counts)
        kind = metric_named(key).counts if "." not in key else None
        if kind is not None:
            assert kind(*score.counts).value == score.value


@given(some=st.lists(samples, min_size=1, max_size=3), seed=seeds)
def test_no_question_is_asked_twice_and_rounds_are_few(
    drive: type[Drive], chance: Callable[[int], Answering], some: list[Sample], seed: int
) -> None:
    """The whole catalogue on some samples asks each question once, and a sample takes at most three rounds."""
    done = drive(some, METRICS, chance(seed))
    assert len(set(done.questions)) == len(done.questions)
    assert len(drive(some[:1], METRICS, chance(seed)).rounds) <= 3


@given(sample=samples, subset=subsets, seed=seeds)
def test_a_score_does_not_depend_on_the_other_metrics(
    scores: Scoring, chance: Callable[[int], Answering], sample: Sample, subset: list[Metric], seed: int
) -> None:
    """Any selection of metrics in any order gives the scores, bit for bit, that the whole catalogue gives."""
    judge = chance(seed)
    everything = scores(sample, METRICS, judge)
    some = scores(sample, subset, judge)
    assert some == {key: everything[key] for key in some}


@given(sample=samples, subset=subsets, seed=seeds)
def test_metrics_ask_only_what_they_declare(
    drive: type[Drive], chance: Callable[[int], Answering], sample: Sample, subset: list[Metric], seed: int
) -> None:
    """Every question that is put belongs to a topic that some need of the metrics asked for declares."""
    measures = select_metrics(subset)
    declared = {one for measure in measures for need in measure.needs for one in need.asks}
    kinds = declared | {one.partition(":")[0] for one in declared if one.startswith("entail")}
    assert {question.topic for question in drive([sample], measures, chance(seed)).questions} <= kinds


@given(sample=full_samples, seed=seeds, order=st.randoms(use_true_random=False))
def test_the_order_of_statements_does_not_matter(
    scores: Scoring, chance: Callable[[int], Answering], sample: Sample, seed: int, order: Random
) -> None:
    """If the judge lists the statements of every text in another order, every score stays the same."""
    judge = chance(seed)

    def shuffled(question: Question) -> Answer | Failure:
        answer = judge(question)
        if isinstance(question, Decompose) and isinstance(answer, Decomposition):
            return Decomposition(tuple(order.sample(answer.statements, len(answer.statements))))
        return answer

    assert scores(sample, METRICS, shuffled) == scores(sample, METRICS, judge)


@given(sample=full_samples, extra=texts, position=st.integers(0, 3))
def test_a_supporting_chunk_never_lowers_support(scores: Scoring, sample: Sample, extra: str, position: int) -> None:
    """Adding a chunk that contradicts nothing never lowers faithfulness, context recall or claim recall."""
    contexts = list(sample.contexts or ())
    contexts.insert(position, Chunk(extra.replace("!", ""), "new"))
    more = Sample(sample.id, sample.query, sample.response, tuple(contexts), sample.references)
    metrics = ["faithfulness", "context_recall", "claim_recall@contexts"]
    before, after = scores(sample, metrics), scores(more, metrics)
    for name in metrics:
        assert before[name].undefined == after[name].undefined
        assert (after[name].value or 0) >= (before[name].value or 0)


@given(sample=full_samples, seed=seeds)
def test_claims_are_faithful_known_or_hallucinated(
    scores: Scoring, chance: Callable[[int], Answering], sample: Sample, seed: int
) -> None:
    """Every claim is entailed by the contexts, or else correct without them, or else hallucinated."""
    got = scores(sample, ["faithfulness", "self_knowledge", "claim_hallucination"], chance(seed))
    shares = [score.counts for score in got.values() if score.value is not None]
    if len(shares) == 3:
        assert sum(hits for hits, _ in shares) == shares[0][1]
        assert {total for _, total in shares} == {shares[0][1]}
    else:
        assert got["self_knowledge"].undefined
        assert got["claim_hallucination"].undefined


@given(sample=full_samples, seed=seeds)
def test_the_sides_of_noise_share_no_claim(
    scores: Scoring, chance: Callable[[int], Answering], sample: Sample, seed: int
) -> None:
    """The two sides of noise sensitivity share no claim: together they are at most the claims of the response."""
    got = scores(sample, "noise_sensitivity", chance(seed))
    relevant, irrelevant = (got[f"noise_sensitivity.{part}"].counts for part in ("relevant", "irrelevant"))
    if relevant:
        assert relevant[1] == irrelevant[1]
        assert relevant[0] + irrelevant[0] <= relevant[1]


@given(some=st.lists(full_samples, min_size=1, max_size=4), seed=seeds)
def test_a_pooled_share_is_the_share_of_the_sums(
    drive: type[Drive], chance: Callable[[int], Answering], some: list[Sample], seed: int
) -> None:
    """Pooled faithfulness is all supported claims over all claims, whatever the samples."""
    pooled = parse_metric("pooled(faithfulness)")
    assert isinstance(pooled, DatasetMetric)
    done = drive(some, [pooled], chance(seed))
    counts = [one["pooled(faithfulness)"].counts for one in done.scores if one["pooled(faithfulness)"].counts]
    hits, total = sum(hits for hits, _ in counts), sum(total for _, total in counts)
    assert pooled.total((hits, total)) == (hits / total if total else None)


@given(sample=full_samples, seed=seeds)
def test_equal_texts_share_their_decomposition(
    drive: type[Drive], chance: Callable[[int], Answering], sample: Sample, seed: int
) -> None:
    """A response equal to a reference is taken apart once for both."""
    one = Sample("1", sample.query, sample.response, sample.contexts, (sample.response or "",))
    asked = [q for q in drive([one], METRICS, chance(seed)).questions if isinstance(q, Decompose)]
    assert len(asked) == bool((sample.response or "").strip())


@given(sample=samples)
def test_a_judge_that_always_fails_gives_no_number(scores: Scoring, sample: Sample) -> None:
    """If nothing is answered, whatever depends on a judge is undefined or failed with the judge's reason."""
    got = scores(sample, METRICS, lambda question: Failure("judge_error", "down"))
    asking = [metric for metric in METRICS if any(need.asks for need in metric.needs)]
    for metric in asking:
        for value in metric.values:
            score = got[value]
            assert (
                score.undefined
                or (score.failed or "").startswith("judge_error: down")
                or _nothing_to_ask(sample, value)
            )


def _nothing_to_ask(sample: Sample, value: str) -> bool:
    """A response that is blank has no statements, so some metrics know their value without a judge."""
    return not (sample.response or "").strip() and value in ("bias", "toxicity", "hallucination", "correctness")
