"""Long texts are stored once, compressed, and referenced by number."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pkgutil import get_data
from typing import Any, Protocol

Cell = str | bytes

#: A row of a result.
Row = tuple[Any, ...]


class Connection(Protocol):
    """What a store needs of a database; SQL is written with the placeholder "?"."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:
        """Run a statement, and return its cursor."""

    def executemany(self, sql: str, rows: Iterable[Row], /) -> object:
        """Run a statement with the parameters of each row."""

    def select_in(self, sql: str, values: Iterable[Any]) -> list[Row]:
        """The rows of a query that contains "IN ?", for any number of values."""

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert rows in their order, except those whose first column has a value that is there already."""

    def pack(self, data: bytes) -> Cell:
        """UTF-8 data as a cell."""


#: Bytes from which texts are compressed; with shorter ones, that would take more time than everything else here.
_COMPRESSED_SIZE = 1024
#: The compression dictionary is part of the file format, so that a change needs a migration.
_DICTIONARY = (
    b'{"id":"latest","started":"20","data":"","metrics":["judges":{"version":"status":"finished","samples":'
    b'{"sample":{"id":"1","query":"","response":"","contexts":[{"text":"","id":"1","title":"","metadata":{"references":["'
    b'"source":"","reference_contexts":[{"text":"answers":[["answerable":true,"system":"","group":"scores":{"'
    b'{"undefined":"no {"failed":"judge_error":{"value":1.0,"counts":[1.0,1.0],"evidence":["},"evidence":{"'
    b'[{"text":"","field":"response","span":[0,"against":"contexts","label":"entailed","probability":0.9,"chunks":['
    b'{"chunk":"1","label":"neutral","probability":0.0},{"chunk":"2","label":"entailed","rationale":"judgment":"'
    b'{"type":"decomposition","statements":[{"text":"","span":[,"claim":false,"opinion":true},{"text":"'
    b'{"type":"grade","value":0.{"kind":"rate","rubric":{"$":"texts":[["{"kind":"classify","text":"","trait":"biasedtoxic"}'
    b'{"kind":"relevant","query":"","text":"","reference":"{"kind":"decompose","text":"{"$":1},"query":"'
    b'{"kind":"entail","premise":[{"$":1},{"$":2}],"hypothesis":"","query":"{"type":"verdict","label":"not_entailed",'
    b'"yes"no","probability":0.9,"chunks":[{"label":"contradicted","probability":0.0},{"label":"neutral","probability":0.'
)


def pack(data: bytes) -> Cell:
    """UTF-8 data as a cell of the store."""
    if len(data) < _COMPRESSED_SIZE:
        return data.decode()
    # A window of 8 KB spans a typical row and is set up ten times as fast as the default of 32 KB; level 1 is three
    # times as fast as the default of 6.
    compressor = zlib.compressobj(1, zlib.DEFLATED, 13, 8, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)
    return compressor.compress(data) + compressor.flush()


def pack_bytes(data: bytes) -> bytes:
    """UTF-8 data as a cell of bytes: plain text follows a zero byte, with which compressed data never begins."""
    cell = pack(data)
    return b"\0" + data if isinstance(cell, str) else cell


def unpack(cell: Cell) -> bytes:
    """The data that was packed. Raises zlib.error where the cell is damaged."""
    if isinstance(cell, str):
        return cell.encode()
    if cell[:1] == b"\0":
        return cell[1:]
    decompressor = zlib.decompressobj(zdict=_DICTIONARY)
    return decompressor.decompress(cell) + decompressor.flush()


def digest(data: bytes) -> bytes:
    """A hash of data, 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


#: Strings of a question with at least this many characters go to the table of texts.
LONG_TEXT = 100
#: Texts whose numbers a process caches: those of the samples in flight, and many more.
MOST_CACHED = 20_000
#: Values that one query asks for; SQLite allows at least 999.
QUERY_SIZE = 500


def keep_texts(db: Connection, texts: Mapping[bytes, str]) -> dict[bytes, int]:
    """The number of each text by its hash, stored if new. To be called inside a write transaction. texts: by hash."""
    rows = [(address, db.pack(texts[address].encode())) for address in sorted(texts)]
    db.insert_new("texts", ("digest", "text"), rows)
    return dict(db.select_in("SELECT digest, id FROM texts WHERE digest IN ?", texts))


def read_texts(db: Connection, numbers: Collection[int]) -> dict[int, str]:
    """The texts with these numbers."""
    rows = db.select_in("SELECT id, text FROM texts WHERE id IN ?", numbers)
    return {number: unpack(cell).decode() for number, cell in rows}


def refer(tree: Any, references: dict[str, dict[str, int]]) -> Any:
    """Plain data with a reference, kept by text, for each long text; {"$": its number} is yet to be added to it."""
    if type(tree) is str:
        return references.setdefault(tree, {}) if len(tree) >= LONG_TEXT else tree
    if type(tree) is dict:
        return {name: refer(branch, references) for name, branch in tree.items()}
    return [refer(branch, references) for branch in tree] if type(tree) in (list, tuple) else tree


def references(tree: Any) -> Iterator[int]:
    """The numbers of the texts that plain data refers to."""
    if isinstance(tree, dict) and "$" in tree:
        yield tree["$"]
    elif isinstance(tree, dict | list):
        for branch in tree.values() if isinstance(tree, dict) else tree:
            yield from references(branch)


def restore(tree: Any, texts: dict[int, str]) -> Any:
    """The inverse of `refer`."""
    if isinstance(tree, dict):
        return texts[tree["$"]] if "$" in tree else {name: restore(branch, texts) for name, branch in tree.items()}
    return [restore(branch, texts) for branch in tree] if isinstance(tree, list) else tree


def migrations(name: str) -> tuple[str, ...]:
    """The steps of a file of SQL next to this module, each below a line with its number."""
    content = (get_data(__name__, name) or b"").decode()
    return tuple(re.split(r"^-- \d+: .*\n", content, flags=re.MULTILINE)[1:])
