"""ragas' metrics: their names, their modes, their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.ragas_ferry import ROWS, literal

import ragauge as rg
from ragauge.compat.ragas import embedding_factory, evaluate, metrics
from ragauge.compat.ragas.metrics import (
    AnswerCorrectness,
    ChrfScore,
    FactualCorrectness,
    Faithfulness,
    NoiseSensitivity,
    RougeScore,
    answer_relevancy,
    context_precision,
    context_recall,
    context_utilization,
    faithfulness,
)


@pytest.mark.parametrize(
    ("metric", "key"),
    [
        (Faithfulness(name="mine"), "mine"),
        (NoiseSensitivity(), "noise_sensitivity(mode=relevant)"),
        (NoiseSensitivity(mode="irrelevant"), "noise_sensitivity(mode=irrelevant)"),
        (FactualCorrectness(mode="recall"), "factual_correctness(mode=recall)"),
        (RougeScore(rouge_type="rouge1"), "rouge_score(mode=fmeasure)"),
        (metrics.LLMContextPrecisionWithReference(), "llm_context_precision_with_reference"),
        (metrics.LLMContextPrecisionWithoutReference(), "llm_context_precision_without_reference"),
        (metrics.ResponseRelevancy(), "answer_relevancy"),
        (metrics.LLMContextRecall(), "context_recall"),
    ],
)
@pytest.mark.filterwarnings("ignore:answer_relevancy is not")
def test_scores_are_called_as_in_ragas(metric: metrics.Metric, key: str) -> None:
    """Scores have the metric's name, with the mode of a metric that has one."""
    assert list(evaluate(ROWS, [metric], literal()).scores[0]) == [key]


def test_every_metric_in_one_run() -> None:
    """All metrics of a judge share one run, in which nothing is asked twice."""
    judge = literal()
    everything = [
        *(faithfulness, context_precision, context_utilization, context_recall, AnswerCorrectness(weights=[1, 0])),
        *(NoiseSensitivity(), FactualCorrectness(), RougeScore(), ChrfScore()),
    ]
    result = evaluate(ROWS, everything, judge)
    assert len(set(judge.asked)) == len(judge.asked)
    assert len({run.id for run in result.runs.values()}) == 1
    assert result.scores[0] == {
        "faithfulness": 0.5,
        "context_precision": 1.0,
        "context_utilization": 1.0,
        "context_recall": 1.0,
        "answer_correctness": pytest.approx(2 / 3),
        "noise_sensitivity(mode=relevant)": 0.0,
        "factual_correctness(mode=f1)": 0.67,
        "rouge_score(mode=fmeasure)": pytest.approx(10 / 13),
        "chrf_score": pytest.approx(rg.evaluate(ROWS[:1], "chrf").estimates["chrf"].value),
    }


def test_context_precision_against_response_or_reference() -> None:
    """Context precision holds contexts against the reference, context utilization against the response."""
    row = {"user_input": "q", "retrieved_contexts": ["own", "gold"], "response": "own", "reference": "gold"}
    result = evaluate([row], [context_precision, context_utilization], literal())
    assert result.scores == [{"context_precision": 0.5, "context_utilization": 1.0}]


def test_without_contexts_context_precision_is_zero() -> None:
    """No contexts give ragas' 0, a row without the column or the reference NaN."""
    rows = [{**ROWS[0], "retrieved_contexts": []}, {**ROWS[0], "retrieved_contexts": None}, ROWS[0]]
    result = evaluate(rows, [context_precision, context_utilization], literal())
    assert result["context_precision"] == pytest.approx([0.0, math.nan, 1.0], nan_ok=True)
    assert result["context_utilization"] == pytest.approx([0.0, math.nan, 1.0], nan_ok=True)
    no_reference = evaluate([ROWS[0], {**ROWS[0], "reference": None}], [context_precision], literal())
    assert no_reference["context_precision"] == pytest.approx([1.0, math.nan], nan_ok=True)


def test_ragas_four_by_default() -> None:
    """Without metrics ragas' four are measured, and the one for which ragas has another number is named."""
    with pytest.warns(UserWarning, match="answer_relevancy is not ragas'.*cosine"):
        result = evaluate(ROWS, llm=literal())
    assert list(result.runs) == ["answer_relevancy", "context_precision", "faithfulness", "context_recall"]


@pytest.mark.parametrize("metric", [answer_relevancy, AnswerCorrectness(), AnswerCorrectness(weights=[0.5, 0.5])])
def test_other_numbers_are_warned_of(metric: metrics.Metric) -> None:
    """A metric that is not ragas' says so in its documentation, and whenever it is measured."""
    assert "ragas'" in (metric.__doc__ or "")
    with pytest.warns(UserWarning, match=f"{metric.name} is not ragas'"):
        evaluate(ROWS, [metric], literal())


def test_semantic_similarity_is_a_cosine() -> None:
    """The embeddings of LangChain's form are compared by their cosine, which a threshold makes 0 or 1."""

    class Letters:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(text.count("a")), float(text.count("b"))] for text in texts]

    row = {"response": "aab", "reference": "abb"}
    assert metrics.SemanticSimilarity(embeddings=Letters()).score(**row).value == pytest.approx(0.8)
    result = metrics.SemanticSimilarity(embeddings=Letters(), threshold=0.9).score(**row)
    assert (result.value, result.reason) == (0.0, None)
    with pytest.raises(rg.errors.UsageError, match="needs embeddings=embedding_factory"):
        metrics.SemanticSimilarity()


@pytest.mark.filterwarnings("ignore:nv_.* is not ragas'")
def test_grades_of_answers_and_contexts() -> None:
    """The metrics by NVIDIA are grades from 0 to 2 as shares, simple criteria are grades from 0 to 5."""
    judge = rg.judge_from(rate=lambda rubric, **texts: 1)
    nvidia = [metrics.AnswerAccuracy(), metrics.ContextRelevance(), metrics.ResponseGroundedness()]
    scores = evaluate(ROWS, [*nvidia, metrics.SimpleCriteriaScore("correctness", "Is it kind?")], judge).scores
    assert list(scores[0].items()) == [
        ("nv_accuracy", 0.5),
        ("nv_context_relevance", 0.5),
        ("nv_response_groundedness", 0.5),
        ("correctness", 1),
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: NoiseSensitivity(mode="both"),
        lambda: FactualCorrectness(mode="F1"),
        lambda: RougeScore(rouge_type="rouge-l"),
    ],
)
def test_unknown_modes(make: Callable[[], Any]) -> None:
    """An unknown mode is reported when the metric is made."""
    with pytest.raises(rg.errors.UsageError):
        make()


WORDS = st.lists(st.sampled_from(["the", "ferry", "ferries", "leaves", "at", "nine", "Nine."]), min_size=1, max_size=8)


@given(WORDS, WORDS)
def test_rouge_and_chrf_are_those_of_the_libraries(response: list[str], reference: list[str]) -> None:
    """ROUGE and chrF have the values of the libraries that ragas calls, with its settings."""
    rouge = pytest.importorskip("rouge_score.rouge_scorer")
    sacrebleu = pytest.importorskip("sacrebleu")
    row = {"response": " ".join(response), "reference": " ".join(reference)}
    types = [RougeScore(name=name, rouge_type=name) for name in ("rouge1", "rougeL")]
    types += [RougeScore(mode=mode) for mode in ("precision", "recall")]
    (scores,) = evaluate([row], [*types, ChrfScore()]).scores
    theirs = rouge.RougeScorer(["rouge1", "rougeL"], use_stemmer=True).score(row["reference"], row["response"])
    chrf = sacrebleu.corpus_chrf([row["response"]], [[row["reference"]]]).score / 100
    longest = theirs["rougeL"]
    expected = [theirs["rouge1"].fmeasure, longest.fmeasure, longest.precision, longest.recall, chrf]
    assert list(scores.values()) == pytest.approx(expected)


def fbeta(tp: int, fp: int, fn: int, beta: float) -> float:
    """The F-score from precision and recall, as textbooks have it."""
    precision, recall = tp / (tp + fp or 1), tp / (tp + fn or 1)
    weighted = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / weighted if weighted else 0.0


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.floats(0.1, 4))
def test_factual_correctness_is_the_f_score(tp: int, fp: int, fn: int, beta: float) -> None:
    """From counts come precision, recall and the F-score of any beta, each to two decimals."""
    expected = {"precision": tp / (tp + fp or 1), "recall": tp / (tp + fn or 1), "f1": fbeta(tp, fp, fn, beta)}
    for mode, value in expected.items():
        metric = FactualCorrectness(mode=mode, beta=beta)
        assert abs(metric.counted(0.0, (tp, fp, fn)) - value) <= 0.005 + 1e-9


@pytest.mark.filterwarnings("ignore:summary_score is not ragas'")
def test_a_summary_covers_claims_and_is_short() -> None:
    """The score of a summary is the mean of the claims that it covers and of its brevity, weighed by coeff."""
    row = {"reference_contexts": ["It takes 40 minutes. It leaves at nine."], "response": "It takes 40 minutes."}
    brevity = 1 - len(row["response"]) / len(row["reference_contexts"][0])
    assert metrics.SummarizationScore(llm=literal()).score(**row).value == pytest.approx((0.5 + brevity) / 2)
    assert metrics.SummaryScore(llm=literal(), coeff=0.0).score(**row).value == 0.5


def test_embeddings_by_a_client() -> None:
    """The embeddings of a client, sync or async, are those that semantic similarity compares."""

    class Client:
        embeddings: Any

        def create(self, model: str, input: list[str]) -> Any:
            return SimpleNamespace(
                data=[SimpleNamespace(embedding=[text.count("a"), text.count("b")]) for text in input]
            )

    class Async(Client):
        async def create(self, model: str, input: list[str]) -> Any:
            return super().create(model, input)

    row = {"response": "aab", "reference": "abb"}
    for client in (Client(), Async()):
        client.embeddings = client
        embeddings = embedding_factory("openai", client=client)
        assert metrics.SemanticSimilarity(embeddings=embeddings).score(**row).value == pytest.approx(0.8)
    with pytest.raises(rg.errors.UsageError, match="need a client"):
        embedding_factory().embed_texts(["a"])
