"""What is in a store file, and what of it is no longer needed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragauge.errors import UsageError
from ragauge.store import texts
from ragauge.store.database import Database
from ragauge.store.store import Store
from ragauge.store.texts import Connection, unpack

TABLES = ("runs", "samples", "judgments", "texts", "labels", "calls", "responses")
#: A key of a judgment in the evidence of a sample, as JSON.
_KEY = re.compile(rb'"judgment":"([0-9a-f]{32})"')


class Pruned(NamedTuple):
    """How much is removed: runs with their samples, judgments that no other run shows, and texts of these alone."""

    runs: int
    samples: int
    judgments: int
    texts: int


def sizes(store: Store) -> dict[str, int]:
    """How many rows each table of a store has."""
    sql = "SELECT count(*) FROM"
    return store._database.read(
        "count rows", lambda db: {table: int(db.execute(f"{sql} {table}").fetchone()[0]) for table in TABLES}
    )


def size(store: Store) -> int:
    """The bytes that a store takes."""
    if isinstance(store.place, Path):
        return store.place.stat().st_size
    sql = f"""SELECT sum(pg_total_relation_size(quote_ident(tablename)::regclass)) FROM pg_tables
        WHERE schemaname = current_schema AND tablename IN {(*TABLES, "columns", "streams", "edits")}"""
    return store._database.read("measure it", lambda db: int(db.execute(sql).fetchone()[0]))


def prune(store: Store, runs: Collection[str], *, dry: bool = True) -> Pruned:
    """Remove runs from a store file, and what only they need.

    A judgment goes if a removed run shows it as evidence and no other does; any other stays, as do labels and calls.

    Args:
        store: of which no other process has the file open.
        runs: ids.
        dry: whether to count only.

    Raises:
        UsageError: the store is not a file.
        StoreError: another process has it open.
    """
    database = store._database
    if not isinstance(database, Database):
        raise UsageError("prune works on store files; for a PostgreSQL store see the SQL in `ragauge docs store`")

    def removed(db: Connection) -> Pruned:
        stored = dict(db.execute("SELECT id, number FROM runs").fetchall())
        numbers = [stored[id] for id in runs if id in stored]
        samples = sum(db.execute("SELECT count(*) FROM samples WHERE run = ?", (n,)).fetchone()[0] for n in numbers)
        shown = {key for number in numbers for key in _shown(db, number)}
        for id, number in stored.items():
            if shown and id not in runs:
                shown.difference_update(_shown(db, number))
        keys = {key for (key,) in db.select_in("SELECT key FROM judgments WHERE key IN ?", shown)}
        used = _used_texts(db, keys) if numbers else set()
        unused = [id for (id,) in db.execute("SELECT id FROM texts").fetchall() if numbers and id not in used]
        if not dry:
            for number in numbers:
                for table, column in (("samples", "run"), ("columns", "run"), ("runs", "number")):
                    db.execute(f"DELETE FROM {table} WHERE {column} = ?", (number,))
            db.executemany("DELETE FROM judgments WHERE key = ?", [(key,) for key in keys])
            db.executemany("DELETE FROM texts WHERE id = ?", [(id,) for id in unused])
        return Pruned(len(numbers), samples, len(keys), len(unused))

    return (database.read if dry else database.alone)("remove what is not needed", removed)


def _shown(db: Connection, number: int) -> Iterator[bytes]:
    """The keys of the judgments that a run shows as evidence."""
    for (record,) in db.execute("SELECT record FROM samples WHERE run = ?", (number,)):
        yield from (bytes.fromhex(key.decode()) for key in _KEY.findall(unpack(record)))


def _used_texts(db: Connection, removed: Collection[bytes]) -> set[int]:
    """The numbers of the texts of all judgments but those."""
    used: set[int] = set()
    for key, judge, question in db.execute("SELECT key, judge, question FROM judgments"):
        if key not in removed:
            used |= {judge, *texts.references(msgspec.json.decode(unpack(question)))}
    return used
