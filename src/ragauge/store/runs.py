"""The runs of a store: their records, their samples, and the values of each metric in columns."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence

import msgspec

from ragauge.errors import StoreError, UnknownName, UsageError
from ragauge.scores import RunRecord, SampleRecord
from ragauge.store.packing import pack, unpack

#: How many samples one query reads.
PAGE = 256

#: After every position.
END = 2**63 - 1

_encode = msgspec.json.Encoder().encode
_decode_run = msgspec.json.Decoder(RunRecord).decode
_decode_sample = msgspec.json.Decoder(SampleRecord).decode


def begin(db: sqlite3.Connection, run: RunRecord) -> None:
    """Add a run. To be called, as all that changes something here, inside a write transaction."""
    sql = "INSERT INTO runs (id, record) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
    if not db.execute(sql, (run.id, pack(_encode(run)))).rowcount:
        raise StoreError(f"there is a run {run.id!r} already; give the new one an id of its own")


def finish(db: sqlite3.Connection, run: RunRecord) -> None:
    """Replace the record of a run."""
    number = number_of(db, run.id)
    db.execute("UPDATE runs SET record = ? WHERE number = ?", (pack(_encode(run)), number))


def keep_samples(db: sqlite3.Connection, run_id: str, first: int, records: Sequence[SampleRecord]) -> None:
    """Keep `records` at positions `first`, `first + 1`, ...; what stood there is replaced."""
    run = number_of(db, run_id)
    db.executemany(
        "INSERT OR REPLACE INTO samples (run, position, record) VALUES (?, ?, ?)",
        [(run, first + i, pack(_encode(record))) for i, record in enumerate(records)],
    )
    db.executemany(
        "INSERT INTO columns (run, metric, first, numbers) VALUES (?, ?, ?, ?)",
        [(run, metric, first, _column(records, metric)) for metric in {name for r in records for name in r.scores}],
    )


def values(db: sqlite3.Connection, run_id: str, metric: str) -> list[float | None]:
    """The values of one metric by position, None where a sample has none."""
    run = number_of(db, run_id)
    values: list[float | None] = [None] * size(db, run_id)
    sql = "SELECT first, numbers FROM columns WHERE run = ? AND metric = ? ORDER BY id"
    columns = db.execute(sql, (run, metric)).fetchall()
    if values and not columns:
        known = db.execute("SELECT DISTINCT metric FROM columns WHERE run = ?", (run,))
        raise UnknownName("metric", metric, [name for (name,) in known])
    for first, numbers in columns:
        column = struct.unpack(f"<{len(numbers) // 8}d", numbers)
        values[first : first + len(column)] = [None if value != value else value for value in column]
    return values


def size(db: sqlite3.Connection, run_id: str) -> int:
    """How many samples of a run are kept so far."""
    sql = "SELECT coalesce(max(position) + 1, 0) FROM samples WHERE run = ?"
    (kept,) = db.execute(sql, (number_of(db, run_id),)).fetchone()
    return int(kept)


def samples(db: sqlite3.Connection, run_id: str, start: int, stop: int | None) -> dict[int, SampleRecord]:
    """The next samples of a run, by position and in order, from `start` until before `stop`; at most PAGE of them."""
    sql = "SELECT position, record FROM samples WHERE run = ? AND position >= ? AND position < ? ORDER BY 1 LIMIT ?"
    first, end = (min(max(position, 0), END) for position in (start, END if stop is None else stop))
    rows = db.execute(sql, (number_of(db, run_id), first, end, PAGE))
    return {position: _decode_sample(unpack(record)) for position, record in rows}


def find(db: sqlite3.Connection, wanted: str) -> RunRecord:
    """The run whose id is `wanted`, else the newest of that name, else the only one whose id begins so.

    "latest" is the newest of all.
    """
    ids = _ids(db)
    if not ids:
        raise StoreError("it holds no runs yet; make one with: ragauge run")
    matches = [ids[0]] if wanted == "latest" else [id for id in ids if id == wanted]
    matches = matches or _named(db, wanted)[:1] or [id for id in ids if wanted and id.startswith(wanted)]
    if len(matches) > 1:
        some = ", ".join(matches[:5])
        raise UsageError(f"{wanted!r} is the beginning of {len(matches)} runs ({some}); give more of the id")
    if not matches:
        names = {run.name for run in newest_first(db) if run.name}
        raise UnknownName("run", wanted, [*ids[:20], *names, "latest"])
    (record,) = db.execute("SELECT record FROM runs WHERE id = ?", matches).fetchone()
    return _decode_run(unpack(record))


def newest_first(db: sqlite3.Connection) -> list[RunRecord]:
    """All runs, the last that was begun first, whatever the clock said."""
    return [_decode_run(unpack(record)) for (record,) in db.execute("SELECT record FROM runs ORDER BY number DESC")]


def number_of(db: sqlite3.Connection, run_id: str) -> int:
    """The row of the run with exactly this id."""
    row = db.execute("SELECT number FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise UnknownName("run", run_id, _ids(db)[:20])
    return int(row[0])


def _ids(db: sqlite3.Connection) -> list[str]:
    return [id for (id,) in db.execute("SELECT id FROM runs ORDER BY number DESC")]


def _named(db: sqlite3.Connection, name: str) -> list[str]:
    return [run.id for run in newest_first(db) if name and run.name == name]


def _column(records: Sequence[SampleRecord], metric: str) -> bytes:
    """One metric's values as little-endian doubles, NaN for none."""
    scores = (record.scores.get(metric) for record in records)
    values = [score.value if score and score.value is not None else float("nan") for score in scores]
    return struct.pack(f"<{len(values)}d", *values)
