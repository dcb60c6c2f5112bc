"""What reading may take: only files and pipes are read, and none may fill the memory or never end unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any
from zipfile import ZipFile

import msgspec

from ragauge.errors import BadData

#: Bytes that a file may unpack to whatever its size.
ALWAYS_UNPACKED = 20_000_000

#: The share of the limits on unpacking for workbooks, which are read slowly and unpack to some 13 times their size.
SHARE_OF_WORKBOOKS = 1 / 8

#: Bytes that a comma or bracket of a text counts as, since in JSON each stands for a value that takes memory; and how
#: many characters a line has whose values are counted at all.
BYTES_OF_A_VALUE, LONG_LINE = 16, 1_000_000


def size_with_values(text: str | bytes) -> int:
    """The size of a text, and of the values that are in it if it is JSON."""
    marks: Any = ",[{" if isinstance(text, str) else (b",", b"[", b"{")
    return len(text) + BYTES_OF_A_VALUE * sum(map(text.count, marks))


_Limit = Annotated[int, msgspec.Meta(ge=1)]


class ReadingLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What reading a file may take. Beyond a limit it ends with an error that says how to raise it.

    Attributes:
        ratio: The unpacked over the packed size of a compressed file, once it is larger than 20 MB.
        bytes: Held at once: of a row, or of a file that is not read row by row (.json, .txt, and parts of .eval), with
            16 more for each comma and bracket.
        cells: In all rows.
        columns: Of a row.
        turns: Of a conversation of which each answer is a sample, since each keeps the turns before it.
    """

    ratio: _Limit = 200
    bytes: _Limit = 256_000_000
    cells: _Limit = 1_000_000_000
    columns: _Limit = 10_000
    turns: _Limit = 1_000

    def exceeded(self, where: object, limit: str, problem: str) -> BadData:
        """The error for a file beyond a limit."""
        wider = f"{limit}={10 * getattr(self, limit)}"
        fix = f"if it is meant to, raise the limit: --reading-limit {wider} (in Python: limits=rg.readers.ReadingLimits"
        return BadData(f"{where}: {problem}; {fix}({wider}))")

    def check_unpacked(self, where: object, packed: int, unpacked: int, share: float = 1.0) -> None:
        """Raise BadData for a file that unpacks to much more than its size. share: of the limit, that it may use."""
        if unpacked > share * max(ALWAYS_UNPACKED, self.ratio * packed):
            problem = f"its {packed:,} bytes unpack to {unpacked / 1e6:.0f} MB or more"
            raise self.exceeded(where, "ratio", problem)

    def check_held(self, where: object, size: int, what: str) -> None:
        """Raise BadData for what is too large to be held at once."""
        if size > self.bytes:
            raise self.exceeded(where, "bytes", f"{what} of more than {self.bytes / 1e6:.0f} MB")

    def check_workbook(self, path: Path, file: Any) -> None:
        """Raise BadData for a workbook that unpacks to much more than its size."""
        with ZipFile(file) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
            self.check_unpacked(path, path.stat().st_size, unpacked, SHARE_OF_WORKBOOKS)
        file.seek(0)

    def counted(self, rows: Iterable[Any], where: str) -> Iterator[Any]:
        """The rows. Raises BadData for one with too many columns, and once there are too many cells."""
        cells = 0
        for row in rows:
            columns = len(row) if isinstance(row, Mapping) else 0
            cells += columns
            if columns > self.columns:
                raise self.exceeded(where, "columns", f"{columns} columns in a row")
            if cells > self.cells:
                raise self.exceeded(where, "cells", f"more than {self.cells} cells")
            yield row


class _Default:
    """The limits of this process, which a command sets."""

    limits = ReadingLimits()


def default_limits() -> ReadingLimits:
    """The limits where none are given."""
    return _Default.limits


def set_default_limits(limits: ReadingLimits) -> None:
    """Have reading keep to these limits where none are given."""
    _Default.limits = limits
