"""Writing files: where they may stand, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ragauge.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives a place beside `path` to write a file to, which then replaces `path`; where writing fails nothing does.

    Folders that are missing are made. Raises UsageError where the file cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield part
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another place with -o") from error


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
