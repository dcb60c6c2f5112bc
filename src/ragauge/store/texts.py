"""Long texts are kept once, compressed, and referred to by number."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

Cell = str | bytes

#: Shorter texts stay as they are: to press them costs a run more time than all else that the store does with them.
_WORTHWHILE = 1024

#: Part of the file format: to change it is a migration. zlib refuses to read with a dictionary it did not write with.
_PHRASES = (
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
    """`data`, which is UTF-8, as a cell of the store."""
    if len(data) < _WORTHWHILE:
        return data.decode()
    # A window of 8 KB spans a typical row, and sets up ten times faster than the usual 32 KB. Level 1 is three times as
    # fast as the usual 6.
    press = zlib.compressobj(1, zlib.DEFLATED, 13, 6, zlib.Z_DEFAULT_STRATEGY, _PHRASES)
    return press.compress(data) + press.flush()


def unpack(cell: Cell) -> bytes:
    """The data that was packed. Raises zlib.error where the cell is damaged."""
    if isinstance(cell, str):
        return cell.encode()
    press = zlib.decompressobj(zdict=_PHRASES)
    return press.decompress(cell) + press.flush()


def digest(data: bytes) -> bytes:
    """16 bytes that stand for `data`."""
    return hashlib.blake2b(data, digest_size=16).digest()


T = TypeVar("T")

#: A string of a question at least this long goes to the table of texts.
LONG = 100

#: How many characters of texts a process keeps in memory to know their numbers.
MEMORY = 20_000_000

#: How many values one query asks for; SQLite allows at least 999.
AT_ONCE = 500


_NESTED = (dict, list, tuple)


class TextNumbers(dict[str, int]):
    """The numbers of texts that this process has lately kept or looked up, so that they are not looked up again.

    Texts are never changed or removed, so a number stays right once the transaction that made it is committed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._characters = 0

    def learn(self, numbers: Mapping[str, int]) -> None:
        """Remember `numbers`; when they hold more than MEMORY characters, start anew."""
        self._characters += sum(map(len, numbers))
        if self._characters > MEMORY:
            self.clear()
            self._characters = sum(map(len, numbers))
        self.update(numbers)


def keep_texts(db: sqlite3.Connection, texts: Iterable[str]) -> dict[str, int]:
    """The number of each text, which is stored if it is new. To be called inside a write transaction."""
    addresses = {digest(text.encode()): text for text in texts}
    numbers = {addresses[address]: number for address, number in _select(db, "digest, id", "digest", addresses)}
    new = {address: text for address, text in addresses.items() if text not in numbers}
    db.executemany(
        "INSERT INTO texts (digest, text) VALUES (?, ?)", [(key, pack(text.encode())) for key, text in new.items()]
    )
    numbers.update((new[address], number) for address, number in _select(db, "digest, id", "digest", new))
    return numbers


def read_texts(db: sqlite3.Connection, numbers: Collection[int]) -> dict[int, str]:
    """The texts behind `numbers`."""
    return {number: unpack(cell).decode() for number, cell in _select(db, "id, text", "id", numbers)}


def long_texts(tree: Any) -> Iterator[str]:
    """The strings of a question, as plain data, that go to the table of texts."""
    for branch in tree.values() if type(tree) is dict else tree:
        if type(branch) is str:
            if len(branch) >= LONG:
                yield branch
        elif type(branch) in _NESTED:
            yield from long_texts(branch)


def refer(tree: Any, numbers: Mapping[str, int]) -> Any:
    """The same plain data with each long text replaced by {"$": its number}."""
    if type(tree) is str:
        return {"$": numbers[tree]} if len(tree) >= LONG else tree
    if type(tree) is dict:
        return {name: refer(branch, numbers) for name, branch in tree.items()}
    return [refer(branch, numbers) for branch in tree] if type(tree) in _NESTED else tree


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


def portions(items: Iterable[T]) -> Iterator[Sequence[T]]:
    """`items` in portions that one query can ask for."""
    listed = list(items)
    return (listed[start : start + AT_ONCE] for start in range(0, len(listed), AT_ONCE))


def marks(items: Sequence[object]) -> str:
    """One SQL placeholder per item."""
    return ", ".join("?" * len(items))


def _select(db: sqlite3.Connection, columns: str, by: str, values: Iterable[bytes | int]) -> Iterator[tuple[Any, Any]]:
    for some in portions(values):
        yield from db.execute(f"SELECT {columns} FROM texts WHERE {by} IN ({marks(some)})", some)
