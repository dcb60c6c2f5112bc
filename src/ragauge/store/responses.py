"""The responses of a store: append-only, the first under a key stays."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from ragauge.store.packing import pack, unpack
from ragauge.store.texts import marks, portions
from ragauge.types import ModelResponse

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ModelResponse).decode


def keep(db: sqlite3.Connection, responses: Sequence[ModelResponse]) -> None:
    """Add `responses`; one whose key is there already is left out. To be called inside a write transaction."""
    db.executemany(
        "INSERT INTO responses (key, record) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
        [(bytes.fromhex(response.key), pack(_encode(response))) for response in responses],
    )


def find(db: sqlite3.Connection, keys: Sequence[str]) -> dict[str, ModelResponse]:
    """The responses that are there, by key."""
    found: list[ModelResponse] = []
    for some in portions(dict.fromkeys(map(bytes.fromhex, keys))):
        rows = db.execute(f"SELECT record FROM responses WHERE key IN ({marks(some)})", some)
        found += [_decode(unpack(record)) for (record,) in rows]
    return {response.key: response for response in found}
