"""DeepEval's front door: its values at the edges, its errors, and who judges."""

from __future__ import annotations

import warnings
from typing import Any, cast

import pytest
from tests.compat.ragas_ferry import literal

import ragauge as rg
from ragauge.compat import deepeval
from ragauge.compat.deepeval import (
    AnswerRelevancyMetric,
    BaseMetric,
    DeepEvalBaseLLM,
    FaithfulnessMetric,
    GEval,
    HallucinationMetric,
    LLMTestCase,
    Rubric,
    assert_test,
    evaluate,
)
from ragauge.types import Label

CASE = LLMTestCase(
    input="When does the ferry leave?",
    actual_output="The ferry leaves at nine. Gulls like bread.",
    expected_output="The ferry leaves at nine.",
    retrieval_context=["The ferry leaves at nine."],
    context=["The ferry leaves at nine.", "The ferry is white."],
)


def test_faithfulness_counts_what_is_contradicted() -> None:
    """Unmentioned claims are faithful unless ambiguous ones are penalised, contradicted ones never; none are 1."""
    assert FaithfulnessMetric(model=literal()).measure(CASE) == 1.0
    assert FaithfulnessMetric(model=literal(), penalize_ambiguous_claims=True).measure(CASE) == 0.5
    against = rg.judge_from(
        decompose=lambda text: text.split(". "),
        entail=lambda premise, hypothesis: Label.CONTRADICTED,
    )
    assert FaithfulnessMetric(model=against).measure(CASE) == 0.0
    silent = LLMTestCase(input="When?", actual_output="", retrieval_context=["x"])
    assert FaithfulnessMetric(model=literal()).measure(silent) == 1.0


def test_thresholds_and_strictness() -> None:
    """A score passes at its threshold, a lower one where lower is better; strict scores are best or worst."""
    judge = literal()
    metric = AnswerRelevancyMetric(threshold=0.5, model=judge, strict_mode=True)
    assert metric.measure(LLMTestCase(input="a", actual_output="Gulls like bread.")) == 0.0
    assert (metric.threshold, metric.is_successful()) == (1.0, False)
    result = evaluate(
        [CASE], [HallucinationMetric(threshold=0.0, model=judge), FaithfulnessMetric(threshold=None, model=judge)]
    )
    assert [one.success for one in result.test_results[0].metrics_data] == [True, None]
    with pytest.raises(AssertionError, match="Faithfulness failed"):
        assert_test(CASE, [FaithfulnessMetric(threshold=0.7, model=judge, penalize_ambiguous_claims=True)])


def test_a_rubric_by_a_model_of_ones_own() -> None:
    """GEval grades from 0 to 10, and is a score from 0 to 1; a DeepEvalBaseLLM receives one prompt."""
    prompts: list[str] = []

    class Model(DeepEvalBaseLLM):
        def generate(self, prompt: str) -> str:
            prompts.append(prompt)
            return "no JSON"

        def get_model_name(self) -> str:
            return "mine"

    given: dict[str, Any] = {"criteria": "Is it kind?", "rubric": [Rubric((0, 4), "Rude."), Rubric((5, 10), "Kind.")]}
    grade = rg.judge_from(rate=lambda name, **texts: 7)
    assert GEval("Tone of it", model=grade, **given).measure(CASE) == 0.7
    with pytest.raises(rg.RunFailed, match="Tone of it"):
        GEval("Tone of it", model=Model(), **given).measure(CASE)
    assert "Is it kind?" in prompts[0]
    assert "5 to 10: Kind." in prompts[0]


def test_a_metric_of_ones_own() -> None:
    """A BaseMetric with `measure` stands in the same list."""

    class Length(BaseMetric):
        def measure(self, test_case: LLMTestCase) -> float:
            self.score, self.success = float(len(test_case.actual_output or "")), True
            return self.score

    result = evaluate([CASE], [Length(), FaithfulnessMetric(model=literal())])
    assert [one.score for one in result.test_results[0].metrics_data] == [43.0, 1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate([], []), "test_cases must be a list"),
        (lambda: evaluate([CASE], []), "metrics must be a list"),
        (lambda: FaithfulnessMetric().measure(LLMTestCase(input="a")), "Faithfulness needs actual_output="),
        (lambda: FaithfulnessMetric(treshold=1), "no argument 'treshold'"),
        (lambda: LLMTestCase(input="a", retrieval_context=cast(Any, "b")), "retrieval_context must be a list of texts"),
        (lambda: GEval("x", model="gpt-4.1"), "needs criteria="),
        (lambda: GEval("x", criteria="Is it kind?"), "asks a model; name one, as in model='gpt-4.1'"),
        (lambda: deepeval.TextToImageMetric, "images are not read"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    """Each mistake is a usage error of one line that says what to do."""
    with pytest.raises(rg.UsageError, match=message):
        call()


def test_success_follows_score_and_threshold() -> None:
    """A metric says by its score and threshold whether it passes: at most the threshold where lower is better."""
    for metric, passes in [(BaseMetric(), True), (deepeval.BiasMetric(threshold=0.4), False)]:
        metric.score = 0.6
        assert metric.is_successful() is passes
        metric.error = "no answer"
        assert metric.is_successful() is False
        metric.threshold = None
        assert metric.is_successful() is None


def test_another_number_is_announced() -> None:
    """A metric that DeepEval computes otherwise says so."""
    with pytest.warns(UserWarning, match="is not DeepEval's"):
        deepeval.ContextualRelevancyMetric()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FaithfulnessMetric()
