"""DeepEval's front door: its values at the edges, its errors, and who judges."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
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
from ragauge.compat.deepeval_dataset import EvaluationDataset, Golden, observe, update_current_span
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
    assert GEval("correctness", model=grade, **given).measure(CASE) == 0.7  # a name that ragauge has as well
    with pytest.raises(rg.errors.RunFailed, match="Tone of it"):
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
    with pytest.raises(rg.errors.UsageError, match=message):
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


def test_checks_ask_no_judge() -> None:
    """Exact match ignores white space around texts, a pattern matches the whole output, JSON fits a model."""
    pydantic = pytest.importorskip("pydantic")
    schema = pydantic.create_model("Answer", name=(str, ...))
    case = deepeval.LLMTestCase("q", actual_output=' {"name": "Ada"} ', expected_output='{"name": "Ada"}\n')
    other = deepeval.LLMTestCase("q", actual_output="Ada", expected_output="ada")
    exact, pattern = deepeval.ExactMatchMetric(), deepeval.PatternMatchMetric(r"\{.*")
    metrics = [exact, pattern, deepeval.JsonCorrectnessMetric(schema)]
    assert [metric.measure(case) for metric in metrics] == [1, 1, 1]
    assert [metric.measure(other) for metric in metrics] == [0, 0, 0]
    with pytest.raises(ValueError, match="no regular expression"):
        deepeval.PatternMatchMetric("(")
    with pytest.raises(deepeval.MissingTestCaseParamsError, match="expected_output"):
        exact.measure(deepeval.LLMTestCase("q", actual_output="a"))


def test_a_model_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the embedded judge cannot answer, the error names both ways of naming a model; the variable is one."""
    monkeypatch.delenv("OPENAI_MODEL_NAME", raising=False)
    case = deepeval.LLMTestCase("q", actual_output="a")
    for refused in (
        lambda: deepeval.GEval("Tone", criteria="Is it kind?"),
        lambda: deepeval.BiasMetric().measure(case),
    ):
        with pytest.raises(rg.errors.UsageError, match=r"model='gpt-4.1', or as OPENAI_MODEL_NAME in the environment"):
            refused()
    monkeypatch.setenv("OPENAI_MODEL_NAME", "gpt-4.1")
    assert deepeval.GEval("Tone", criteria="Is it kind?").model is None


@pytest.mark.filterwarnings("ignore:.* is not DeepEval's")
def test_a_criterion_that_is_set_is_a_grade() -> None:
    """The metrics of safety are grades of one criterion, which says what it is about."""
    judge = rg.judge_from(rate=lambda rubric, **texts: 5)
    case = deepeval.LLMTestCase("q", actual_output="a")
    assert deepeval.RoleViolationMetric(role="ferryman", model=judge).measure(case) == 0.5
    misuse = deepeval.MisuseMetric(domain="ferries", model=judge, threshold=0.4)
    assert misuse.measure(case) == 0.5
    assert not misuse.success, "lower is better"
    with pytest.raises(ValueError, match="needs advice_types="):
        deepeval.NonAdviceMetric(model=judge)


def test_a_data_set_measures_what_observed_functions_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Goldens come from files and go to files; the test cases of observed functions are measured after the loop."""

    @observe(metrics=[deepeval.ExactMatchMetric()])  # type: ignore[untyped-decorator]
    async def component(query: str) -> None:
        update_current_span(input=query, output="40 minutes", expected_output="40 minutes")

    @observe
    def app(query: str) -> None:
        asyncio.run(component(query))

    dataset = EvaluationDataset([Golden("How long?", expected_output="40 minutes")])
    read = EvaluationDataset()
    read.add_goldens_from_json_file(dataset.save_as("json", tmp_path))
    assert read.goldens == dataset.goldens
    for golden in read.evals_iterator():
        app(golden.input)
    assert "Exact Match passed" in capsys.readouterr().out
    app("outside of a loop nothing is measured")
    assert capsys.readouterr().out == ""
    idle = observe(metrics=[deepeval.ExactMatchMetric()])(print)
    with pytest.raises(rg.errors.UsageError, match="has metrics and no test case"):
        [idle() for _ in dataset.evals_iterator()]
    with pytest.raises(rg.errors.UsageError, match="nothing is sent"):
        dataset.push(alias="mine")
