"""Rows of files: JSON, JSON Lines, CSV, TSV, Excel, Parquet, logs of Inspect, and blocks of text."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import os
import re
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from stat import S_ISFIFO, S_ISREG
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo

from ragauge.errors import BadData, BadParameter, RagaugeError
from ragauge.host import LOG, RepeatedKey, announced, installed, load_only, object_without_repeats, optional
from ragauge.readers.budget import LONG_LINE, ReadingLimits, default_limits, size_with_values
from ragauge.readers.exports import ADK_KEYS, REQUEST, adk_rows, inspect_rows
from ragauge.readers.values import Malformed, describe, native

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Source(NamedTuple):
    """Where rows come from, with its name for messages.

    rows: starts an iteration over mappings, Samples, objects with fields, or a Malformed in place of a row that cannot
    be read. once: only one iteration is possible (a generator, standard input).
    is_table: empty cells are missing values. index: the labels of the rows of a pandas frame.
    """

    name: str
    rows: Callable[[], Iterator[Any]]
    once: bool = False
    is_table: bool = False
    index: Any = None


TextFile = io.BufferedReader | gzip.GzipFile


@contextmanager
def open_bytes(path: Path | None) -> Iterator[TextFile]:
    """The bytes of a file, decompressed if its name ends in .gz; standard input for None."""
    if path is None:
        with announced("standard input"):
            sys.stdin.buffer.peek(1)  # type: ignore[attr-defined,union-attr,unused-ignore]
        yield sys.stdin.buffer  # type: ignore[misc]
        return
    try:
        with (
            announced(path) as arrived,
            gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream,
        ):
            stream.peek(1)
            arrived()
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadData(f"{path}: not a whole gzip file ({error}); compress it again, or rename it without .gz") from None


def decoded_lines(stream: TextFile, name: str, limits: ReadingLimits) -> Iterator[str]:
    """The lines with their line ends: UTF-8 with or without a byte order mark, or UTF-16 with one."""
    if stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        try:
            with io.TextIOWrapper(stream, encoding="utf-16", newline="\n") as text:
                while line := text.readline(limits.bytes + 1):
                    limits.check_held(name, size_with_values(line), "a line")
                    yield line
        except UnicodeError as error:
            raise BadData(f"{name}: broken UTF-16 ({error}); save the file as UTF-8") from None
        return
    packed = os.fstat(stream.fileno()).st_size if isinstance(stream, gzip.GzipFile) else None
    offset = number = 0
    while raw := stream.readline(limits.bytes + 1):
        number += 1
        limits.check_held(name, size_with_values(raw) if len(raw) > LONG_LINE else len(raw), "a line")
        if packed is not None:
            limits.check_unpacked(name, packed, offset + len(raw))
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            if b"\0" in raw + stream.peek(1):
                raise BadData(f"{name}: not text but binary; name its format by its extension, or give text") from None
            place = f"byte 0x{raw[error.start]:02x} at offset {offset + error.start} (line {number})"
            fix = f"save it as UTF-8, for example: iconv -f WINDOWS-1252 -t UTF-8 {name}; in Excel: Save As, CSV UTF-8"
            raise BadData(f"{name}: not UTF-8: {place}; {fix}") from None
        if offset == 0 and "\0" in line[:4]:
            raise BadData(f"{name}: UTF-16 without its mark, or no text (NUL bytes); save the file as UTF-8")
        yield line.removeprefix("\ufeff") if offset == 0 else line
        offset += len(raw)


def _whole(lines: Iterable[str], name: str, limits: ReadingLimits) -> str:
    """The text of a file that is not read row by row."""
    pieces, size = [], 0
    for line in lines:
        size += size_with_values(line)
        limits.check_held(name, size, "a file that is read as a whole (JSON Lines are not)")
        pieces.append(line)
    return "".join(pieces)


#: Keys under which an object that is a whole file keeps its rows: RAGChecker, Trust-Eval, DeepEval, LlamaIndex, others.
ROW_KEYS = (
    *("results", "data", "samples", "rows", "examples", "predictions"),
    *("test_cases", "testCases", "test_results", "goldens"),
)


def json_lines_rows(
    lines: Iterable[str], name: str = "JSON Lines", limits: ReadingLimits | None = None
) -> Iterator[Any]:
    """One object a line, blank lines ignored. A file that is one JSON list is read as such."""
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if not line.isspace())
    first = next(numbered, None)
    if first is None:
        return
    rows = itertools.chain([first], numbered)
    if first[1].lstrip().startswith("["):
        yield from json_rows(_whole((line for _, line in rows), name, limits or default_limits()), name)
    for number, line in rows:
        yield json_row(line, number)


def json_rows(text: str, name: str) -> Iterable[Any]:
    """The rows of a JSON document, which is held in memory. JSON Lines under the name .json are read as lines."""
    if not text.strip():
        return []
    try:
        document = parse_json(text)
    except json.JSONDecodeError as error:
        if isinstance(json_row(text.lstrip().partition("\n")[0], 1), Mapping):
            return json_lines_rows(text.splitlines(keepends=True))
        place = f"line {error.lineno}, column {error.colno}"
        raise BadData(f"{name}: broken JSON at {place}: {error.msg}; fix it there, or write the file again") from None
    except RepeatedKey as error:
        raise BadData(f"{name}: an object has the key {error} twice; write each key once") from None
    if isinstance(document, Mapping):
        return mapping_rows(document, name)
    if not isinstance(document, list):
        fix = 'write a list of objects (pandas: to_json(path, orient="records")) or one object a line'
        raise BadData(f"{name}: {describe(document)}, not a list of objects; {fix}")
    return document


def yaml_rows(lines: Iterable[str], name: str, limits: ReadingLimits) -> Iterable[Any]:
    """The rows of a YAML document, such as promptfoo writes; what it repeats by reference is held once for each."""
    yaml = optional("YAML", "yaml", "yaml")
    try:
        written = json.JSONEncoder(default=str).iterencode(yaml.safe_load(_whole(lines, name, limits)))
        return json_rows(_whole(written, name, limits), name)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadData(f"{name}: broken YAML: {' '.join(str(error).split())}; fix it there, or write JSON") from None


def mapping_rows(document: Mapping[str, Any], name: str) -> Sequence[Any]:
    """The rows of an object that holds a list of rows, or columns of equal length, or that is one row itself."""
    if not REQUEST.keys().isdisjoint(document):
        return [document]
    if any(isinstance(document.get(key), list) for key in ADK_KEYS):
        return list(adk_rows(document))
    for key in ROW_KEYS:
        rows = document.get(key)
        if isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
            is_log = key == "samples" and isinstance(document.get("eval"), Mapping)
            return list(inspect_rows(document, rows)) if is_log else rows
        if isinstance(rows, Mapping) and isinstance(rows.get(key), list):  # promptfoo
            return mapping_rows(rows, name)
    names, cells = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(cells, list) and all(isinstance(row, list) for row in cells):
        return [dict(zip(map(str, names), row, strict=False)) for row in cells]  # MLflow, pandas' orient="split"
    columns = {column: native(values) for column, values in document.items()}
    if _is_indexed(columns):  # what pandas writes by default
        columns = {column: list(values.values()) for column, values in columns.items()}
    if not columns or not all(isinstance(values, list | tuple) for values in columns.values()):
        return [document]
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{column} {length}" for column, length in lengths.items())
        raise BadData(f"{name}: columns of different lengths: {listed}; give each column one value a row")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _is_indexed(columns: Mapping[str, Any]) -> bool:
    """Whether every column is an object from the same keys: numbers of rows, or the values of one of the columns."""
    keys, *others = [list(values) if isinstance(values, Mapping) else [] for values in columns.values()] or [[]]
    if not keys or any(other != keys for other in others):
        return False
    return all(key.isdigit() for key in keys) or any(list(values.values()) == keys for values in columns.values())


def parse_json(text: str) -> Any:
    """The value of a JSON text. NaN, which Python writes, is accepted: it is a missing value.

    Raises json.JSONDecodeError, and RepeatedKey, which names the key.
    """
    try:
        return json.loads(text, object_pairs_hook=object_without_repeats)
    except (json.JSONDecodeError, RepeatedKey):
        raise
    except (ValueError, RecursionError) as error:
        raise json.JSONDecodeError(str(error), text, 0) from None


def json_row(line: str, number: int) -> Any:
    """The row in a line of JSON Lines, or a Malformed."""
    try:
        row = parse_json(line)
    except json.JSONDecodeError as error:
        problem = f"line {number} is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
        return Malformed(problem, "fix or remove the line")
    except RepeatedKey as error:
        return Malformed(f"line {number} has the key {error} twice in an object", "write each key once")
    if not isinstance(row, Mapping):
        return Malformed(f"line {number} is {describe(row)}, not an object", "write one object a line")
    return row


class TextRow(dict[str, str]):
    """The cells of a row by column, and the number of the line that it begins on."""

    line = 0


#: What Excel writes above the header to name the delimiter.
_SEPARATOR_LINE = re.compile("sep=(.)\r?\n?", re.IGNORECASE)


def csv_rows(lines: Iterable[str], name: str, limits: ReadingLimits, *, delimiter: str | None = None) -> Iterator[Any]:
    """One mapping a row, every cell as text. The first row names the columns.

    delimiter: None takes the comma, semicolon or tab, whichever the header has most of.
    """
    csv.field_size_limit(2**31 - 1)  # of the process; otherwise 128 KB, less than one long context
    lines = iter(lines)
    skipped, first = next(((number, line) for number, line in enumerate(lines) if not line.isspace()), (0, None))
    if first is None:
        return
    if separator := _SEPARATOR_LINE.fullmatch(first):
        delimiter, first, skipped = separator[1], next(lines, ""), skipped + 1
    delimiter = delimiter or max(",;\t", key=first.count)
    size, begin = 0, skipped + 1

    def within_row() -> Iterator[str]:
        nonlocal size
        for line in itertools.chain([first], lines):
            size += 4 * len(line)  # since the reader keeps each character as four bytes
            what = "a row that begins there (is a quotation mark not closed?)"
            limits.check_held(f"{name}, line {begin}", size, what)
            yield line

    reader = csv.reader(within_row(), delimiter=delimiter, strict=True)
    try:
        header = column_names(next(reader), name)
    except csv.Error as error:
        raise BadData(f"{name}: the header is not CSV: {error}; name each column in the first row") from None
    cells: list[str] | None = header
    while cells is not None:
        size, begin = 0, skipped + reader.line_num + 1
        try:
            if (cells := next(reader, None)) and len(cells) == len(header):
                row = TextRow(zip(header, cells, strict=True))
                row.line = begin
                yield row
            elif cells:
                problem = f"{len(cells)} fields where the header has {len(header)} (line {skipped + reader.line_num})"
                yield Malformed(problem, 'put a field that holds a separator or a line break in double quotes ("...")')
        except csv.Error as error:
            end = skipped + reader.line_num
            place = f"line {begin}" if begin == end else f"the row from line {begin} to {end}"
            fix = 'write a double quote inside a quoted field twice (""), and close each quoted field'
            yield Malformed(f"{place} is not CSV: {error}", fix)


def column_names(cells: Iterable[str], name: str) -> list[str]:
    """The names in a table's first row, numbered where blank. Raises BadData for a name that occurs twice."""
    header = [cell.strip() or f"column {position}" for position, cell in enumerate(cells, start=1)]
    if repeated := sorted(column for column, count in Counter(header).items() if count > 1):
        raise BadData(f"{name}: columns named twice: {', '.join(map(repr, repeated))}; give each column its own name")
    return header


def excel_rows(path: Path, limits: ReadingLimits, name: str = "") -> Iterator[dict[str, Any] | Malformed]:
    """The rows of the sheet called `name`, or of the first; its first row names the columns, empty rows are ignored.

    Values come as Excel holds them: what it shows as $411 or as May 24, 2025 is the number 411 and a date. A row with a
    formula whose value is not in the file is malformed.
    Raises MissingExtra without openpyxl and defusedxml, with which openpyxl expands no entities; BadData where the file
    is no workbook.
    """
    openpyxl = optional("reading Excel files", "xlsx", "openpyxl", "defusedxml")
    try:
        with path.open("rb") as file:  # openpyxl would leave a broken one open
            limits.check_workbook(path, file)
            with (
                closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book,
                closing(openpyxl.load_workbook(file, read_only=True)) as book_of_formulas,
            ):
                titles = [sheet.title for sheet in book.worksheets]  # without sheets that are charts
                if name and name not in titles:
                    raise BadData(f"{path}: no sheet of cells is called {name!r}; there are {', '.join(titles)}")
                if not name and len(titles) > 1:
                    fix = f"another is read as {path.name}#NAME"
                    LOG.warning("%s: read is %r of the sheets %s; %s", path, titles[0], ", ".join(titles), fix)
                place = titles.index(name) if name else 0
                sheets = (_rows_of_sheet(opened.worksheets[place], path, limits) for opened in (book, book_of_formulas))
                rows = zip(*sheets, strict=True)
                filled = ((row, formulas) for row, formulas in rows if any(cell.value is not None for cell in formulas))
                names, _ = next(filled, ((), ()))
                header = column_names(("" if cell.value is None else str(cell.value) for cell in names), str(path))
                for row, formulas in filled:
                    values = ("" if cell.data_type == "str" and cell.value is None else cell.value for cell in row)
                    yield _uncalculated(formulas, row) or dict(zip(header, values, strict=False))
    except BadData:
        raise
    except Exception as error:  # a damaged part may raise anything, of zipfile, the XML parser or openpyxl
        problem = str(error).partition("\n")[0]
        raise BadData(f"{path}: not a whole Excel workbook ({problem}); save it again as .xlsx") from None


def _uncalculated(formulas: Sequence[Any], row: Sequence[Any]) -> Malformed | None:
    """What is wrong with a row of a sheet in which a formula has no value; that may be an empty text."""
    for formula, cell in zip(formulas, row, strict=False):
        if formula.data_type == "f" and cell.value is None and cell.data_type != "str":
            text = getattr(formula.value, "text", formula.value)
            problem = f"the formula {str(text)[:40]!r} has no value in the file"
            return Malformed(problem, "open it in Excel and save it, or store what begins with = as text")
    return None


#: Rows of a sheet of Excel.
MAX_EXCEL_ROWS = 1_048_576


def _rows_of_sheet(sheet: Any, path: Path, limits: ReadingLimits) -> Iterator[tuple[Any, ...]]:
    """The cells of a sheet row by row, with the empty rows between.

    Raises BadData for a number that no row of Excel has, and for empty cells without an end.
    """
    cells, packed = 0, path.stat().st_size
    for number, row in enumerate(sheet.iter_rows(), start=1):
        if number > MAX_EXCEL_ROWS:
            raise BadData(f"{path}: its sheet has more rows than Excel can have; save it again as .xlsx")
        cells += len(row)
        limits.check_unpacked(path, packed, cells)
        yield row


#: Rows held in memory at once.
BATCH = 256

#: What a damaged file raises besides pyarrow's own errors, for text that is not UTF-8 and dates out of range.
_DAMAGED = (OSError, ValueError, OverflowError)


def pyarrow_for(task: str) -> Any:
    """The package pyarrow. Raises MissingExtra, which says that the task needs it."""
    return optional(task, "arrow", "pyarrow", "pyarrow.parquet", "pyarrow.compute")


def parquet_rows(path: Path, limits: ReadingLimits) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file. Raises MissingExtra without pyarrow, BadData where the file is broken.

    A text that is kept once may stand in every row and any number of times in a list. So the dictionary of each group
    of rows is read first; it decides how many rows are read at once, and whether they are measured before.
    """
    pyarrow, packed, unpacked = pyarrow_for("reading Parquet files"), path.stat().st_size, 0
    try:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
            groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
            columns = [group.column(number) for group in groups for number in range(group.num_columns)]
            limits.check_unpacked(path, packed, sum(max(c.total_uncompressed_size, c.num_values) for c in columns))
            named = map(file.schema.column, range(len(file.schema)))
            texts = [column.path for column in named if column.physical_type == "BYTE_ARRAY"]
            with pyarrow.parquet.ParquetFile(path, pre_buffer=False, read_dictionary=texts) as indexed:
                for number, group in enumerate(groups):
                    first = next(indexed.iter_batches(batch_size=1, row_groups=[number]), None)
                    values = max((group.column(n).num_values for n in range(group.num_columns)), default=0)
                    is_dense = first and _longest_in_lists(first, pyarrow) * values > max(
                        4 * limits.bytes, limits.ratio * group.total_byte_size
                    )
                    rows = limits.bytes // (4 * first.nbytes + 1) if first else 1
                    read = indexed if is_dense else file
                    for batch in read.iter_batches(batch_size=min(max(1, rows), BATCH), row_groups=[number]):
                        size = _unpacked_size(batch, pyarrow)
                        unpacked += size
                        limits.check_unpacked(path, packed, unpacked)
                        limits.check_held(path, size, "a row")
                        yield from batch.to_pylist()
    except (pyarrow.ArrowException, *_DAMAGED) as error:
        raise BadData(f"{path}: not a whole Parquet file ({error}); write it again") from None


def _lengths(values: Any, pyarrow: Any) -> Iterator[tuple[Any, Any]]:
    """The lengths of the texts of each dictionary in a batch or array of Arrow, and the indices of those that occur."""
    if isinstance(values, pyarrow.RecordBatch):
        inner = values.columns
    elif pyarrow.types.is_dictionary(values.type):
        yield pyarrow.compute.binary_length(values.dictionary), values.indices
        return
    elif pyarrow.types.is_struct(values.type):
        inner = values.flatten()
    else:
        inner = [values.values] if pyarrow.types.is_nested(values.type) else []
    for array in inner:
        yield from _lengths(array, pyarrow)


def _unpacked_size(batch: Any, pyarrow: Any) -> int:
    """The bytes of a batch in which a text counts as often as it occurs."""
    sums = (pyarrow.compute.sum(lengths.take(indices)).as_py() for lengths, indices in _lengths(batch, pyarrow))
    return int(batch.nbytes + sum(filter(None, sums)))


def _longest_in_lists(batch: Any, pyarrow: Any) -> int:
    """The length of the longest text in the dictionaries of the lists of a batch."""
    lists = [column for column in batch.columns if pyarrow.types.is_nested(column.type)]
    longest = (pyarrow.compute.max(lengths).as_py() for column in lists for lengths, _ in _lengths(column, pyarrow))
    return max(filter(None, longest), default=0)


def eval_rows(path: Path, limits: ReadingLimits) -> Iterator[Mapping[str, Any]]:
    """The samples of a log of Inspect. Raises MissingExtra without pyarrow, BadData where the file is no whole log."""
    try:
        with path.open("rb") as file, ZipFile(file) as log:
            limits.check_unpacked(path, path.stat().st_size, sum(part.file_size for part in log.infolist()))
            limits.check_held(path, max(part.file_size for part in log.infolist()), "a part")
            header = parse_json(_part(file, log, log.getinfo("header.json")))
            parts = [part for part in log.infolist() if part.filename.startswith("samples/")]
            if not parts:
                why = "was run without log_samples" if header.get("status") == "success" else "ended before any sample"
                raise BadData(f"{path}: a log of Inspect without samples, since it {why}; run it again")
            yield from inspect_rows(header, (parse_json(_part(file, log, part)) for part in parts))
    except (BadZipFile, KeyError, AttributeError, NotImplementedError, MemoryError, zlib.error, *_DAMAGED) as error:
        raise BadData(f"{path}: not a whole log of Inspect ({error}); write it again") from None


def _part(file: IO[bytes], log: ZipFile, part: ZipInfo) -> str:
    if part.compress_type != 93:  # Zstandard, which zipfile reads from Python 3.14 on
        return log.read(part).decode()
    file.seek(part.header_offset + 26)  # where the lengths of the name and of the extra field are, which follow
    file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
    packed = file.read(part.compress_size)
    return str(pyarrow_for("reading logs of Inspect").decompress(packed, part.file_size, "zstd", asbytes=True), "utf-8")


_TAG = re.compile(r"^[^\S\n]*(question|answer|links|systemid) :", re.IGNORECASE | re.MULTILINE)


def block_rows(lines: Iterable[str], name: str) -> list[dict[str, str]]:
    """One mapping a block, with its question and answer: lines that begin "question :", "answer :", "links :".

    Tags are in any case. Question and answer may span several lines, which are joined by spaces; links and systemId are
    ignored. Raises BadData where there is no block.
    """
    rows: list[dict[str, str]] = []
    _, *tagged = _TAG.split("".join(lines))
    for tag, written in zip(map(str.lower, tagged[::2]), tagged[1::2], strict=True):
        if tag == "question":
            rows.append({})
        if rows and tag in ("question", "answer"):
            joined = " ".join(line.strip() for line in written.split("\n"))
            rows[-1][tag] = f"{rows[-1].get(tag, '')} {joined}".strip()
    if not rows:
        raise BadData(f"{name}: no block of lines that begin 'question :', 'answer :' and 'links :'; write them so")
    return rows


def _text_rows(path: Path | None, suffix: str, limits: ReadingLimits | None = None) -> Iterator[Any]:
    name, limits = str(path or "standard input"), limits or default_limits()
    with open_bytes(path) as stream:
        yield from limits.counted(_TEXT[suffix](decoded_lines(stream, name, limits), name, limits), name)


_TEXT: dict[str, Callable[[Iterator[str], str, ReadingLimits], Any]] = {
    ".jsonl": json_lines_rows,
    ".ndjson": json_lines_rows,
    ".json": lambda lines, name, limits: json_rows(_whole(lines, name, limits), name),
    ".csv": csv_rows,
    ".tsv": lambda lines, name, limits: csv_rows(lines, name, limits, delimiter="\t"),
    ".txt": lambda lines, name, limits: block_rows([_whole(lines, name, limits)], name),
    ".yaml": yaml_rows,
    ".yml": yaml_rows,
}
_BINARY: dict[str, Callable[[Path, ReadingLimits], Iterator[Any]]] = {
    ".parquet": parquet_rows,
    ".xlsx": excel_rows,
    ".eval": eval_rows,
}

#: The extensions of the formats that are built in; those of text may be followed by .gz.
EXTENSIONS = (*_TEXT, *_BINARY)


#: The group of entry points under which other packages register readers: each has the name of an extension, without
#: its dot, and is a function from the path of a file to its rows, an iterable of mappings from column to value.
ENTRY_POINTS = "ragauge.readers"

_SHEET = re.compile(r"(.*\.xlsx)#(.+)", re.IGNORECASE | re.DOTALL)


def file_source(path: Path, limits: ReadingLimits | None = None) -> Source:
    """The rows of a file in the format that its extension names; those of a pipe without one are JSON Lines.

    FILE.xlsx#NAME is a sheet of a workbook. Raises BadData where it cannot be read.
    """
    name, limits, sheet = str(path), limits or default_limits(), ""
    if (named := _SHEET.fullmatch(name)) and not path.exists():
        path, sheet = Path(named[1]), named[2]
    suffix = extension(path)
    if os.path.isdir(path):  # noqa: PTH112  # unlike Path.is_dir, it takes a name of any length
        raise BadData(f"{path}: a folder, not a file; name one file in it")
    if piped := _is_pipe(path):
        suffix = suffix or ".jsonl"
    if not is_readable(suffix):
        problem = f"the extension {suffix!r} is not known" if suffix else "a name without extension"
        readable = f"known: {', '.join(EXTENSIONS)}, and .gz after those of text"
        raise BadData(f"{path}: {problem}; {readable}; save it as one of these")
    if not piped:
        _check_is_there(path)
    if suffix in _TEXT:
        return Source(name, partial(_text_rows, path, suffix, limits), once=piped)
    if piped:
        raise BadData(f"{path}: a pipe, from which {suffix} cannot be read; save it as a file")
    if suffix in _BINARY:
        rows = partial(excel_rows, name=sheet) if sheet else _BINARY[suffix]
        return Source(name, lambda: limits.counted(rows(path, limits), name), is_table=rows is not eval_rows)
    try:
        reader = load_only(_plugins(suffix), f"{path}: reader of {suffix}")
    except BadParameter as error:
        raise BadData(str(error)) from error
    return Source(name, partial(_plugin_rows, reader, path))


def is_readable(suffix: str) -> bool:
    """Whether files with this extension can be read, by a format that is built in or by another package's reader."""
    return suffix in EXTENSIONS or bool(_plugins(suffix))


def _plugins(suffix: str) -> list[EntryPoint]:
    """The readers that installed packages register for an extension."""
    return [point for point in installed(ENTRY_POINTS) if f".{point.name.lower()}" == suffix]


def _plugin_rows(rows_of: Callable[[Path], Iterable[Any]], path: Path) -> Iterator[Any]:
    try:
        yield from rows_of(path)
    except RagaugeError:
        raise
    except Exception as error:  # another package's function may raise anything
        name = getattr(rows_of, "__qualname__", rows_of)
        problem = f"its reader {name} raised {type(error).__name__}: {error}"
        raise BadData(f"{path}: {problem}; check the file, or report it to the reader's authors") from error


#: JSON Lines from standard input.
STANDARD_INPUT = Source("standard input", partial(_text_rows, None, ".jsonl"), once=True)


def extension(path: Path) -> str:
    """The extension that names the format, in lower case: the one before .gz for a compressed text format."""
    *_, before, last = ["", "", *map(str.lower, path.suffixes)]
    return before if last == ".gz" and before in _TEXT else last


def _is_pipe(path: Path) -> bool:
    """Whether a path is a pipe rather than a regular file. Raises BadData for a device."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # which `_check_is_there` explains
        return False
    if not (S_ISREG(mode) or S_ISFIFO(mode)):
        raise BadData(f"{path}: a device or socket, not a file; give a file, a pipe, or - for standard input")
    return S_ISFIFO(mode)


def _check_is_there(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            if not stream.read(1):
                raise BadData(f"{path}: the file is empty; write one sample a row")
    except FileNotFoundError:
        folder = path.parent
        entries = sorted(folder.iterdir(), key=lambda entry: entry.suffix == path.suffix) if folder.is_dir() else []
        stems = {entry.stem.casefold(): entry for entry in entries}  # a common ending makes no name similar
        near = " or ".join(repr(str(stems[stem])) for stem in get_close_matches(path.stem.casefold(), stems))
        fix = f"did you mean {near}?" if near else f"check the name; the folder looked in is {folder.absolute()}"
        if not folder.is_dir():
            fix = f"there is no folder {folder} either"
        raise BadData(f"{path}: no such file; {fix}") from None
    except OSError as error:
        raise BadData(f"{path}: cannot be opened ({error.strerror}); check its name and permissions") from None
