"""An answer that the judge abstains from has no value in any other system's form."""

from __future__ import annotations

import math

import pytest

import ragauge as rg
from ragauge.compat import dataworkz, deepeval, rag_evals, ragas, valor
from ragauge.compat.ragas.metrics import collections

QUESTION = "Wie lange gilt die Garantie?"
ANSWER = "Die Garantie gilt fünf Jahre ab dem Kauf."
CONTEXTS = ["Für das Gerät gilt eine Garantie von zwei Jahren ab Kaufdatum."]


@pytest.mark.parametrize(
    "name", ["Faithfulness", "AnswerRelevancy", "Hallucination", "ContextualPrecision", "Toxicity"]
)
def test_in_deepeval_it_fails_with_the_reason(name: str) -> None:
    """A test case that was not judged does not pass, whichever way the metric is better."""
    case = deepeval.LLMTestCase(QUESTION, ANSWER, "Zwei Jahre gilt die Garantie.", CONTEXTS, CONTEXTS)
    metric = getattr(deepeval, f"{name}Metric")(threshold=0.7)
    (result,) = deepeval.evaluate([case], [metric]).test_results
    (data,) = result.metrics_data
    assert (result.success, data.score) == (False, None)
    assert data.error.startswith("the embedded judge reads English, and this is 'de'")
    assert data.reason == f"undefined: {data.error}"
    with pytest.raises(AssertionError, match="reads English"):
        deepeval.assert_test(case, [metric])
    with pytest.raises(rg.errors.RunFailed, match="reads English"):
        metric.measure(case)


def test_in_ragas_it_is_nan_with_a_warning() -> None:
    """It is left out of the mean also by metrics that are 0 where there is nothing to count."""
    row = {"user_input": QUESTION, "response": ANSWER, "reference": ANSWER, "retrieved_contexts": CONTEXTS}
    metrics = [ragas.context_precision, ragas.metrics.context_utilization, ragas.faithfulness]
    with pytest.warns(UserWarning, match="reads English"):
        result = ragas.evaluate([row], metrics)
    assert all(math.isnan(value) for value in result.scores[0].values())
    with pytest.raises(rg.errors.RunFailed, match="reads English"):
        ragas.evaluate([row], metrics, raise_exceptions=True)
    columns = {name: value for name, value in row.items() if name != "response"}
    scored = collections.ContextPrecision(llm="embedded").score(**columns)
    assert math.isnan(scored.value)
    assert "reads English" in scored.reason


@pytest.mark.parametrize("metric", [rag_evals.Faithfulness, rag_evals.ChunkPrecision])
def test_in_rag_evals_it_is_an_error(metric: rag_evals.Metric[rag_evals.Result]) -> None:
    """The error says why there is no result."""
    with pytest.raises(rg.errors.RunFailed, match="reads English"):
        metric.grade(question=QUESTION, answer=ANSWER, context=CONTEXTS, client="embedded")


def test_in_valor_it_is_a_metric_of_type_error() -> None:
    """The metric has the reason in place of a value."""
    response = valor.QueryResponse(QUESTION, ANSWER, valor.Context([ANSWER], CONTEXTS))
    metric = valor.Evaluator("embedded").compute_faithfulness(response)
    assert metric.type == "Error"
    assert isinstance(metric.value, dict)
    assert metric.value["type"] == "InvalidLLMResponseError"
    assert "reads English" in metric.value["message"]


def test_in_dataworkz_it_leaves_the_scores_empty() -> None:
    """Neither claims nor scores are counted, and the explanation says why."""
    (row,) = dataworkz.evaluate_question(QUESTION, ANSWER, "Die Garantie endet nach einem Jahr.", extras=False).rows
    assert row["LLM F1"] is None
    assert row["Explanation"].startswith("undefined: the embedded judge reads English")
