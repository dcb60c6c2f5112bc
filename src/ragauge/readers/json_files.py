"""Rows of JSON and JSON Lines."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragauge.errors import BadData
from ragauge.readers.values import Malformed, describe, native

#: Keys under which whole-file objects keep their rows: RAGChecker, Trust-Eval, DeepEval and others.
ROW_KEYS = ("results", "data", "samples", "rows", "examples", "test_cases", "goldens")

_FIX = 'write a list of objects (pandas: to_json(path, orient="records")) or one object a line'


def rows_of_lines(lines: Iterable[str], name: str) -> Iterator[Any]:
    """One object a line; blank lines do not count. A file that is one JSON list is read as that."""
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if not line.isspace())
    first = next(numbered, None)
    if first is None:
        return
    if first[1].lstrip().startswith("["):
        yield from rows_of_document("".join([first[1], *(line for _, line in numbered)]), name)
        return
    for number, line in itertools.chain([first], numbered):
        yield _row(line, number)


def rows_of_document(text: str, name: str) -> Iterable[Any]:
    """The rows of one JSON document, held in memory whole. A file of JSON Lines named .json is read as lines."""
    if not text.strip():
        return []
    try:
        document = parsed(text)
    except json.JSONDecodeError as error:
        if _starts_with_a_row(text):
            return rows_of_lines(text.splitlines(keepends=True), name)
        place = f"line {error.lineno}, column {error.colno}"
        raise BadData(f"{name}: broken JSON at {place}: {error.msg}; mend it there, or write it again") from None
    if isinstance(document, Mapping):
        return rows_of_mapping(document, name)
    if not isinstance(document, list):
        raise BadData(f"{name}: {describe(document)}, not a list of objects; {_FIX}")
    return document


def rows_of_mapping(found: Mapping[str, Any], name: str) -> Sequence[Any]:
    """The rows of an object that holds a list of rows, or columns of equal length, or that is one row itself."""
    for key in ROW_KEYS:
        rows = found.get(key)
        if isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
            return rows
    columns = {column: native(values) for column, values in found.items()}
    if not columns or not all(isinstance(values, list | tuple) for values in columns.values()):
        return [found]
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{column} {length}" for column, length in lengths.items())
        raise BadData(f"{name}: columns of different lengths: {listed}; give each column one value a row")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def parsed(text: str) -> Any:
    """The value of a JSON text. NaN, which Python writes, is accepted. Raises json.JSONDecodeError."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _parsed_slowly(text)


def _parsed_slowly(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise json.JSONDecodeError(str(error), text, 0) from None


def _row(line: str, number: int) -> Any:
    try:
        row = parsed(line)
    except json.JSONDecodeError as error:
        return Malformed(
            f"line {number} is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}",
            "mend or remove the line",
        )
    if not isinstance(row, Mapping):
        return Malformed(f"line {number} is {describe(row)}, not an object", "write one object a line")
    return row


def _starts_with_a_row(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    return not isinstance(_row(first, 1), Malformed)
