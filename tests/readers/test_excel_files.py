from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from ragauge.errors import BadData, BadRow, MissingExtra
from ragauge.readers import read

openpyxl = pytest.importorskip("openpyxl")

Writing = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Writing:
    """Writes rows of cells into the first sheet of a workbook, and a second sheet."""

    def write(*rows: list[Any]) -> Path:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.create_sheet("other").append(["query"])
        book.save(tmp_path / "rows.xlsx")
        return tmp_path / "rows.xlsx"

    return write


def test_a_formula_without_a_value_is_no_empty_answer(written: Writing) -> None:
    """A cell that holds a formula which was never calculated is a bad row, not an empty response."""
    path = written(["query", "response"], ["Who?", "=SUM(A1) Acme"], ["When?", None], ["Where?", "Ulm"])
    with pytest.raises(
        BadRow, match=r"row 1: the formula '=SUM\(A1\) Acme' has no value in the file; open it in Excel"
    ):
        list(read(path))
    assert [sample.response for sample in read(path, skip_bad_rows=True)] == ["", "Ulm"]


def test_the_first_sheet_is_read(written: Writing) -> None:
    """Names of columns are understood as in any table; a column without a name and empty rows do no harm."""
    path = written(["Query", "Golden Response", None], ["Who?", "Ada.", 7], [None, None, None], ["When?", None, None])
    reading = read(path)
    assert reading.columns == {"query": "Query", "references": "Golden Response"}
    assert [(one.id, one.query, one.references) for one in reading] == [
        ("1", "Who?", ("Ada.",)),
        ("2", "When?", None),
    ]
    assert next(iter(reading)).metadata == {"column 3": 7}


def test_a_sheet_is_named(written: Writing, caplog: pytest.LogCaptureFixture) -> None:
    """Another sheet than the first is named behind the file; charts are none; without a name the others are noted."""
    path = written(["query"], ["Who?"])
    assert [one.query for one in read(path)] == ["Who?"]
    assert "'Sheet' of the sheets Sheet, other" in caplog.text
    book = openpyxl.load_workbook(path)
    book["other"].append(["When?"])
    book.create_chartsheet("chart", 0).add_chart(openpyxl.chart.BarChart())
    book.save(path)
    assert [one.query for one in read(path)] == ["Who?"]
    assert "chart" not in caplog.text
    assert [one.query for one in read(f"{path}#other")] == ["When?"]
    with pytest.raises(BadData, match="no sheet of cells is called 'third'; there are Sheet, other"):
        read(f"{path}#third")


def test_values_are_as_excel_holds_them(written: Writing) -> None:
    """A number or date becomes its text, whatever Excel shows in its place."""
    path = written(
        ["query", "reference"], ["a", 2830067000000], ["b", 0.25], ["c", 411.0], ["d", datetime(2022, 10, 27)]
    )
    assert [one.references for one in read(path)] == [
        ("2830067000000",),
        ("0.25",),
        ("411",),
        ("2022-10-27 00:00:00",),
    ]


def test_what_is_no_workbook_says_so(tmp_path: Path, written: Writing) -> None:
    """Other bytes, another archive, a sheet with no row, and names that stand twice are refused with their reason."""
    (tmp_path / "text.xlsx").write_bytes(b"query,response")
    with pytest.raises(BadData, match=r"text\.xlsx: not a whole Excel workbook \(File is not a zip file\)"):
        read(tmp_path / "text.xlsx")
    with ZipFile(tmp_path / "other.xlsx", "w") as archive:
        archive.writestr("note.txt", "x")
    with pytest.raises(BadData, match=r"other\.xlsx: not a whole Excel workbook"):
        read(tmp_path / "other.xlsx")
    with pytest.raises(BadData, match=r"rows\.xlsx: no rows"):
        read(written())
    with pytest.raises(BadData, match=r"rows\.xlsx: columns named twice: 'query'"):
        read(written(["query", "query"], ["a", "b"]))


_LAUGHS = (
    '<!DOCTYPE laughs [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {name} "{f"&{of};" * 100}">' for of, name in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)


@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/workbook.xml", "[Content_Types].xml"])
def test_entities_that_stand_for_more_than_memory_holds_are_refused(written: Writing, part: str) -> None:
    """A part that declares entities is refused, or read without any of them, before one is expanded."""
    path = written(["query"], ["LAUGH"])
    with ZipFile(path) as whole:
        parts = {name: whole.read(name).decode() for name in whole.namelist()}
    head, end, rest = parts[part].rpartition("?>") if parts[part].startswith("<?xml") else ("", "", parts[part])
    parts[part] = head + end + _LAUGHS + rest.replace("LAUGH", "&i;")
    with ZipFile(path, "w") as broken:
        for name, text in parts.items():
            broken.writestr(name, text)
    tracemalloc.start()
    try:
        with pytest.raises(BadData, match="not a whole Excel") if part.endswith("sheet1.xml") else suppress(BadData):
            list(read(path))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_damaged_sheet_is_refused(written: Writing) -> None:
    """Whatever the libraries make of a damaged part, the error names the file and the fix."""
    path = written(["query"], ["a"])
    with ZipFile(path) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    refused = []
    for name in parts:
        with ZipFile(path, "w") as broken:
            for other, content in parts.items():
                broken.writestr(other, content.replace(b"<", b"<\xff") if other == name else content)
        try:
            list(read(path))
        except BadData as error:  # not every part is needed for the rows
            refused.append(str(error))
    assert len(refused) > 2
    assert all("rows.xlsx: not a whole Excel workbook" in error for error in refused)


def test_without_the_library_the_extra_is_named(written: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where openpyxl is not installed the message says what to install."""
    path = written(["query"], ["a"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"reading Excel files .* pip install 'ragauge\[xlsx\]'"):
        read(path)
