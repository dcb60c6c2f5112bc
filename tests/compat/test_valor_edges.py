"""Valor's values where there is nothing to count, and what its front door refuses to measure."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compat.valor_ferry import FERRY, judge

import ragauge as rg
from ragauge.compat.valor import BadInput, Context, Evaluator, MetricType, QueryResponse, UndefinedScore

EDGES = [
    ("answer_correctness", Context([], ["c"]), 0.0),
    ("context_precision", Context([], []), 1.0),
    ("context_precision", Context(["g"], []), 0.0),
    ("context_precision", Context([], ["c"]), 0.0),
    ("context_recall", Context([], []), 1.0),
    ("context_recall", Context(["g"], []), 0.0),
    ("context_recall", Context([], ["c"]), 0.0),
    ("context_relevance", Context(["g"], []), 0.0),
    ("faithfulness", Context(["g"], []), 0.0),
]


@pytest.mark.parametrize(("method", "context", "value"), EDGES)
def test_lists_that_decide_by_themselves(method: str, context: Context, value: float) -> None:
    """Where a list is empty Valor's value is given without a word to the judge, who need not even be there."""
    metric = getattr(Evaluator("ollama/nowhere"), f"compute_{method}")(QueryResponse("q", "r", context))
    assert (metric.value, metric.evidence) == (value, ())


@pytest.mark.parametrize(
    ("method", "value"),
    [("answer_correctness", 0.0), ("answer_relevance", 0.0), ("bias", 0.0), ("toxicity", 0.0), ("faithfulness", 1.0)],
)
def test_texts_that_say_nothing(method: str, value: float) -> None:
    """A response without statements, opinions or claims has Valor's value where ragauge's own is undefined."""
    response = QueryResponse("q", "Hm.", Context(["g"], ["c"]))
    assert getattr(Evaluator(judge()), f"compute_{method}")(response).value == value


def test_blank_ground_truths() -> None:
    """A ground truth without a word supports nothing and needs no context."""
    blank = QueryResponse("q", "r", Context([" "], ["c"]))
    evaluator = Evaluator(judge("s"))
    assert evaluator.compute_answer_correctness(blank).value == 0.0
    assert evaluator.compute_context_precision(blank).value == 0.0
    assert {metric.value for metric in evaluator.compute_rouge(blank)} == {0.0}
    assert evaluator.compute_sentence_bleu(blank).value == 0.0


def test_recall_of_nothing() -> None:
    """Where Valor divides by zero, context recall raises a typed error, and costs compute_all no other metric."""
    evaluator = Evaluator(judge())
    with pytest.raises(UndefinedScore, match="ContextRecall: no reference makes a statement"):
        evaluator.compute_context_recall(FERRY)
    results = evaluator.compute_all(FERRY)
    (recall,) = results[MetricType.ContextRecall]
    assert recall.to_dict() == {
        "type": "Error",
        "value": {"type": "UndefinedScore", "message": "ContextRecall: no reference makes a statement"},
        "parameters": {"evaluator": "always", "retries": 0},
    }
    assert results[MetricType.ContextRelevance][0].value == 1.0


def test_recall_is_the_best_over_the_ground_truths() -> None:
    """Of several ground truths the one counts that the contexts hold best; one that states nothing is left out."""
    pieces = {"one": ["a", "x"], "two": ["a", "b"], "none": []}
    several = rg.judge_from(decompose=pieces.__getitem__, entail=lambda premise, hypothesis: hypothesis in premise)
    response = QueryResponse("q", "r", Context(["one", "none", "two"], ["a b"]))
    assert Evaluator(several).compute_context_recall(response).value == 1.0


@pytest.mark.parametrize(
    ("response", "fault"),
    [
        (QueryResponse("q", "r"), "ROUGE reads the context, which is None"),
        (QueryResponse("q", "r", Context([], ["c"])), "no references to compare with"),
        (QueryResponse("q", "r", Context(["g"], [])), "Hallucination is a share of the contexts"),
        (QueryResponse("q", 3, Context(["g"], ["c"])), r"\[response\] must be a list"),  # type: ignore[arg-type]
        (QueryResponse(None, "r", Context(["g"], ["c"])), r"\[query, response\] must be a list"),  # type: ignore[arg-type]
        (QueryResponse("q", "r", Context(["g"], "c")), "context.prediction must be a list"),  # type: ignore[arg-type]
        (QueryResponse("q", "r", Context("g", ["c"])), "context.groundtruth must be a list"),  # type: ignore[arg-type]
        (QueryResponse("q", "r", Context([None], ["c"])), "context.groundtruth must be a list"),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_measured_is_refused_before_it_costs(response: QueryResponse, fault: str) -> None:
    """A response that lacks something is refused with a ValueError that says what, and nothing is asked."""
    with pytest.raises(ValueError, match=fault) as refused:
        Evaluator("ollama/nowhere").compute_all(response)
    assert isinstance(refused.value, rg.errors.UsageError)


@pytest.mark.parametrize("types", [["rouge10"], ["rougeX"], None])
def test_rouge_types_that_there_are_not(types: Any) -> None:
    """An unknown type of ROUGE is a ValueError; none at all is no metric, and one twice is one."""
    with pytest.raises(ValueError, match=r"ROUGE type|not iterable"):
        Evaluator.compute_rouge(FERRY, types)
    assert Evaluator.compute_rouge(FERRY, []) == []
    assert len(Evaluator.compute_rouge(FERRY, ["rouge1", "rouge1"])) == 1


@pytest.mark.parametrize("weights", [[], None, [-1], [float("nan")], [(0.5, 0.5)]])
def test_weights_that_no_bleu_has(weights: Any) -> None:
    """Weights that are none, negative or no numbers are refused, where Valor leaves 0..1 or crashes."""
    with pytest.raises(BadInput, match=r"BLEU weights|real number"):
        Evaluator.compute_sentence_bleu(FERRY, weights)
