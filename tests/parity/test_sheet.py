"""Reading another system's scores."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.parity import number_in, read_sheet
from ragauge.errors import BadData, BadRow, UnknownName


def test_a_table_of_ragas(tmp_path: Path) -> None:
    """Texts and numbers of a CSV file are found under the names of old and new ragas; empty cells have no number."""
    path = tmp_path / "scores.csv"
    path.write_text("question,answer,contexts,faithfulness\nWho?,Ada.,['x'],0.5\nWhen?,1910,['y'],\n", encoding="utf-8")
    sheet = read_sheet(str(path), {})
    assert [(line.id, line.query, line.response) for line in sheet.rows] == [
        (None, "Who?", "Ada."),
        (None, "When?", "1910"),
    ]
    assert [number_in(line.cells["faithfulness"]) for line in sheet.rows] == [0.5, None]
    assert sheet.numbers("faithfulness") == [0.5]
    assert sheet.numbers("contexts") == []


def test_scores_in_objects() -> None:
    """Objects of a name and a value, as in Valor and DeepEval, become columns; chunks with scores do not."""
    rouge = [{"type": "ROUGE", "value": 0.1 * n, "parameters": {"rouge_type": f"rouge{n}"}} for n in (1, 2)]
    error = [{"type": "Error", "value": {"type": "ValueError", "message": "no"}, "parameters": {}}]
    row = {
        "Faithfulness": [{"type": "Faithfulness", "value": 1.0, "parameters": {}}],
        "Bias": error,
        "ROUGE": rouge,
        "metrics_data": [{"name": "Contextual Recall", "score": 0.75, "success": True}],
        "contexts": [{"text": "A chunk.", "type": "page", "score": 0.9}],
    }
    (line,) = read_sheet([row], {}).rows
    numbers = {name: number_in(cell) for name, cell in line.cells.items()}
    assert numbers == {
        "Faithfulness": 1.0,
        "Bias": None,
        "ROUGE rouge1": 0.1,
        "ROUGE rouge2": 0.2,
        "Contextual Recall": 0.75,
        "contexts": None,
    }


def test_columns_can_be_named() -> None:
    """A map names the columns of id and texts; "" keeps a known name from being used."""
    row = {"key": 7, "q": "Who?", "output": "Ada.", "faithfulness": 1}
    (line,) = read_sheet([row], {"id": "key", "query": "q", "response": ""}).rows
    assert (line.id, line.query, line.response) == ("7", "Who?", None)
    with pytest.raises(UnknownName, match="unknown column 'z'"):
        read_sheet([row], {"id": "z"})


@pytest.mark.parametrize(("text", "error"), [("", BadData), ('{"a": 1}\n[2]\n', BadRow), ("[]", BadData)])
def test_files_without_scores(text: str, error: type[Exception], tmp_path: Path) -> None:
    """An empty file, a broken row and a list without rows are errors with the name of the file."""
    path = tmp_path / "scores.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=r"scores\.jsonl"):
        read_sheet(path, {})


@pytest.mark.parametrize("cell", [None, "", "nan", "NaN", "inf", "n/a", [], {}, math.nan, math.inf, "0,5", object()])
def test_cells_without_a_number(cell: Any) -> None:
    """NaN, infinities, and other cells without a number are None, however written."""
    assert number_in(cell) is None


@pytest.mark.parametrize(
    ("cells", "numbers", "fault"),
    [
        (["50%", "7.5 %", "N/A"], [0.5, 0.075], ""),
        (["1,000", "12"], [12.0], "row 1 holds '1,000'"),
        (["0,5", "0.5"], [0.5], "row 1 holds '0,5'"),
        (["0.5", "high"], [0.5], "row 2 holds 'high'"),
        ([None, "nan", math.inf, {"type": "ValueError"}], [], ""),
    ],
)
def test_numbers_as_people_write_them(cells: list[Any], numbers: list[float], fault: str) -> None:
    """Per cent are read; the first other text is named."""
    sheet = read_sheet([{"faithfulness": cell} for cell in cells], {})
    assert (sheet.numbers("faithfulness"), sheet.fault("faithfulness")) == (numbers, fault)


def test_objects_of_numbers_are_columns() -> None:
    """The numbers in an object are reached by a point; metadata stay whole."""
    (line,) = read_sheet([{"metrics": {"faithfulness": 0.5, "note": "x"}, "metadata": {"year": 2020}}], {}).rows
    assert line.cells == {"metrics.faithfulness": 0.5, "metrics.note": "x", "metadata": {"year": 2020}}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_as_they_are(value: float) -> None:
    """A number is read exactly, as a number, as text and through JSON."""
    assert number_in(value) == number_in(str(value)) == number_in(json.loads(json.dumps(value))) == value


@pytest.mark.parametrize("rows", ["[[]]", "[null]", '["a"]', "[1]"])
def test_a_row_that_is_no_object_is_named(tmp_path: Path, rows: str) -> None:
    """The error names the row, as for data."""
    path = tmp_path / "scores.json"
    path.write_text(rows, encoding="utf-8")
    with pytest.raises(BadRow, match=r"scores\.json, row 1: .* not an object; give each row as a dict"):
        read_sheet(str(path), {})
