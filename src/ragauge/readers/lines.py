"""The lines of a text file, decoded, with the place named where it is not the text it ought to be."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragauge.errors import BadData

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

TextFile = io.BufferedReader | gzip.GzipFile


@contextmanager
def opened(path: Path | None) -> Iterator[TextFile]:
    """The bytes of a file, unpacked if its name ends in .gz; standard input for None."""
    if path is None:
        yield sys.stdin.buffer  # type: ignore[misc]
        return
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadData(f"{path}: not a whole gzip file ({error}); pack it again, or take .gz off its name") from None


def lines(stream: TextFile, name: str) -> Iterator[str]:
    """The lines with their ends: UTF-8 with or without a byte order mark, or UTF-16 with one."""
    if stream.peek(2)[:2] in _UTF16:
        yield from _utf16_lines(stream, name)
        return
    offset = 0
    for number, raw in enumerate(stream, start=1):
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            raise BadData(_not_utf8(name, offset + error.start, raw[error.start], number)) from None
        yield line.removeprefix("\ufeff") if offset == 0 else line
        offset += len(raw)


def _utf16_lines(stream: TextFile, name: str) -> Iterator[str]:
    try:
        with io.TextIOWrapper(stream, encoding="utf-16", newline="\n") as text:
            yield from text
    except UnicodeError as error:
        raise BadData(f"{name}: broken UTF-16 ({error}); save the file as UTF-8") from None


def _not_utf8(name: str, offset: int, byte: int, line: int) -> str:
    return (
        f"{name}: not UTF-8: byte 0x{byte:02x} at offset {offset} (line {line}); "
        f"save the file as UTF-8, for example: iconv -f WINDOWS-1252 -t UTF-8 {name}"
    )
