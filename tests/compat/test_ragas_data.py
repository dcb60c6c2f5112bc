"""The data that ragas' front door takes, and what it refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.compat.ragas_ferry import OLDER, ROWS, literal

import ragauge as rg
from ragauge.compat.ragas import BadInput, EvaluationDataset, SingleTurnSample, evaluate
from ragauge.compat.ragas.metrics import Faithfulness, ToolCallAccuracy, context_recall, faithfulness
from ragauge.compat.ragas.samples import AIMessage, HumanMessage, MultiTurnSample, ToolCall, ToolMessage


def forms() -> dict[str, Callable[[list[dict[str, Any]]], Any]]:
    """How people hold their rows."""
    return {
        "list": list,
        "datasets": lambda rows: pytest.importorskip("datasets").Dataset.from_list(rows),
        "pandas": lambda rows: pytest.importorskip("pandas").DataFrame(rows),
        "polars": lambda rows: pytest.importorskip("polars").DataFrame(rows),
        "EvaluationDataset": EvaluationDataset.from_list,
        "ragas' EvaluationDataset": lambda rows: SimpleNamespace(samples=[dict(row) for row in rows]),
    }


@pytest.mark.parametrize("rows", [OLDER, ROWS], ids=["0.1", "today"])
@pytest.mark.parametrize("form", forms())
def test_data_of_both_generations_in_every_form(form: str, rows: list[dict[str, Any]]) -> None:
    """Rows in the columns of either generation, however they are held, are the same samples with the same scores."""
    result = evaluate(forms()[form](rows), [faithfulness], literal())
    assert result["faithfulness"] == [0.5, 0.5]
    assert result.dataset.to_list() == ROWS


@pytest.mark.parametrize("name", ["from_list", "from_dict", "from_pandas", "from_hf_dataset", "from_jsonl"])
def test_a_data_set_is_made_under_each_name(name: str) -> None:
    """Every constructor makes the same data set, a list of samples that gives its rows back."""
    dataset = getattr(EvaluationDataset, name)(OLDER)
    assert dataset[0] == SingleTurnSample(**ROWS[0])
    assert dataset.samples == list(dataset)
    assert (len(dataset), list(dataset), dataset.to_list()) == (2, [SingleTurnSample(**row) for row in ROWS], ROWS)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_conversations_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    """A data set of conversations holds them, writes their messages, and is the same when it is read."""
    call = ToolCall("book", {"id": 7})
    messages = [HumanMessage("A hotel?"), AIMessage("Wait.", [call]), ToolMessage("free"), AIMessage("It is free.")]
    sample = MultiTurnSample(user_input=messages, reference='{"free": true}', reference_tool_calls=[call])
    dataset = EvaluationDataset([sample])
    assert (dataset[0], dataset.is_multi_turn(), dataset[0].user_input[2].type) == (sample, True, "tool")
    path = tmp_path / f"talks.{kind}"
    getattr(dataset, f"to_{kind}")(path)
    again = getattr(EvaluationDataset, f"from_{kind}")(path)
    assert again == dataset
    for held in (dataset, again, dataset.to_list(), dataset.to_pandas()):
        result = evaluate(held, [faithfulness, ToolCallAccuracy()], literal())
        assert (result["faithfulness"], result["tool_call_accuracy"]) == ([0.0], [1.0])
        assert result.dataset.to_list() == dataset.to_list()


def test_conversations_of_other_systems_are_their_last_turn() -> None:
    """Messages of another form, and rows with other columns, are read as everywhere."""
    for message in ({"role": "assistant", "content": "At nine."}, {"type": "ai", "content": "At nine.", "id": "7"}):
        (sample,) = EvaluationDataset([{"user_input": [{"type": "human", "content": "When?"}, message]}])
        assert (sample.user_input, sample.response) == ("When?", "At nine.")


def test_columns_that_no_metric_reads_are_kept(tmp_path: Path) -> None:
    """Samples take, write and read every column of ragas, and have its methods."""
    more: Any = {"rubrics": {"score1_description": "Bad."}, "multi_responses": ["a", "b"], "persona_name": "Ada"}
    sample = SingleTurnSample(**ROWS[0], **more, query_style="formal", query_length="short")
    assert SingleTurnSample.model_validate(json.loads(sample.model_dump_json(exclude_none=True))) == sample
    assert sample.model_copy(update={"response": "No."}).response == "No."
    dataset = EvaluationDataset([sample])
    for kind in ("csv", "jsonl"):
        getattr(dataset, f"to_{kind}")(tmp_path / f"rows.{kind}")
        again = EvaluationDataset.from_jsonl(tmp_path / f"rows.{kind}")
        assert (again, again.is_multi_turn()) == (dataset, False)
    assert evaluate(dataset, [faithfulness], literal())["faithfulness"] == [0.5]


def test_column_map_names_columns() -> None:
    """`column_map` gives the column for a name of either generation, and goes before a column of that name."""
    rows = [{"Q": "When?", "A": "At nine.", "C": ["At nine."], "response": "Never.", "reference": "Nine."}]
    for names in (("user_input", "response", "retrieved_contexts"), ("question", "answer", "contexts")):
        result = evaluate(rows, [faithfulness], literal(), column_map=dict(zip(names, "QAC", strict=True)))
        assert result.dataset[0].to_dict() == {
            "user_input": "When?",
            "retrieved_contexts": ["At nine."],
            "response": "At nine.",
            "reference": "Nine.",
        }
        assert result["faithfulness"] == [1.0]


def test_columns_that_ragas_does_not_know_are_left_alone() -> None:
    """Columns that are ragauge's and not ragas', such as ids that repeat, change nothing."""
    rows = [{**row, "id": "same", "answerable": "perhaps", "source": "a file", "group": None} for row in ROWS]
    assert evaluate(rows, [faithfulness], literal()).dataset.to_list() == ROWS


def test_of_several_ground_truths_the_first_counts() -> None:
    """As in ragas 0.1, the first of `ground_truths` is the reference."""
    (sample,) = EvaluationDataset([{"question": "q", "answer": "a", "ground_truths": ["first", "second"]}])
    assert sample.reference == "first"


def test_an_empty_text_counts_as_missing() -> None:
    """A row with an empty reference is NaN, and as the only row an error that says so; ragas looks for None alone."""
    rows = [*OLDER, {**OLDER[0], "ground_truth": ""}]
    assert math.isnan(evaluate(rows, [context_recall], literal())["context_recall"][2])
    with pytest.raises(BadInput, match="context_recall needs reference; no row has any"):
        evaluate(rows[2:], [context_recall], literal())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SingleTurnSample(user_input=cast(Any, 3)), "user_input must be one text, not 3"),
        (lambda: Faithfulness(retries=3), "faithfulness has no argument 'retries'"),
    ],
)
def test_samples_and_metrics_of_bad_arguments(make: Callable[[], Any], message: str) -> None:
    """What is no text in a sample, and an argument that no metric of ragas has, is reported by name."""
    with pytest.raises(BadInput, match=message):
        make()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": Faithfulness()}, "must be a list"),
        ({"metrics": [Faithfulness]}, "must be a list of objects"),
        ({"metrics": ["faithfulness"]}, "must be a list of objects"),
        ({"metrics": []}, "must be a list"),
        ({"metrics": [context_recall]}, "context_recall needs reference; .*column_map={'reference': NAME}"),
        ({"metric": [faithfulness]}, "no argument 'metric'"),
    ],
)
def test_what_ragas_refuses(arguments: dict[str, Any], message: str) -> None:
    """What ragas refuses with a ValueError or TypeError is one here too, and a UsageError, before anything is asked."""
    judge = literal()
    rows = [{key: value for key, value in row.items() if key != "reference"} for row in ROWS]
    for kind in (rg.errors.UsageError, ValueError, TypeError):
        with pytest.raises(kind, match=message) as caught:
            evaluate(rows, **{"metrics": [faithfulness], "llm": judge, **arguments})
        assert isinstance(caught.value, BadInput)
    assert judge.asked == []


@pytest.mark.parametrize(
    ("dataset", "options", "kind"),
    [
        ([], {}, rg.errors.BadData),
        (None, {}, rg.errors.BadData),
        ([1], {}, rg.errors.BadRow),
        ([{"question": "q", "answer": {"a": 1}, "contexts": []}], {}, rg.errors.BadRow),
        ("nowhere.csv", {}, rg.errors.BadData),
        (ROWS, {"column_map": {"response": "nowhere"}}, rg.errors.UnknownName),
        (ROWS, {"llm": "gpt-4o-mini"}, rg.errors.UnknownName),
        (ROWS, {"llm": 3}, rg.errors.BadParameter),
    ],
)
def test_bad_data_and_models(dataset: Any, options: dict[str, Any], kind: type[Exception]) -> None:
    """Data and models that are none are errors of ragauge, which say what and where."""
    with pytest.raises(kind):
        evaluate(dataset, [faithfulness], **options)
