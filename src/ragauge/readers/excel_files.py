"""Rows of Excel workbooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

from ragauge.errors import BadData, MissingExtra
from ragauge.readers.csv_files import named_columns

#: How many bytes of a part are parsed at a time, to see how it begins.
_PIECE = 4096


def rows_of_workbook(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a workbook's first sheet; its first row names the columns, rows without a value are passed over.

    Values come as Excel holds them: what it shows as $411 or as May 24, 2025 is the number 411 and a date.
    Raises MissingExtra without openpyxl, BadData where the file is no workbook.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("reading Excel files", "xlsx") from None
    try:
        with path.open("rb") as file:  # openpyxl would leave a broken one open
            _check_parts(file, path)
            with closing(load_workbook(file, read_only=True, data_only=True)) as book:
                yield from _rows(book.worksheets[0].iter_rows(values_only=True), str(path))
    except BadData:
        raise
    except Exception as error:  # a damaged part may raise anything, of zipfile, the XML parser or openpyxl
        problem = str(error).partition("\n")[0]
        raise BadData(f"{path}: not a whole Excel workbook ({problem}); save it again as .xlsx") from None


def _check_parts(file: IO[bytes], path: Path) -> None:
    """Raise BadData where a part of a workbook declares a document type.

    No spreadsheet program writes one, and its entities can stand for more text than fits in memory.
    """
    with ZipFile(file) as parts:
        for part in parts.infolist():
            with parts.open(part) as stream:
                if _declares_type(stream):
                    problem = f"{part.filename} declares a document type, as no spreadsheet program does"
                    raise BadData(f"{path}: {problem}; write the workbook again as .xlsx")


def _declares_type(stream: IO[bytes]) -> bool:
    """Whether a document type stands before the first element of an XML file; nothing behind it is parsed."""
    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = _stop(_Declared)
    parser.StartElementHandler = _stop(_Begun)
    try:
        while piece := stream.read(_PIECE):
            parser.Parse(piece)
    except _Declared:
        return True
    except (_Begun, ExpatError):  # the latter for a picture, or a part that openpyxl says more about
        pass
    return False


class _Declared(Exception):
    """A document type is declared."""


class _Begun(Exception):
    """The first element has begun."""


def _stop(reason: type[Exception]) -> Callable[..., None]:
    """A handler that ends parsing where it is called."""

    def handler(*_: object) -> None:
        raise reason

    return handler


def _rows(cells: Iterator[tuple[Any, ...]], name: str) -> Iterator[dict[str, Any]]:
    filled = (row for row in cells if any(cell is not None for cell in row))
    header = named_columns(("" if cell is None else str(cell) for cell in next(filled, ())), name)
    for row in filled:
        yield dict(zip(header, row, strict=False))
