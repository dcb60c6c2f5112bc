"""The files of the Berkeley Function Calling Leaderboard: questions, acceptable answers, and results of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.errors import BadRow
from ragauge.readers import join, read
from ragauge.types import ToolCall

AREA = {
    "name": "shapes.area",
    "parameters": {
        "type": "dict",
        "properties": {"side": {"type": "float"}, "unit": {"type": "string"}, "tag": {"type": "any"}},
        "required": ["side"],
    },
}
QUESTION = {"id": "simple_python_0", "question": [[{"role": "user", "content": "How large?"}]], "function": [AREA]}
ANSWER = {"id": "simple_python_0", "ground_truth": [{"shapes.area": {"side": [4, 4.0], "unit": ["square m", ""]}}]}


def result(value: Any, **more: Any) -> dict[str, Any]:
    """A row of a file of results."""
    return {"id": "simple_python_0", "result": value, "input_token_count": 9, **more}


def success(value: Any, answer: dict[str, Any] = ANSWER) -> float | None:
    """Whether the calls of a result are those that the answer accepts."""
    (sample,) = join([answer], [result(value)]).samples
    return rg.score(sample, "tool_calls(match=all)")["tool_calls.success"].value


def test_three_files_are_one_data_set(tmp_path: Path) -> None:
    """Questions, answers and results, JSON Lines under the name .json, are joined by id to calls with their tools."""
    for name, row in (
        ("questions", QUESTION),
        ("answers", ANSWER),
        ("results", result([{"shapes_area": '{"side": 4}'}])),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(row) + "\n")
    asked = join(tmp_path / "questions.json", tmp_path / "answers.json")
    ((sample,), report) = join(asked.samples, tmp_path / "results.json")
    assert (asked.report, report) == ({}, {})
    assert (sample.query, sample.response, sample.metadata) == ("How large?", None, {"input_token_count": 9})
    assert sample.tool_calls == (ToolCall("shapes_area", {"side": 4}),)
    assert sample.reference_tool_calls == (
        ToolCall("shapes.area", {"side": 4}, acceptable=ANSWER["ground_truth"][0]["shapes.area"]),  # type: ignore[index]
    )
    assert sample.tools is not None
    assert sample.tools[0]["parameters"] == {
        "type": "object",
        "properties": {"side": {"type": "number"}, "unit": {"type": "string"}, "tag": {}},
        "required": ["side"],
    }
    scores = rg.score(sample, "tool_calls(match=all)")
    assert [score.value for score in scores.values()] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("made", "right"),
    [
        ({"side": 4.0, "unit": "Square-M."}, 1),
        ({"side": 4, "unit": ""}, 1),
        ({"side": "4"}, 0),
        ({"side": 4, "unit": "feet"}, 0),
        ({"side": 4, "depth": 1}, 0),
        ({"unit": "square m"}, 0),
    ],
)
def test_any_acceptable_value_is_right(made: dict[str, Any], right: int) -> None:
    """Values are compared as JSON, texts without case and punctuation; "" may be left out, nothing else be added."""
    assert success([{"shapes.area": made}]) == right


def test_objects_have_acceptable_values_in_turn() -> None:
    """Each name of an object has a list of values, within lists too; what is in deeper objects is the value itself."""
    answer = {"id": "x", "ground_truth": [{"f": {"at": [{"city": ["Bonn", "bonn am rhein"], "zip": [53111, ""]}]}}]}
    listed = {"id": "x", "ground_truth": [{"f": {"at": [[{"city": ["Bonn"]}, {"city": ["Ulm"]}]]}}]}
    rows = [({"city": "BONN"}, answer, 1), ({"city": "Ulm"}, answer, 0), ({"zip": 53111}, answer, 0)]
    rows += [([{"city": "Bonn"}, {"city": "Ulm"}], listed, 1), ([{"city": "Ulm"}, {"city": "Bonn"}], listed, 0)]
    for made, wanted, right in rows:
        assert success([{"f": {"at": made}}], {**wanted, "id": "simple_python_0"}) == right, made


def test_results_are_calls_or_words() -> None:
    """Calls written as Python are read as such, with other expressions as source; any other text is words."""
    (written, _, words) = read(
        [result("[shapes.area(side=-4, unit=METRE), g(1)]"), result([], id="b"), result("I need its side.", id="c")]
    )
    assert written.tool_calls == (ToolCall("shapes.area", {"side": -4, "unit": "METRE"}), ToolCall("g", {"1": 1}))
    assert (words.tool_calls, words.response) == ((), "I need its side.")
    (impossible,) = read([result("[f(a={[]: 1})]")])
    assert impossible.tool_calls == ()
    (asked,) = read([{**QUESTION, "id": "live_irrelevance_3"}])
    assert asked.reference_tool_calls == ()


@given(st.text(max_size=40))
def test_no_text_of_a_result_stops_the_reading(text: str) -> None:
    """Whatever a model says is a response."""
    (sample,) = read([result(text)])
    assert sample.response == text


def test_other_data_may_have_a_column_of_its_name() -> None:
    """Gold claims in a column `ground_truth` are no calls of BFCL."""
    row = {"id": "1", "query": "Who?", "response": "Ada.", "ground_truth": [["Ada", "Countess Lovelace"]]}
    (sample,) = read([row], map={"answers": "ground_truth"})
    assert sample.answers == (("Ada", "Countess Lovelace"),)


def test_what_cannot_be_scored_by_calls_is_refused_with_its_row(tmp_path: Path) -> None:
    """Several turns, source text of other languages, a failed run and a result of another form name file and row."""
    path = tmp_path / "BFCL_v4_x_result.json"
    for row, problem in (
        (result([[[{"f": "{}"}]]]), "several turns or steps"),
        ({"id": "multi_turn_base_0", "question": [[], []]}, "several turns or steps"),
        ({"id": "multi_turn_base_0", "ground_truth": [["f(a=1)"]]}, "several turns or steps"),
        (result("f(1)", id="simple_java_2"), "source text of Java"),
        (result("Error during inference: timeout", traceback="..."), r"no answer of the model \(Error during"),
        (result(["f"]), "no list of calls"),
        ({**ANSWER, "ground_truth": [*ANSWER["ground_truth"], "f"]}, "no list of calls"),
    ):
        path.write_text(json.dumps(result([])) + "\n" + json.dumps(row) + "\n")
        with pytest.raises(BadRow, match=rf"x_result\.json, row 2: .*{problem}"):
            list(read(path))
    with pytest.raises(BadRow, match=r"row 1, .*call 1: acceptable values that are no lists"):
        list(read([{"id": "a", "ground_truth": [{"f": {"a": 1}}]}]))


def test_evidence_names_what_was_made_in_its_place() -> None:
    """A call that is missing says what was made in its place."""
    (sample,) = join([ANSWER], [result([{"shapes.area": {"side": 4, "unit": "feet", "tag": 1}}])]).samples
    pieces = rg.score(sample, "tool_calls(match=all)")["tool_calls.f1"].evidence
    assert pieces[-1].rationale == "missing; made as shapes.area(side=4, unit=feet, tag=1)"


def test_acceptable_values_can_be_written_in_any_row() -> None:
    """An expected call of any data may list them, and the ways to compare calls hold for them."""
    expected = [{"name": "f", "acceptable": {"a": [1, 2], "b": ["x", ""]}}]
    row = {
        "response": "",
        "tool_calls": [{"name": "f", "arguments": {"a": 2, "c": 0}}],
        "reference_tool_calls": expected,
    }
    for spec, right in (("equal", 0), ("subset", 1), ("a", 1), ("c", 0), ("b", 1)):
        scores = rg.score(row, f"tool_calls(match=all,arguments={spec})")
        assert scores["tool_calls.success"].value == right, spec
