"""Long texts are kept once and referred to by number: claims held against the same chunks share them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ragauge.store.packing import digest, pack, unpack

T = TypeVar("T")

#: A string of a question at least this long goes to the table of texts.
LONG = 100

#: How many values one query asks for; SQLite allows at least 999.
AT_ONCE = 500


def keep_texts(db: sqlite3.Connection, texts: Collection[str]) -> dict[str, int]:
    """The number of each text, which is stored if it is new. To be called inside a write transaction."""
    addresses = {digest(text.encode()): text for text in texts}
    numbers = {addresses[address]: number for address, number in _select(db, "digest, id", "digest", addresses)}
    for address, text in addresses.items():
        if text not in numbers:
            cursor = db.execute("INSERT INTO texts (digest, text) VALUES (?, ?)", (address, pack(text.encode())))
            numbers[text] = cursor.lastrowid or 0
    return numbers


def read_texts(db: sqlite3.Connection, numbers: Collection[int]) -> dict[int, str]:
    """The texts behind `numbers`."""
    return {number: unpack(cell).decode() for number, cell in _select(db, "id, text", "id", numbers)}


def long_texts(tree: Any) -> Iterator[str]:
    """The strings of a question, as plain data, that go to the table of texts."""
    if isinstance(tree, str):
        if len(tree) >= LONG:
            yield tree
    elif isinstance(tree, dict | list | tuple):
        for branch in tree.values() if isinstance(tree, dict) else tree:
            yield from long_texts(branch)


def refer(tree: Any, numbers: dict[str, int]) -> Any:
    """The same plain data with each long text replaced by {"$": its number}."""
    if isinstance(tree, str):
        return {"$": numbers[tree]} if len(tree) >= LONG else tree
    if isinstance(tree, dict):
        return {name: refer(branch, numbers) for name, branch in tree.items()}
    return [refer(branch, numbers) for branch in tree] if isinstance(tree, list | tuple) else tree


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
