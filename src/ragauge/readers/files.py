"""Which reader a file's name asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from ragauge.errors import BadData
from ragauge.readers.arrow_files import rows_of_arrow, rows_of_parquet
from ragauge.readers.block_files import rows_of_blocks
from ragauge.readers.csv_files import rows_of_table
from ragauge.readers.excel_files import rows_of_workbook
from ragauge.readers.json_files import rows_of_document, rows_of_lines
from ragauge.readers.lines import lines, opened
from ragauge.readers.sources import Source

_TEXT: dict[str, Callable[[Iterator[str], str], Any]] = {
    ".jsonl": rows_of_lines,
    ".ndjson": rows_of_lines,
    ".json": lambda found, name: rows_of_document("".join(found), name),
    ".csv": rows_of_table,
    ".tsv": partial(rows_of_table, delimiter="\t"),
    ".txt": rows_of_blocks,
}
_BINARY: dict[str, Callable[[Path], Iterator[Any]]] = {
    ".parquet": rows_of_parquet,
    ".arrow": rows_of_arrow,
    ".feather": rows_of_arrow,
    ".xlsx": rows_of_workbook,
}

#: The extensions that files of rows may have; those of text may have .gz behind them.
KNOWN = (*_TEXT, *_BINARY)


def file(path: Path) -> Source:
    """The rows of a file in the format its extension names. Raises BadData for one that is not there or not known."""
    ending = extension(path)
    if os.path.isdir(path):  # noqa: PTH112  # unlike Path.is_dir, it takes a name of any length
        raise BadData(f"{path}: a folder, not a file; name one file in it")
    if ending not in KNOWN:
        known = ", ".join(KNOWN)
        found = f"the extension {ending!r} is not known" if ending else "a name without extension"
        raise BadData(f"{path}: {found}; known: {known}, and .gz after those of text")
    _check_is_there(path)
    if ending in _BINARY:
        return Source(str(path), partial(_BINARY[ending], path))
    return Source(str(path), partial(_text_rows, path, str(path), _TEXT[ending]))


def standard_input() -> Source:
    """JSON Lines from standard input."""
    name = "standard input"
    return Source(name, partial(_text_rows, None, name, rows_of_lines), once=True)


def extension(path: Path) -> str:
    """The extension that names the format, in small letters: that before .gz, where such a file may be packed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = len(suffixes) > 1 and suffixes[-1] == ".gz" and suffixes[-2] in _TEXT
    return suffixes[-2] if packed else (suffixes[-1] if suffixes else "")


def _text_rows(path: Path | None, name: str, rows_of: Callable[[Iterator[str], str], Any]) -> Iterator[Any]:
    with opened(path) as stream:
        yield from rows_of(lines(stream, name), name)


def _check_is_there(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            if not stream.read(1):
                raise BadData(f"{path}: the file is empty; write one sample a row")
    except FileNotFoundError:
        raise BadData(f"{path}: no such file; {_near(path)}") from None
    except OSError as error:
        raise BadData(f"{path}: cannot be opened ({error.strerror}); check its name and permissions") from None


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent} either"
    names = get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=3)
    if names:
        return f"did you mean {' or '.join(repr(str(path.parent / name)) for name in names)}?"
    return f"check the name; the folder looked in is {path.parent.absolute()}"
