"""The schema of a store, as the steps that built it. A released step is never edited; a change is a new step."""

from __future__ import annotations

import sqlite3

from ragauge.errors import StoreError

#: Written into the file's header, so that another program's database is never taken for a store ("raga" in ASCII).
APPLICATION = 0x72616761


def m001_judgments_runs_labels(db: sqlite3.Connection) -> None:
    """Columns without a type hold packed text: see packing.py."""
    db.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text NOT NULL)")
    db.execute(
        "CREATE TABLE judgments (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,"
        " judge INTEGER NOT NULL REFERENCES texts, question NOT NULL, answer NOT NULL)"
    )
    db.execute("CREATE TABLE runs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record NOT NULL)")
    db.execute(
        "CREATE TABLE samples (run INTEGER NOT NULL REFERENCES runs, position INTEGER NOT NULL,"
        " record NOT NULL, UNIQUE (run, position))"
    )
    db.execute(
        "CREATE TABLE columns (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs,"
        " metric TEXT NOT NULL, first INTEGER NOT NULL, numbers BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX columns_by_metric ON columns (run, metric)")
    db.execute(
        "CREATE TABLE labels (id INTEGER PRIMARY KEY, digest BLOB NOT NULL, question TEXT NOT NULL,"
        " answer TEXT NOT NULL, person TEXT NOT NULL, at TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX labels_by_question ON labels (digest)")


def m002_calls(db: sqlite3.Connection) -> None:
    """The calls that judges make to models; a judgment names the one that brought it, by the call's own id."""
    db.execute("CREATE TABLE calls (id INTEGER PRIMARY KEY, record TEXT NOT NULL)")
    db.execute("ALTER TABLE judgments ADD COLUMN call TEXT NOT NULL DEFAULT ''")


def m003_responses(db: sqlite3.Connection) -> None:
    """What systems under test answered, each under the hash of its prompt and the system."""
    db.execute("CREATE TABLE responses (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, record NOT NULL)")


def m004_how_labels_came_about(db: sqlite3.Connection) -> None:
    """blind: the hash of the data out of which it was asked, without sight of the judge's verdict; "" for others.

    chance: whether chance drew its sample.
    """
    db.execute("ALTER TABLE labels ADD COLUMN blind TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE labels ADD COLUMN chance INTEGER NOT NULL DEFAULT 0")


MIGRATIONS = (m001_judgments_runs_labels, m002_calls, m003_responses, m004_how_labels_came_about)


def recognise(db: sqlite3.Connection) -> None:
    """Raise StoreError unless the database is empty or a store that this version can read. Changes nothing."""
    db.execute("BEGIN")
    application, version = _pragma(db, "application_id"), _pragma(db, "user_version")
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    db.execute("COMMIT")
    if application != APPLICATION and (application or tables):
        raise StoreError("it is another program's database; give another path with --store")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"it was written by a newer ragauge (schema {version}, this version knows {len(MIGRATIONS)}); "
            "upgrade with: pip install --upgrade ragauge"
        )


def pending(db: sqlite3.Connection) -> bool:
    """Whether the schema is older than this version's."""
    return _pragma(db, "user_version") < len(MIGRATIONS)


def migrate(db: sqlite3.Connection) -> None:
    """Apply the steps that are missing. To be called inside a write transaction."""
    for step in MIGRATIONS[_pragma(db, "user_version") :]:
        step(db)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _pragma(db: sqlite3.Connection, name: str) -> int:
    (value,) = db.execute(f"PRAGMA {name}").fetchone()
    return int(value)
