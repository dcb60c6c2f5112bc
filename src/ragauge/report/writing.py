"""Writing files: where they may stand, and whole or not at all."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE
from typing import Any

from ragauge.errors import UsageError
from ragauge.host import make_file, make_folder


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives a place beside `path` to write a file to, which then replaces `path`; where writing fails nothing does.

    Folders that are missing are made; they, and a new file, are for their owner alone. A file that is there keeps its
    mode. Raises UsageError where the file cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        make_folder(path.parent)
        try:
            make_file(part)
            yield part
            if path.exists():
                part.chmod(S_IMODE(path.stat().st_mode))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another place with -o") from error


#: How a cell begins that a spreadsheet would take for a formula.
_FORMULA = re.compile("[=+@\t\r\n-]")


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]], raw: bool = False) -> None:
    """Write rows as CSV under a line of column names; numbers stay numbers.

    A text that a spreadsheet would take for a formula gets an apostrophe before it, unless `raw`.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(columns))
        table.writeheader()
        table.writerows(rows if raw else ({key: _as_text(cell) for key, cell in row.items()} for row in rows))


def _as_text(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def check_place(path: Path, inputs: Iterable[str | Path] = ()) -> None:
    """Raise UsageError where `path` cannot be written, or is one of the `inputs`, which are still to be read."""
    if any(path.resolve() == Path(given).resolve() for given in inputs):
        raise UsageError(f"{path} is read by this command; choose another file with -o")
    folder = next(parent for parent in path.resolve().parents if parent.exists())
    if path.is_dir() or not os.access(folder, os.W_OK) or not folder.is_dir():
        raise UsageError(f"cannot write {path}: choose another place with -o")


def check_ending(path: Path, endings: Iterable[str]) -> None:
    """Raise UsageError unless the name of a file ends in one of the `endings`."""
    if path.suffix.lower() not in endings:
        raise UsageError(f"cannot write {path.name!r}: unknown ending; use one of {' '.join(endings)}")
