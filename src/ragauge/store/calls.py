"""The calls of a store: what judges asked of models, and what it took."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from ragauge.types import Call

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Call).decode


def keep(db: sqlite3.Connection, calls: Sequence[Call]) -> None:
    """Add `calls`. To be called inside a write transaction."""
    db.executemany("INSERT INTO calls (record) VALUES (?)", [(_encode(call).decode(),) for call in calls])


def everything(db: sqlite3.Connection) -> list[Call]:
    """All calls, in the order in which they were kept."""
    return [_decode(record) for (record,) in db.execute("SELECT record FROM calls ORDER BY id")]
