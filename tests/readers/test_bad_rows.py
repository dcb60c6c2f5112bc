"""Rows that cannot be read: raised, or skipped and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragauge.errors import BadData, BadRow
from ragauge.readers import read
from ragauge.types import Sample

JSONL = (
    '{"query": "q1"}\n'
    "\n"
    '{"query": "q2",,}\n'
    "[1, 2]\n"
    '{"query": true}\n'
    '{"query": "q5"}\n'
)  # fmt: skip
CSV = 'query,response\nq1,a1\nq2\n\nq3,a,b\n"q"4,a4\nq5,a5\n"q6,a6\n'


@pytest.fixture
def jsonl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of five rows, the middle three broken."""
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(JSONL)
    return "rows.jsonl"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A CSV file of six rows, four of them broken."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(CSV)
    return "rows.csv"


def test_a_broken_row_raises_where_it_stands(jsonl: str) -> None:
    """The rows before a broken one are yielded; at the broken one the error names line and column."""
    samples = iter(read(jsonl))
    assert next(samples).query == "q1"
    message = "rows.jsonl, row 2: line 3 is not JSON: .* at column 16; fix or remove the line"
    with pytest.raises(BadRow, match=message):
        next(samples)


def test_broken_rows_can_be_skipped_and_are_kept(jsonl: str) -> None:
    """With skip_bad_rows the good rows come through under their own numbers, and every error is kept."""
    reading = read(jsonl, skip_bad_rows=True)
    assert [(found.id, found.query) for found in reading] == [("1", "q1"), ("5", "q5")]
    assert [(bad.row, bad.column) for bad in reading.bad_rows] == [(2, None), (3, None), (4, "query")]
    assert "line 4 is a list, not an object; write one object a line" in str(reading.bad_rows[1])


def test_a_second_pass_counts_anew(jsonl: str) -> None:
    """Going through the rows again does not count the bad ones twice."""
    reading = read(jsonl, skip_bad_rows=True)
    assert list(reading) == list(reading)
    assert len(reading.bad_rows) == 3


def test_broken_csv_rows_are_named_and_skipped(table: str) -> None:
    """Missing and extra fields, text after a closing quote and a quote never closed each name their line."""
    reading = read(table, skip_bad_rows=True)
    assert [found.query for found in reading] == ["q1", "q5"]
    messages = [str(bad) for bad in reading.bad_rows]
    assert messages[0].startswith("rows.csv, row 2: 1 fields where the header has 2 (line 3); put a field that holds")
    assert messages[1].startswith("rows.csv, row 3: 3 fields where the header has 2 (line 5)")
    assert messages[2].startswith("rows.csv, row 4: line 6 is not CSV: ',' expected after '\"'")
    assert messages[3].startswith("rows.csv, row 6: line 8 is not CSV: unexpected end of data")
    assert len(messages) == 4


def test_a_cell_that_was_cut_off_is_named_with_its_line_and_the_way_on(tmp_path: Path) -> None:
    """A list that a spreadsheet cut off names the line, where rows span several, what is wrong and how to go on."""
    (tmp_path / "rows.csv").write_text('query,contexts\n"a\nb",c\nq,"[""whole"", ""cut o"\n')
    with pytest.raises(
        BadRow, match=r"row 2, column 'contexts': a broken list, probably cut off \(line 4\);"
    ) as raised:
        list(read(tmp_path / "rows.csv"))
    assert str(raised.value).endswith("; or skip such rows: skip_bad_rows=True (--skip-bad-rows)")


def test_a_repeated_id_can_be_skipped() -> None:
    """The second row of an id is left out and counted."""
    reading = read([{"id": "a", "query": "q"}, {"id": "a", "query": "r"}], skip_bad_rows=True)
    assert [found.query for found in reading] == ["q"]
    assert reading.bad_rows[0].row == 2


def test_rows_that_are_no_objects_are_refused() -> None:
    """A number or a text among the rows of a list is refused by its kind."""
    with pytest.raises(BadRow, match="list of 2 rows, row 2: a text, not an object; give each row as a dict"):
        list(read([{"query": "q"}, "q"]))


def test_all_rows_broken_still_tells_the_first(tmp_path: Path) -> None:
    """Where no row can be read, the first row's own error is raised, not one about columns."""
    path = tmp_path / "rows.jsonl"
    path.write_text("nonsense\n")
    with pytest.raises(BadRow, match=r"row 1: line 1 is not JSON: .* at column 1"):
        list(read(path))


def _nested(depth: int) -> dict[str, Any]:
    """Objects and lists within each other."""
    found: Any = "deep"
    for level in range(depth):
        found = [found] if level % 2 else {"in": found}
    return {"in": found}


@pytest.mark.parametrize("column", ["metadata", "trace", "contexts"])
@pytest.mark.parametrize("depth", [120, 900, 100_000])
def test_what_is_nested_too_deep_is_one_bad_row(column: str, depth: int) -> None:
    """Metadata, another column, or the metadata of a chunk that is nested too deep is refused with its place."""
    deep: Any = _nested(depth)
    row = {"query": "deep", column: [{"text": "c", "metadata": deep}] if column == "contexts" else deep}
    reading = read([row, {"query": "fine", column: None}], skip_bad_rows=True)
    assert [sample.query for sample in reading] == ["fine"]
    (bad,) = reading.bad_rows
    assert (bad.row, bad.column) == (1, column)
    assert "nested more than 100 levels deep; keep only the needed parts" in str(bad)


def test_what_is_nested_is_kept_up_to_a_depth() -> None:
    """Objects within objects that people do write are kept as they are."""
    (sample,) = read([{"query": "q", "trace": _nested(90)}])
    assert sample.metadata == {"trace": _nested(90)}


def test_a_sample_that_is_nested_too_deep_is_refused() -> None:
    """A Sample made by the caller is refused where no JSON can hold it."""
    with pytest.raises(BadRow, match="the sample cannot be stored as JSON"):
        list(read([Sample(id="1", query="q", metadata=_nested(100_000))]))


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ('{"query": "a", "response": "b", "response": "c"}', "'response'"),
        ('{"query": "a", "r\\u0065sponse": "b", "response": "c"}', "'response'"),
        ('{"query": "a", "meta": [{"x": 1, "x": 1}], "response": "c"}', "'x'"),
        ('{"query": "a", "n": NaN, "response": "b", "response": "c"}', "'response'"),
    ],
)
def test_a_key_that_is_there_twice_is_an_error(tmp_path: Path, line: str, keys: str) -> None:
    """Of two values for one key neither is taken, at any depth and however the key is escaped; other rows are read."""
    path = tmp_path / "data.jsonl"
    path.write_text(f'{{"query": "a", "response": "it says \\\\\\"a\\\\\\": b", "x": {{"x": 1}}}}\n{line}\n')
    with pytest.raises(BadRow, match=rf"row 2.*line 2 has the key {keys} twice in an object; write each key once"):
        list(read(path))
    assert len(list(read(path, skip_bad_rows=True))) == 1
    (tmp_path / "data.json").write_text(f"[{line}]")
    with pytest.raises(BadData, match=f"an object has the key {keys} twice"):
        list(read(tmp_path / "data.json"))
