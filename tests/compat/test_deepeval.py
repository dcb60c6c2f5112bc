"""DeepEval's front door: its values at the edges, its errors, and who judges."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.compat.ragas_ferry import literal

import ragauge as rg
from ragauge.analysis.parity import read_sheet
from ragauge.compat import BadInput, deepeval
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
    ("verdict", "threshold", "success"),
    [
        ({"score": 0.15, "success": np.False_}, 0.5, False),
        ({"score": 0.15}, 0.5, False),
        ({"score": 0.9}, 0.5, True),
        ({"score": 0.15, "success": True}, 0.5, True),
        ({"score": 0.9, "success": False}, 0.5, False),
        ({"score": 0.9, "success": True, "error": "no answer"}, 0.5, False),
        ({"success": True}, 0.5, False),
        ({"score": 0.9}, None, None),
    ],
)
def test_a_metric_of_ones_own_fails(verdict: dict[str, Any], threshold: float | None, success: bool | None) -> None:
    """It passes where the success that it set says so, or else its threshold, with a score and without an error."""

    class Own(BaseMetric):
        async def a_measure(self, test_case: LLMTestCase, **_: Any) -> float:
            vars(self).update(verdict, threshold=threshold)
            return cast(float, self.score)

    (result,) = evaluate([CASE], [Own()]).test_results
    assert result.metrics_data[0].success is success
    if success is False:
        with pytest.raises(AssertionError, match="Own failed"):
            assert_test(CASE, [Own()])
    Own.threshold = None
    with pytest.raises(BadInput, match="needs a metric with a threshold"):
        assert_test(CASE, [Own()])


def test_errors_of_a_case_are_ignored_or_left_out() -> None:
    """With ErrorConfig what raises fails alone, and what lacks a part is left out; other scores stay."""

    class Own(BaseMetric):
        async def a_measure(self, test_case: LLMTestCase, **_: Any) -> float:
            if test_case.input == "3":
                raise RuntimeError("rate limit")
            return 1.0

    cases = [LLMTestCase(str(number), actual_output="A.", retrieval_context=["A."]) for number in range(4)]
    cases[1].retrieval_context = None
    metrics = [Own(), FaithfulnessMetric(model=literal())]
    with pytest.raises(RuntimeError, match="rate limit"):
        evaluate(cases, metrics[:1])
    with pytest.raises(deepeval.MissingTestCaseParamsError):  # before anything is measured
        evaluate(cases, metrics)
    results = evaluate(cases, metrics, error_config=deepeval.ErrorConfig(ignore_errors=True)).test_results
    assert [[data.success for data in result.metrics_data] for result in results] == [
        [True, True],
        [True, False],
        [True, True],
        [False, True],
    ]
    assert results[3].metrics_data[0].error == "rate limit"
    assert "needs retrieval_context=" in results[1].metrics_data[1].error
    both = deepeval.ErrorConfig(ignore_errors=True, skip_on_missing_params=True)
    kept = [len(result.metrics_data) for result in evaluate(cases, metrics, error_config=both).test_results]
    assert kept == [2, 1, 2, 2]
    (nothing,) = evaluate(cases[1:2], metrics[1:], error_config=both).test_results
    assert (nothing.metrics_data, nothing.success) == ([], None)


def test_metrics_of_ones_own_are_measured_at_once() -> None:
    """As many cases as max_concurrent are measured at the same time."""
    running, most = 0, 0

    class Own(BaseMetric):
        async def a_measure(self, test_case: LLMTestCase, **_: Any) -> float:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return 1.0

    for config, expected in [(deepeval.AsyncConfig(max_concurrent=3), 3), (deepeval.AsyncConfig(run_async=False), 1)]:
        most = 0
        evaluate([CASE] * 6, [Own()], async_config=config)
        assert most == expected


def test_results_hold_what_deepevals_do(tmp_path: Path) -> None:
    """A result has the parts of its test case, and its dump is read again as scores."""
    results = evaluate([CASE], [FaithfulnessMetric(model=literal())])
    (result,) = results.test_results
    assert (result.input, result.retrieval_context, result.turns) == (CASE.input, CASE.retrieval_context, None)
    assert (results.confident_link, result.metrics_data[0].evaluation_cost) == (None, None)
    path = tmp_path / "results.json"
    path.write_text(results.model_dump_json(), encoding="utf-8")
    (row,) = read_sheet(path, {}).rows
    assert (row.query, row.cells["Faithfulness"]) == (CASE.input, 1.0)


@pytest.mark.parametrize(
    ("rubric", "grade", "score"),
    [
        ([Rubric((4, 5), "Right."), Rubric((1, 3), "Wrong.")], 5, 1.0),
        ([Rubric((1, 3), "Wrong."), Rubric((4, 5), "Right.")], 2, 0.25),
        ([Rubric((0, 10), "As good as the number.")], 5, 0.5),
    ],
)
def test_a_rubric_is_the_scale(rubric: list[Rubric], grade: int, score: float) -> None:
    """The first and the last score of the ranges are the ends of the scale."""
    judge = rg.judge_from(rate=lambda name, **texts: grade)
    assert GEval("Tone", criteria="Is it kind?", rubric=rubric, model=judge).measure(CASE) == score


def test_tools_and_metadata_are_graded() -> None:
    """Parts without a field of ours are read as the source, and are needed; other metrics do not see them."""
    read = []

    def rate(rubric: rg.questions.Rubric, **texts: str) -> int:
        read.append(texts)
        return 10

    params = [deepeval.LLMTestCaseParams.TOOLS_CALLED, deepeval.LLMTestCaseParams.TAGS]
    case = LLMTestCase("q", actual_output="A.", tools_called=[deepeval.ToolCall("find")], tags=["a", "b"])
    model = rg.judge_from(rate=rate)
    tools = GEval("Tools", params, "Are they right?", model=model)
    evaluate([case], [tools, GEval("Tone", criteria="Is it kind?", model=model)])
    assert read == [{"source": "tools_called: find() → None\ntags: a; b"}, {"query": "q", "response": "A."}]
    with pytest.raises(deepeval.MissingTestCaseParamsError, match="needs tools_called="):
        tools.measure(LLMTestCase("q", actual_output="A."))


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
        (lambda: Rubric((3, 11), "x"), "must rise within 0 to 10"),
        (
            lambda: GEval("x", criteria="?", model="gpt-4.1", rubric=[Rubric((0, 5), "x"), Rubric((5, 9), "y")]),
            "ranges overlap",
        ),
        (lambda: GEval("x", criteria="?", model="gpt-4.1", rubric=[Rubric((5, 5), "x")]), "low < high"),
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
    (result,) = evaluate([other], [pattern, deepeval.PatternMatchMetric("A.*")]).test_results
    assert [data.reason for data in result.metrics_data] == ["no: “Ada”", "yes: “Ada”"]
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


def test_goldens_come_back_as_they_were(tmp_path: Path) -> None:
    """All parts of a golden are in its file, and what should be retrieved is not taken for what was."""
    golden = Golden(
        "q",
        expected_output="e",
        context=["ideal"],
        source_file="s.md",
        additional_metadata={"a": 1},
        metadata={"b": 2},
        expected_tools=[deepeval.ToolCall("find", output={"n": 1}, input_parameters={"id": 7})],
        name="first",
        comments="c",
        tags=["t"],
    )
    for kind in ("json", "jsonl"):
        read = EvaluationDataset()
        read.add_goldens_from_json_file(EvaluationDataset([golden]).save_as(kind, tmp_path))
        assert read.goldens == [golden]
    theirs = {"input": "q", "actual_output": None, "expected_output": "e", "context": ["ideal"]}
    tools = [{"name": "find", "inputParameters": {"id": 7}}]
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps([{**theirs, "expected_tools": tools}]), encoding="utf-8")
    (sample,) = rg.read(path)
    assert (sample.contexts, [chunk.text for chunk in sample.reference_contexts or ()]) == (None, ["ideal"])
    assert (sample.reference_tool_calls or ())[0].arguments == {"id": 7}
    read = EvaluationDataset()
    read.add_goldens_from_json_file(path)
    assert (read.goldens[0].context, read.goldens[0].retrieval_context) == (["ideal"], None)


@pytest.mark.parametrize(
    ("header", "cells", "options"),
    [
        ("input,actual_output,context", "x|y", {}),
        ("input,actual_output,context", "x;y", {"context_col_name": "context"}),
        ("input,actual_output,context", "x; y", {"context_col_delimiter": "; "}),
        ("question,answer,ideal", "x|y", {"context_col_name": "ideal"}),
        ("question,answer,ideal", "x+y", {"context_col_name": "ideal", "context_col_delimiter": "+"}),
        ("input,actual_output,context,retrieval_context", "x;y,r;s", {"retrieval_context_col_delimiter": ";"}),
    ],
)
def test_chunks_of_a_table_are_split(header: str, cells: str, options: dict[str, str], tmp_path: Path) -> None:
    """The context of a CSV file is several chunks at the delimiter that is given, or at DeepEval's own."""
    (tmp_path / "cases.csv").write_text(f"{header}\nq,a,{cells}\n", encoding="utf-8")
    names = dict(zip(("input_col_name", "actual_output_col_name"), header.split(","), strict=False))
    dataset = EvaluationDataset()
    dataset.add_test_cases_from_csv_file(tmp_path / "cases.csv", **names, **options)
    (case,) = dataset.test_cases
    assert (case.context, case.retrieval_context) == (["x", "y"], ["r", "s"] if "r" in cells else None)


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
    with pytest.raises(rg.errors.UsageError, match=r"evaluate\(dataset.test_cases, metrics\)"):
        dataset.evaluate([])
    with pytest.raises(rg.errors.UsageError, match="nothing is sent"):
        dataset.push(alias="mine")
