"""What reading may take: pipes and devices, bombs, and the limits on bytes, cells and columns."""

from __future__ import annotations

import gzip
import json
import logging
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from click.testing import CliRunner

import ragauge as rg
from ragauge import host
from ragauge.cli import main
from ragauge.errors import BadData
from ragauge.readers.formats import parquet_rows
from ragauge.store.recording import read_labels

ROW = json.dumps({"query": "q", "response": "r"}) + "\n"
LABEL = json.dumps(
    {"question": {"kind": "entail", "premise": ["p"], "hypothesis": "h"}, "answer": "entailed", "by": "ann"}
)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows"])
def test_a_pipe_that_is_named_is_read(tmp_path: Path, name: str) -> None:
    """A named pipe is read as its extension says, and as JSON Lines without one; it can be read once."""
    pipe = tmp_path / name
    os.mkfifo(pipe)
    Thread(target=lambda: pipe.write_text(ROW * 3)).start()
    reader = rg.read(pipe)
    assert len(list(reader)) == 3
    with pytest.raises(BadData, match="can be read only once"):
        list(reader)


@pytest.mark.parametrize("read", [rg.read, read_labels])
def test_a_silent_pipe_is_announced(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    read: Callable[[Path], Iterable[Any]],
) -> None:
    """A pipe of rows or labels that gives nothing is named after some seconds, and read once it gives something."""
    monkeypatch.setattr(host, "SILENT", 0.05)
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)

    def write() -> None:
        while not caplog.records:
            pass
        pipe.write_text(ROW if read is rg.read else LABEL)

    with caplog.at_level(logging.WARNING, "ragauge"):
        Thread(target=write).start()
        assert len(list(read(pipe))) == 1
    assert f"waiting for {pipe}, which has given nothing yet" in caplog.text


def test_a_pipe_cannot_be_read_from_the_middle(tmp_path: Path) -> None:
    """Formats that are not read from the beginning on are refused from a pipe, before anything is waited for."""
    os.mkfifo(tmp_path / "rows.parquet")
    with pytest.raises(BadData, match=r"a pipe, from which .parquet cannot be read; save it as a file"):
        rg.read(tmp_path / "rows.parquet")


@pytest.mark.parametrize("link", [True, False])
def test_a_device_is_refused(tmp_path: Path, link: bool) -> None:
    """A device, and a link to one under the name of a file, is refused at once."""
    path = Path("/dev/zero")
    if link:
        path = tmp_path / "rows.jsonl"
        path.symlink_to("/dev/zero")
    with pytest.raises(BadData, match="a device or socket, not a file"):
        rg.read(path)


def _packed_lines(path: Path) -> None:
    with gzip.open(path, "wb") as file:
        file.write(ROW.encode())
        for _ in range(110):
            file.write(b" " * 1_000_000 + b"\n")


def _packed_sheet(path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["query", "response"])
    book.save(path)
    with ZipFile(path, "a", ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * 110_000_000)


@pytest.mark.parametrize(("name", "write"), [("rows.jsonl.gz", _packed_lines), ("rows.xlsx", _packed_sheet)])
def test_a_bomb_is_refused(tmp_path: Path, name: str, write: Callable[[Path], Any]) -> None:
    """A small file that unpacks to 110 MB is refused with the option to raise, which lets it be read."""
    path = tmp_path / name
    write(path)
    with pytest.raises(BadData, match=r"unpack to .* MB or more; .* --reading-limit ratio=2000"):
        list(rg.read(path))
    (first, *_) = (
        rg.read(path, limits=rg.readers.ReadingLimits(ratio=2000), limit=1) if name.endswith(".gz") else [None]
    )
    assert first is None or first.query == "q"


@pytest.mark.parametrize(
    ("name", "text", "limits", "message"),
    [
        ("rows.jsonl", ROW + json.dumps({"query": "x" * 200}), {"bytes": 100}, "a line of more than"),
        ("rows.csv", "query,response\n" + "x" * 200, {"bytes": 100}, "a line of more than"),
        (
            "rows.csv",
            'query\n"x\n' + "x\n" * 100,
            {"bytes": 100},
            "line 2: a row that begins there .is a quotation mark not closed.. of more than",
        ),
        ("rows.json", f"[{ROW},\n{ROW},\n{ROW}]", {"bytes": 60}, "a file that is read as a whole"),
        ("rows.json", "[\n" + "[],\n" * 50 + "[]]", {"bytes": 500}, "a file that is read as a whole"),
        ("rows.jsonl", "[\n" + "[],\n" * 50 + "[]]", {"bytes": 500}, "a file that is read as a whole"),
        ("rows.jsonl", ROW * 10, {"cells": 9}, "more than 9 cells"),
        ("rows.csv", "query,a,b,c\n1,2,3,4\n", {"columns": 3}, "4 columns in a row"),
    ],
)
def test_each_limit_ends_reading(tmp_path: Path, name: str, text: str, limits: dict[str, int], message: str) -> None:
    """What exceeds a limit ends with an error that names the limit."""
    (tmp_path / name).write_text(text)
    with pytest.raises(BadData, match=f"{message}.*--reading-limit {next(iter(limits))}="):
        list(rg.read(tmp_path / name, limits=rg.readers.ReadingLimits(**limits)))


def test_the_command_raises_limits(tmp_path: Path) -> None:
    """`--reading-limit` holds for its command alone, and an unknown limit is an error."""
    path = tmp_path / "rows.csv"
    path.write_text("query,response,a,b\nq,r,1,2\n")
    command = ["run", str(path), "-m", "max_words(5)", "--no-store"]
    refused = CliRunner().invoke(main, [*command, "--reading-limit", "columns=2"])
    assert refused.exit_code == 2
    assert "--reading-limit columns=20" in refused.output
    assert CliRunner().invoke(main, command).exit_code == 0
    unknown = CliRunner().invoke(main, [*command, "--reading-limit", "rows=2"])
    assert unknown.exit_code == 2
    assert "known: ratio, bytes, cells, columns" in unknown.output


@pytest.mark.skipif(sys.platform == "win32", reason="needs /dev/fd")
def test_a_process_substitution_is_read(tmp_path: Path) -> None:
    """`ragauge run <(command)` reads what the command writes."""
    (tmp_path / "rows.jsonl").write_text(ROW)
    shell = f"{sys.executable} -m ragauge run <(cat rows.jsonl) -m 'max_words(5)' --no-store"
    path = str(Path(rg.__file__).parents[1])
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_line_of_empty_lists_is_too_much(tmp_path: Path) -> None:
    """Each value of a long line takes memory, however short it is written."""
    (tmp_path / "rows.jsonl").write_text('{"query": "q", "x": [' + "[]," * 400_000 + "[]]}")
    with pytest.raises(BadData, match="a line of more than 10 MB"):
        list(rg.read(tmp_path / "rows.jsonl", limits=rg.readers.ReadingLimits(bytes=10_000_000)))


def test_a_parquet_file_of_nothing_is_a_bomb(tmp_path: Path) -> None:
    """A list of 30 million missing values in a file of a kilobyte is refused."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"query": ["q"], "x": arrow.array([[None] * 30_000_000], arrow.list_(arrow.int8()))})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(BadData, match="--reading-limit ratio=2000"):
        list(rg.read(tmp_path / "rows.parquet"))


@pytest.mark.parametrize("where", ["rows", "a list"])
def test_a_text_that_a_parquet_file_keeps_once(tmp_path: Path, where: str) -> None:
    """A text of 1 MB in 40,000 rows or 40,000 times in a list of a file of a kilobyte is refused before it is made."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = arrow.DictionaryArray.from_arrays(arrow.array([0] * 40_000, arrow.int32()), ["word " * 200_000])
    column = texts if where == "rows" else arrow.ListArray.from_arrays(arrow.array([0, 40_000], arrow.int32()), texts)
    parquet.write_table(arrow.table({"contexts": column}), tmp_path / "rows.parquet", dictionary_pagesize_limit=1 << 30)
    tracemalloc.start()
    with pytest.raises(BadData, match="--reading-limit ratio=2000"):
        list(rg.read(tmp_path / "rows.parquet"))
    assert tracemalloc.get_traced_memory()[1] < 300e6
    tracemalloc.stop()


def test_chunks_that_a_parquet_file_shares(tmp_path: Path) -> None:
    """Rows whose lists share a few chunks, one of which is long and rare, are read."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    chunks = [["long " * 5_000], *([["short"] * 10] * 9_000)]
    parquet.write_table(arrow.table({"query": ["q"] * 9_001, "contexts": chunks}), tmp_path / "rows.parquet")
    assert sum(len(sample.contexts or ()) for sample in rg.read(tmp_path / "rows.parquet")) == 90_001


def test_texts_of_a_parquet_file_in_any_place(tmp_path: Path) -> None:
    """Texts in categories, lists, maps and structures come as they are, and so do decimal numbers."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "query": arrow.array(["a", "a"]).dictionary_encode(),
        "contexts": arrow.array([["b", "b"], []]),
        "pairs": arrow.array([[("c", "d")], None], arrow.map_(arrow.string(), arrow.string())),
        "inner": arrow.array([{"e": {"f": "g"}}, {"e": None}]),
        "price": arrow.array([Decimal("1.25"), None], arrow.decimal128(10, 2)),
    }
    parquet.write_table(arrow.table(columns), tmp_path / "rows.parquet")
    rows = list(parquet_rows(tmp_path / "rows.parquet", rg.readers.ReadingLimits()))
    assert rows == arrow.table(columns).to_pylist()


def _sheet(rows: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.active.append(["query"])
        book.save(path.with_suffix(".small"))
        with ZipFile(path.with_suffix(".small")) as small, ZipFile(path, "w", ZIP_DEFLATED) as large:
            for name in small.namelist():
                content = small.read(name).replace(b'<dimension ref="A1:A1"/>', b"")
                large.writestr(name, content.replace(b"</sheetData>", rows + b"</sheetData>"))

    return write


@pytest.mark.parametrize("row", [b"<row><c/><c/></row>" * 200_000, b'<row><c r="XFD1"/></row>' * 2_000])
def test_a_workbook_of_empty_cells(tmp_path: Path, row: bytes) -> None:
    """A small workbook with millions of empty cells, written or implied, is refused."""
    _sheet(row)(tmp_path / "rows.xlsx")
    with pytest.raises(BadData, match="--reading-limit ratio=2000"):
        list(rg.read(tmp_path / "rows.xlsx"))


def test_a_quotation_mark_that_does_not_close(tmp_path: Path) -> None:
    """The row is named by the line in which it begins, not that in which the file ends."""
    (tmp_path / "rows.csv").write_text('query\nq\n"open\n' + "x\n" * 50)
    with pytest.raises(BadData, match="the row from line 3 to 53 is not CSV"):
        list(rg.read(tmp_path / "rows.csv"))


def test_a_row_that_no_workbook_has(tmp_path: Path) -> None:
    """A workbook whose second row has a number beyond those of Excel is refused, not read row by row up to there."""
    _sheet(b'<row r="9999999999"><c r="A9999999999"><v>1</v></c></row>')(tmp_path / "rows.xlsx")
    with pytest.raises(BadData, match="more rows than Excel can have"):
        list(rg.read(tmp_path / "rows.xlsx"))


@pytest.mark.parametrize("option", [["--labels", "device"], ["-j", "device.json"], ["-j", "recording:device.jsonl"]])
def test_no_file_is_a_device(tmp_path: Path, option: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels, judges and recordings that lead to a device without an end are refused as data is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"query": "q", "response": "r", "contexts": ["r"]}))
    for name in ("device", "device.json", "device.jsonl"):
        (tmp_path / name).symlink_to("/dev/zero")
    result = CliRunner().invoke(main, ["run", "rows.jsonl", "-m", "faithfulness", "--no-store", *option])
    assert result.exit_code == 2
    assert "a device or pipe, not a file" in result.stderr
