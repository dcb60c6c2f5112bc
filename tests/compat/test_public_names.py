"""Public names of other systems give the thing, or an ImportError with a line of advice."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from ragauge.compat import NotOffered

#: System -> {"source": repository and commit, "modules": {module: names}}: `__all__` and documented imports.
LISTED = json.loads(Path(__file__).with_name("public_names.json").read_text(encoding="utf-8"))
PACKAGES = {"valor": "valor_lite.text_generation"}
MODULES = [
    pytest.param(module.replace(PACKAGES.get(system, system), f"ragauge.compat.{system}", 1), names.split(), id=module)
    for system, listed in LISTED.items()
    for module, names in listed["modules"].items()
]


def _given(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name)
    except NotOffered as error:
        _, _, advice = str(error).partition("; ")
        return bool(advice) and "\n" not in advice


@pytest.mark.parametrize(("module", "names"), MODULES)
def test_names_are_there_or_advise(module: str, names: list[str]) -> None:
    """Each name of a module can be imported, or the error says in one line what to use instead."""
    if "rag_evals" in module:
        pytest.importorskip("pydantic")
    assert [name for name in names if not _given(module, name)] == []


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        ("ragas.dataset_schema", "EvaluationResult", ""),
        ("ragas.dataset_schema", "MetricAnnotation", "ragauge label"),
        ("ragas.metrics", "context_relevancy", "context_relevance"),
        ("ragas.exceptions", "ExceptionInRunner", "RunFailed"),
        ("ragas.validation", "validate_required_columns", "column_map"),
        ("ragas.integrations.langsmith", "evaluate", "langchain.md"),
        ("ragas.callbacks", "RagasTracer", "evidence"),
        ("ragas.utils", "safe_nanmean", "means"),
        ("deepeval.errors", "MissingTestCaseParamsError", ""),
        ("deepeval.metrics.base_metric", "BaseMetric", ""),
        ("deepeval.metrics.g_eval.g_eval", "GEval", ""),
        ("deepeval.test_case.llm_test_case", "LLMTestCase", ""),
        ("deepeval.dataset.golden", "Golden", ""),
        ("deepeval.evaluate.types", "EvaluationResult", ""),
        ("deepeval.utils", "get_or_create_event_loop", "running event loop"),
        ("deepeval.metrics", "StepEfficiencyMetric", "repeated_calls"),
    ],
)
def test_modules_within_packages(module: str, name: str, advice: str) -> None:
    """What programs import from inner modules is there, or the advice is on what they look for."""
    look_up = partial(getattr, import_module(f"ragauge.compat.{module}"), name)
    if advice:
        with pytest.raises(NotOffered, match=advice):
            look_up()
    else:
        assert look_up().__name__ == name


def test_other_names_are_plain_errors() -> None:
    """A name that no system has is an error without advice, and no module."""
    with pytest.raises(ImportError, match="cannot import name"):
        exec("from ragauge.compat.deepeval.metrics import Faithful")
    with pytest.raises(ModuleNotFoundError):
        import_module("ragauge.compat.ragas.metrics.faithful")
