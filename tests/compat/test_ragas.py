"""ragas' front door, as somebody uses it who comes from there."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compat.ragas_ferry import OLDER, ROWS, literal, literally, two_way
from tests.judges.saying import Saying
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.compat import ragas
from ragauge.compat.ragas import SingleTurnSample, aevaluate, evaluate, metrics
from ragauge.compat.ragas.metrics import (
    Faithfulness,
    FaithfulnesswithHHEM,
    FaithulnesswithHHEM,
    MetricResult,
    context_precision,
    context_recall,
    faithfulness,
)
from ragauge.questions import Entail, Question
from ragauge.types import Answer, Failure, Label

#: A program as ragas documents it, with its import changed: a data set of the Hugging Face library, and a frame.
PROGRAM = """
from datasets import Dataset
from ragauge.compat.ragas.metrics import {name}
from ragauge.compat.ragas import evaluate

metric = {metric}
rows = {{
    "question": ["When did the lighthouse open?", "Who keeps the ferry?"],
    "answer": ["The lighthouse opened on 3 May 1887.", "The ferry is kept by the harbour office."],
    "contexts": [
        ["The lighthouse of Skerholm opened on 3 May 1887, after six years of work."],
        ["The ferry leaves at nine.", "The museum belongs to the town."],
    ],
}}
score = evaluate(Dataset.from_dict(rows), metrics=[metric])
frame = score.to_pandas()
"""
PROGRAMS = {
    "faithfulness": PROGRAM.format(name="faithfulness", metric="faithfulness"),
    "faithfulness_with_hhem": PROGRAM.format(name="FaithulnesswithHHEM", metric="FaithulnesswithHHEM()"),
}


def test_programs_as_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the documented form run with the import changed, one with a stand-in for HHEM, and score two rows."""
    pytest.importorskip("datasets")
    hhem = two_way(Label.NOT_ENTAILED)
    monkeypatch.setattr(FaithulnesswithHHEM, "entail", hhem)
    for metric, code in PROGRAMS.items():
        names: dict[str, Any] = {}
        exec(code, names)
        frame = names["frame"]
        assert list(frame.columns) == ["user_input", "retrieved_contexts", "response", metric]
        assert frame[metric].between(0, 1).all()
    assert hhem.asked


def test_a_program_as_documented_with_an_llm(stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a model as the metric's llm the first program takes two calls a row, as ragas does, and all is scored."""
    pytest.importorskip("datasets")
    server = stub_server()
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setattr(faithfulness, "llm", f"openai/gpt-4o-mini?base_url={server.url}")
    names: dict[str, Any] = {}
    exec(PROGRAMS["faithfulness"], names)
    assert all(0 <= value <= 1 for value in names["score"]["faithfulness"])
    assert server.stats()["calls"] == 4


@pytest.mark.parametrize("name", ["Faithfulness", "faithfulness", "FaithulnesswithHHEM", "FaithfulnesswithHHEM"])
def test_metrics_are_in_both_places(name: str) -> None:
    """A metric is imported from `ragas.metrics` and from `ragas`, HHEM's in both spellings."""
    assert getattr(ragas, name) is getattr(metrics, name)
    assert FaithfulnesswithHHEM is FaithulnesswithHHEM
    with pytest.raises(ImportError, match=r"use RubricsScore"):
        ragas.InstanceRubrics  # noqa: B018


def test_the_result() -> None:
    """A result gives values by metric and by row, means, a frame and a text, and the run with the evidence."""
    result = evaluate(OLDER, [faithfulness, context_precision], literal(), experiment_name="ferry")
    assert result["faithfulness"] == [0.5, 0.5]
    assert result.scores == [{"faithfulness": 0.5, "context_precision": 1.0}] * 2
    assert repr(result) == "{'faithfulness': 0.5000, 'context_precision': 1.0000}"
    assert result.means == {"faithfulness": 0.5, "context_precision": 1.0}
    assert [piece.text for piece in result.run.scores[1]["faithfulness"].evidence] == [
        "The ferry takes 40 minutes.",
        " Gulls like fish.",
    ]
    assert result.run is result.runs["context_precision"]
    assert result.run.record.name == "ferry"
    frame = result.to_pandas()
    columns = ["user_input", "retrieved_contexts", "response", "reference", "faithfulness", "context_precision"]
    assert list(frame.columns) == columns
    assert frame["faithfulness"].tolist() == [0.5, 0.5]


def test_undefined_is_nan_and_left_out_of_means() -> None:
    """Where there is nothing to count the value is NaN, the mean leaves it out, and the run says why."""
    result = evaluate([ROWS[0], {**ROWS[1], "response": ""}], [faithfulness], literal())
    assert result["faithfulness"] == pytest.approx([0.5, math.nan], nan_ok=True)
    assert repr(result) == "{'faithfulness': 0.5000}"
    assert result.run.scores[1]["faithfulness"].undefined == "the response makes no claim"
    nothing = evaluate([{**ROWS[1], "response": ""}], [faithfulness], literal())
    assert repr(nothing) == "{'faithfulness': nan}"


def unsure(question: Question) -> Answer | Failure:
    """A judge that has no answer about gulls."""
    return Failure("timeout") if isinstance(question, Entail) and "fish" in question.hypothesis else literally(question)


def test_no_answer_is_nan_with_a_warning() -> None:
    """Where the judge has no answer the value is NaN, which is warned of with the reason, and others are scored."""
    with pytest.warns(UserWarning, match="faithfulness is NaN for some samples: timeout"):
        result = evaluate(ROWS, [faithfulness], Saying("unsure", unsure))
    assert result["faithfulness"] == pytest.approx([0.5, math.nan], nan_ok=True)


def test_no_answer_is_an_error_on_demand() -> None:
    """With raise_exceptions=True a missing answer raises, and so it does for a single sample."""
    with pytest.raises(rg.errors.RunFailed, match="timeout"):
        evaluate(ROWS, [faithfulness], Saying("unsure", unsure), raise_exceptions=True)
    with pytest.raises(rg.errors.RunFailed, match="timeout"):
        Faithfulness(llm=Saying("unsure", unsure)).single_turn_score(SingleTurnSample(**ROWS[1]))


def test_no_warning_where_there_is_nothing_to_say() -> None:
    """An evaluation in which all is ragas' own and all was answered warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = evaluate(ROWS, [faithfulness, context_recall], literal())
    assert json.dumps(result.scores) == json.dumps([{"faithfulness": 0.5, "context_recall": 1.0}] * 2)


@settings(max_examples=20)
@given(st.lists(st.sampled_from([*ROWS, {**ROWS[0], "response": ""}]), min_size=1, max_size=6))
def test_rows_do_not_see_each_other(rows: list[dict[str, Any]]) -> None:
    """A row's value is the same alone and among others, in its place."""
    alone = [evaluate([row], [faithfulness], literal())["faithfulness"][0] for row in rows]
    assert evaluate(rows, [faithfulness], literal())["faithfulness"] == pytest.approx(alone, nan_ok=True)


def test_one_sample() -> None:
    """A metric scores a single sample, waited for or not, also under a running loop."""
    metric, sample = Faithfulness(llm=literal()), SingleTurnSample(**ROWS[0])

    async def notebook() -> list[float]:
        return [await metric.single_turn_ascore(sample), metric.single_turn_score(sample)]

    assert [metric.single_turn_score(sample), *asyncio.run(notebook())] == [0.5] * 3


def test_evaluate_under_a_running_loop() -> None:
    """`aevaluate` is awaited, and `evaluate` works where a loop runs already, with the same result."""

    async def notebook() -> list[str]:
        return [repr(await aevaluate(ROWS, [faithfulness], literal())), repr(evaluate(ROWS, [faithfulness], literal()))]

    assert asyncio.run(notebook()) == ["{'faithfulness': 0.5000}"] * 2


def test_a_store_keeps_what_was_judged(tmp_path: Path) -> None:
    """With a store a second evaluation asks nothing."""
    first, second = literal(), literal()
    kept = evaluate(ROWS, [faithfulness], first, store=tmp_path)
    again = evaluate(ROWS, [faithfulness], second, store=tmp_path)
    assert (bool(first.asked), second.asked) == (True, [])
    assert kept.scores == again.scores


def test_ragas_other_arguments_are_taken() -> None:
    """What has no meaning here is taken, so that calls need not change."""
    idle: dict[str, Any] = {
        "embeddings": object(),
        "callbacks": [],
        "run_config": object(),
        "show_progress": False,
        "batch_size": 4,
    }
    assert evaluate(ROWS, [faithfulness], literal(), **idle, allow_nest_asyncio=True).means == {"faithfulness": 0.5}
    assert evaluate(ROWS, [Faithfulness(max_retries=3)], literal(), object(), "a name").means == {"faithfulness": 0.5}
    assert FaithulnesswithHHEM(device="cpu", batch_size=4).name == "faithfulness_with_hhem"


def test_a_result_behaves_as_its_value() -> None:
    """Results are compared, ordered and reckoned with as values, and texts keep their methods."""
    result: Any = MetricResult(0.5, "because")
    other: Any = MetricResult(0.25)
    assert (result == 0.5, result != 0.5, result == other, result > 0.3, result >= other, result < 0.5) == (
        True,
        False,
        False,
        True,
        True,
        False,
    )
    assert (result + other, 1 - result, sum([result, other]), result / 2, float(result)) == (0.75, 0.5, 0.75, 0.25, 0.5)
    verdict: Any = MetricResult("fail")
    assert verdict == "fail"
    assert {verdict: 1}["fail"] == 1
    assert (verdict.upper(), bool(MetricResult(0.0)), result.to_dict()) == (
        "FAIL",
        False,
        {"result": 0.5, "reason": "because"},
    )
    assert copy.deepcopy(result) == result
    with pytest.raises(AttributeError, match="absent"):
        verdict.absent  # noqa: B018
