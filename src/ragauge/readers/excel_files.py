"""Rows of Excel workbooks."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

from ragauge.errors import BadData, MissingExtra
from ragauge.readers.csv_files import named_columns


def rows_of_workbook(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a workbook's first sheet; its first row names the columns, rows without a value are passed over.

    Values come as Excel holds them: what it shows as $411 or as May 24, 2025 is the number 411 and a date.
    Raises MissingExtra without openpyxl, BadData where the file is no workbook.
    """
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise MissingExtra("reading Excel files", "xlsx") from None
    try:
        with closing(load_workbook(path, read_only=True, data_only=True)) as book:
            yield from _rows(book.worksheets[0].iter_rows(values_only=True), str(path))
    except (BadZipFile, InvalidFileException, KeyError, IndexError, OSError, ParseError, zlib.error) as error:
        raise BadData(f"{path}: not a whole Excel workbook ({error}); save it again as .xlsx") from None


def _rows(cells: Iterator[tuple[Any, ...]], name: str) -> Iterator[dict[str, Any]]:
    filled = (row for row in cells if any(cell is not None for cell in row))
    header = named_columns(("" if cell is None else str(cell) for cell in next(filled, ())), name)
    for row in filled:
        yield dict(zip(header, row, strict=False))
