"""Files in each format, and the errors for those that cannot be read."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from ragauge.errors import BadData, BadParameter, MissingExtra
from ragauge.readers import read
from ragauge.types import Chunk, Sample

ROWS = [
    {"id": "x", "question": "q, «1»\n", "answer": 'a "quoted"', "contexts": ["c1", "c2"], "reference": "r"},
    {"id": "y", "question": "日本?", "answer": "b", "contexts": [], "reference": "s"},
]
SAMPLES = [
    Sample("x", "q, «1»\n", 'a "quoted"', (Chunk("c1", "1"), Chunk("c2", "2")), ("r",)),
    Sample("y", "日本?", "b", (), ("s",)),
]
CSV = 'id,question,answer,contexts,reference\nx,"q, «1»\n","a ""quoted""","[""c1"", ""c2""]",r\ny,日本?,b,[],s\n'
JSONL = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
TEXTS = {
    "rows.jsonl": JSONL,
    "rows.ndjson": "\n" + JSONL.replace("\n", "\r\n\r\n"),
    "rows.json": json.dumps(ROWS, indent=1),
    "lines.json": JSONL,
    "list.jsonl": json.dumps(ROWS, indent=1),
    "results.json": json.dumps({"results": ROWS, "metrics": {}}),
    "data.json": json.dumps({"data": ROWS, "config": {"ndoc": 5}}),
    "columns.json": json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
    "rows.csv": CSV,
    "semicolon.csv": CSV.replace('","', '";"').replace(",", ";").replace("q; ", "q, ").replace('""; ""', '"", ""'),
    "rows.tsv": "\t".join(ROWS[0]) + '\n\nx\t"q, «1»\n"\t"a ""quoted"""\t"[\'c1\' \'c2\']"\tr\ny\t日本?\tb\t[]\ts\n',
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, made the current one so that messages name files as people would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_formats_read_alike(here: Path, name: str, encoding: str) -> None:
    """Each text format gives the same samples, as UTF-8 with and without a mark, as UTF-16, and packed."""
    raw = TEXTS[name].encode(encoding)
    Path(name).write_bytes(raw)
    Path(name + ".gz").write_bytes(gzip.compress(raw))
    assert list(read(name)) == SAMPLES
    assert list(read(Path(name + ".gz"))) == SAMPLES


def test_parquet_is_read_alike(here: Path) -> None:
    """A Parquet file gives the same samples."""
    pa.parquet.write_table(pa.Table.from_pylist(ROWS), "rows.parquet")
    assert list(read("rows.parquet")) == SAMPLES


def test_a_reading_of_a_file_starts_anew(here: Path) -> None:
    """A file can be gone through again and again, also after stopping in the middle."""
    Path("rows.csv").write_text(CSV, encoding="utf-8")
    reading = read("rows.csv")
    assert reading.name == "rows.csv"
    assert next(iter(reading)) == SAMPLES[0]
    assert list(reading) == list(reading) == SAMPLES


def test_limit_stops_after_so_many_rows(here: Path) -> None:
    """With a limit only the first rows are read, so what follows may even be broken."""
    Path("rows.jsonl").write_text(JSONL + "{broken\n", encoding="utf-8")
    assert list(read("rows.jsonl", limit=2)) == SAMPLES
    assert list(read("rows.jsonl", limit=1)) == SAMPLES[:1]
    with pytest.raises(BadParameter, match="limit is 0; give 1 or more, or None for all rows"):
        read("rows.jsonl", limit=0)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads JSON Lines from standard input, once."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(JSONL.encode()))))
    reading = read("-")
    assert (reading.name, list(reading)) == ("standard input", SAMPLES)
    with pytest.raises(BadData, match="standard input: can be read only once; put its rows in a list"):
        list(reading)


def test_fields_longer_than_the_csv_module_allows(here: Path) -> None:
    """A context of more than 128 KB in a CSV cell is read whole."""
    long = "word " * 100_000
    Path("long.csv").write_text(f'query,context\nq,"{long}"\n')
    (sample,) = read("long.csv")
    assert sample.contexts == (Chunk(long, "1"),)


def test_not_a_number_in_json_is_absent(here: Path) -> None:
    """NaN, which Python writes and JSON does not know, is read as absent."""
    Path("nan.jsonl").write_text('{"query": "q", "reference": NaN, "label": NaN}\n')
    assert list(read("nan.jsonl")) == [Sample("1", "q")]


def test_a_column_without_a_name_is_called_by_its_place(here: Path) -> None:
    """The index that pandas writes without a name is metadata under its position."""
    Path("index.csv").write_text(",query\n0,q\n")
    assert next(iter(read("index.csv"))).metadata == {"column 1": "0"}


#: (file name, bytes, what the message says)
BROKEN = [
    ("empty.csv", b"", "empty.csv: the file is empty; write one sample a row"),
    ("blank.jsonl", b"\n \n", "blank.jsonl: no rows; write one sample a row"),
    ("blank.json", b" ", "blank.json: no rows"),
    ("none.json", b"[]", "none.json: no rows"),
    ("head.csv", b"query,response\n", "head.csv: no rows"),
    ("rows.ods", b"x", "rows.ods: the extension '.ods' is not known; known: .jsonl, .ndjson, .json, .csv, .tsv, .txt, "
     ".yaml, .yml, .parquet, .xlsx, .eval, and .gz after those of text"),
    ("rows", b"x", "rows: a name without extension; known: .jsonl"),
    ("a.parquet.gz", b"x", "a.parquet.gz: the extension '.gz' is not known"),
    ("latin.csv", b"query\nq1\ncaf\xe9\n", "latin.csv: not UTF-8: byte 0xe9 at offset 12 (line 3); save it as UTF-8, "
     "for example: iconv -f WINDOWS-1252 -t UTF-8 latin.csv; in Excel: Save As, CSV UTF-8"),
    ("odd.csv", b"\xff\xfea\x00b", "odd.csv: broken UTF-16"),
    ("wide.csv", "query;answer\n".encode("utf-16-le"), "wide.csv: UTF-16 without its mark, or no text (NUL bytes)"),
    ("cut.json", b'[{"query": "q"},\n {"query": ', "cut.json: broken JSON at line 2, column 12: Expecting value"),
    ("number.json", b"3", "number.json: a number, not a list of objects; write a list of objects"),
    ("ragged.json", b'{"query": ["q", "r"], "response": ["a"]}',
     "ragged.json: columns of different lengths: query 2, response 1; give each column one value a row"),
    ("twice.csv", b"query,query\nq,r\n", "twice.csv: columns named twice: 'query'; give each column its own name"),
    ("quote.csv", b'"query"x,response\nq,r\n', "quote.csv: the header is not CSV: ',' expected after '\"'"),
    ("headless.csv", b"What?,This.\n", "headless.csv: no rows"),
    ("headless2.csv", b"What?,This.\nWho?,Me.\n", "headless2.csv: no column of a known name; found: 'What?', 'This.'"),
    ("half.jsonl.gz", gzip.compress(JSONL.encode())[:-12], "half.jsonl.gz: not a whole gzip file"),
    ("no.jsonl.gz", JSONL.encode(), "no.jsonl.gz: not a whole gzip file (Not a gzipped file"),
    ("no.parquet", b"x" * 50, "no.parquet: not a whole Parquet file ("),
]  # fmt: skip


@pytest.mark.parametrize(("name", "raw", "message"), BROKEN, ids=[broken[0] for broken in BROKEN])
def test_a_file_that_cannot_be_read_says_why(here: Path, name: str, raw: bytes, message: str) -> None:
    """A broken file is refused with its name, the place and the fix, also where bad rows are skipped."""
    Path(name).write_bytes(raw)
    with pytest.raises(BadData) as raised:
        list(read(name, skip_bad_rows=True))
    assert message in str(raised.value)


def test_a_missing_file_suggests_its_neighbours(here: Path) -> None:
    """A misspelt name is answered with the files that are near it, or with the folder looked in."""
    Path("answers.jsonl").write_text(JSONL, encoding="utf-8")
    with pytest.raises(BadData, match=r"answer\.jsonl: no such file; did you mean 'answers\.jsonl'\?"):
        read("answer.jsonl")
    (here / "abc.csv").write_text("x")
    with pytest.raises(BadData, match=r"zzz\.csv: no such file; check the name; the folder looked in is "):
        read("zzz.csv")
    with pytest.raises(BadData, match=r"rows\.csv: no such file; there is no folder nowhere either"):
        read("nowhere/rows.csv")


def test_a_folder_is_refused(here: Path) -> None:
    """A folder is not a file, whatever its name."""
    Path("data.csv").mkdir()
    with pytest.raises(BadData, match=r"data\.csv: a folder, not a file; name one file in it"):
        read("data.csv")


def test_a_name_that_no_file_can_have_is_refused() -> None:
    """A text that is far too long for a path is refused as one, not with a trace of the system."""
    with pytest.raises(BadData, match="cannot be opened"):
        read("x" * 5000 + ".csv")


def test_without_pyarrow_the_extra_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pyarrow is not installed, the message gives the command that installs it."""
    Path("rows.parquet").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"reading Parquet files needs .*pip install 'ragauge\[arrow\]'"):
        read("rows.parquet")


def test_damaged_parquet_files_are_refused(here: Path) -> None:
    """Parquet files with some bytes changed are read or refused with their name; nothing ends the process."""
    name = "rows.parquet"
    chance = random.Random(name)
    pa.parquet.write_table(pa.Table.from_pylist([row | {"n": n} for n in range(20) for row in ROWS]), name)
    whole = Path(name).read_bytes()
    refused = []
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        Path(name).write_bytes(damaged)
        try:
            list(read(name))
        except BadData as error:
            refused.append(str(error))
    assert len(refused) > 50
    assert all(f"{name}: not a whole" in error or f"{name}, row" in error for error in refused)


def test_the_line_of_excel_that_names_the_delimiter_is_skipped(tmp_path: Path) -> None:
    """A first line such as "sep=;" is no header, and says what stands between the fields; it counts as a line."""
    (tmp_path / "sep.csv").write_text("sep=|\r\nquestion|answer\r\nQ, or?|A\r\nQ|A|B\r\n")
    reading = read(tmp_path / "sep.csv", skip_bad_rows=True)
    assert [(one.query, one.response) for one in reading] == [("Q, or?", "A")]
    assert "(line 4)" in str(reading.bad_rows[0])
