"""One SQLite file: its schema, connections, transactions, error messages, and safe checkpoints."""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ragauge.errors import StoreError
from ragauge.host import make_file, make_folder
from ragauge.store.texts import QUERY_SIZE, Connection, Row, migrations, pack

T = TypeVar("T")

#: SQLite's application id, "raga" in ASCII, which distinguishes a store from another program's database.
APPLICATION = 0x72616761

#: What brings a store in a file from one version to the next.
MIGRATIONS = migrations("sqlite.sql")


def check_version(version: int, newest: int) -> None:
    """Raise StoreError for the schema of a newer version than `newest`."""
    if version > newest:
        raise StoreError(
            f"it was written by a newer ragauge (schema {version}, this version knows {newest}); "
            "upgrade with: pip install --upgrade ragauge"
        )


def _version(db: sqlite3.Connection) -> int:
    """The version of the schema. Raises StoreError unless the database is empty or a store that this one can read."""
    db.execute("BEGIN")
    application, version = _pragma(db, "application_id"), _pragma(db, "user_version")
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    db.execute("COMMIT")
    if application != APPLICATION and (application or tables):
        raise StoreError("it is another program's database; give another path with --store")
    check_version(version, len(MIGRATIONS))
    return version


def _pragma(db: sqlite3.Connection, name: str) -> int:
    (value,) = db.execute(f"PRAGMA {name}").fetchone()
    return int(value)


#: Seconds that a writer waits for another process.
BUSY_TIMEOUT = 30.0
#: Bytes of a write-ahead log above which it is copied into the database file.
LOG_LIMIT = 16 * 2**20
#: What reading damaged rows raises, or a damaged schema, whose text SQLite quotes in its message.
_DAMAGE = (msgspec.MsgspecError, zlib.error, UnicodeDecodeError, struct.error)

_CANNOT_WRITE = "choose a folder that can be written with --store, or keep nothing with --no-store"
_REPLACE = "move the file away, and a new store is created in its place"
_FIXES = {
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database; give another path with --store",
    sqlite3.SQLITE_CORRUPT: f"it is damaged; {_REPLACE}",
    sqlite3.SQLITE_FULL: "the disk is full; free some space and run again",
    sqlite3.SQLITE_BUSY: f"another process was writing for {BUSY_TIMEOUT:.0f} seconds; run again when it has ended",
    **dict.fromkeys((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM), _CANNOT_WRITE),
}
_OLDER = (
    "it was written by an older ragauge; open it once where it can be written, as with: ragauge report --store COPY"
)


class _Connection(sqlite3.Connection):
    pack = staticmethod(pack)

    def select_in(self, sql: str, values: Iterable[Any]) -> list[Row]:
        listed, rows = list(values), list[Row]()
        for start in range(0, len(listed), QUERY_SIZE):
            batch = listed[start : start + QUERY_SIZE]
            rows += self.execute(sql.replace("IN ?", f"IN ({_placeholders(batch)})"), batch)
        return rows

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({_placeholders(columns)})"
        self.executemany(f"{into} ON CONFLICT ({columns[0]}) DO NOTHING", rows)


def _placeholders(items: Sequence[object]) -> str:
    return ", ".join("?" * len(items))


class Database:
    """One connection, which threads may share. Errors are raised as StoreErrors that name the file and the fix.

    A new file and its folders are accessible to their owner only. durable: whether committed data must survive a crash
    of the process. to_read: whether an existing file may be one that cannot be written to.
    """

    def __init__(self, path: Path, *, durable: bool = True, to_read: bool = False) -> None:
        self.path, self._log = path, _log_of(path)
        self._lock = threading.RLock()
        with store_errors(path, "open it"):
            # SQLite creates its log in the folder.
            read_only = (
                to_read and path.exists() and not all(os.access(place, os.W_OK) for place in (path, path.parent))
            )
            self._db = _connected(path, read_only)
            try:
                self._prepare(durable, read_only)
            except BaseException:
                self._db.close()
                raise

    def _prepare(self, durable: bool, read_only: bool) -> None:
        is_older = _version(self._db) < len(MIGRATIONS)
        if read_only:
            if is_older:
                raise StoreError(_OLDER)
            return
        if durable:
            _use_write_ahead_log(self._db)
        else:
            self._db.execute("PRAGMA journal_mode = MEMORY")
            self._db.execute("PRAGMA synchronous = OFF")
        if is_older:
            with _transaction(self._db) as db:
                for step in MIGRATIONS[_pragma(db, "user_version") :]:
                    for statement in step.split(";"):
                        db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def read(self, what: str, query: Callable[[Connection], T]) -> T:
        """The result of a query. what: for error messages, such as "read runs"."""
        with self._lock, store_errors(self.path, what, (*_DAMAGE, LookupError, TypeError)):
            return query(self._db)

    def write(self, what: str, change: Callable[[Connection], T]) -> T:
        """The result of a function that changes something, in a transaction: all of its changes are made, or none."""
        with self._lock, store_errors(self.path, what):
            with _transaction(self._db) as db:
                result = change(db)
            with suppress(FileNotFoundError):
                if self._log.stat().st_size > LOG_LIMIT:
                    self._checkpoint()
            return result

    def alone(self, what: str, change: Callable[[Connection], T]) -> T:
        """What `write` does, where no other process has the file open; then give free space back to the disk."""
        with self._lock, store_errors(self.path, what):
            self._db.execute("PRAGMA busy_timeout = 1000")
            try:
                self._db.execute("PRAGMA journal_mode = DELETE")  # which fails while another connection is open
                with _transaction(self._db) as db:
                    result = change(db)
                self._db.execute("VACUUM")
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise StoreError("another process has it open; end that first") from error
                raise
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000:.0f}")
                with suppress(sqlite3.OperationalError):
                    _use_write_ahead_log(self._db)
            return result

    def _checkpoint(self) -> None:
        """Copy the log into the database file, as far as readers allow, unless another connection is writing.

        SQLite before 3.51.3 can lose pages when a commit restarts the log while a checkpoint runs
        (https://sqlite.org/wal.html, "the WAL-reset bug"). A second connection therefore holds the write lock, writing
        nothing, until the checkpoint is done.
        """
        with closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as guard:
            try:
                guard.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            guard.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection. The last connection to a file also empties its log."""
        with self._lock, store_errors(self.path, "close it"):
            self._db.close()


def _connected(path: Path, read_only: bool) -> _Connection:
    """A read-only file without a log has no writer, and is read without locks, which would need a file of their own."""
    place = str(path)
    if read_only:
        alone = "" if _log_of(path).exists() else "&immutable=1"
        place = f"{path.resolve().as_uri()}?mode=ro{alone}"
    else:
        make_folder(path.parent)
        make_file(path)
    options: dict[str, Any] = {"timeout": BUSY_TIMEOUT, "isolation_level": None, "check_same_thread": False}
    return sqlite3.connect(place, uri=read_only, factory=_Connection, **options)


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


@contextmanager
def store_errors(path: Path, what: str, damage: tuple[type[Exception], ...] = _DAMAGE) -> Iterator[None]:
    """Raise errors as StoreErrors that name the store, what could not be done, and the fix.

    damage: exceptions that mean that the file is damaged, besides those of SQLite.
    """
    failures: tuple[type[Exception], ...] = (sqlite3.Error, OSError, StoreError, *damage)
    try:
        yield
    except failures as error:
        raise StoreError(f"store {path}: cannot {what}: {_message(error)}") from error


def _message(error: Exception) -> str:
    if isinstance(error, StoreError | sqlite3.Error | OSError):
        fix = _FIXES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        fix = _CANNOT_WRITE if isinstance(error, OSError) else fix
        return f"{error}; {fix}" if fix else str(error)
    what = "its text" if isinstance(error, UnicodeDecodeError) else "a row"
    return f"{what} is damaged: {error}; {_REPLACE}"


@contextmanager
def _transaction(db: _Connection) -> Iterator[_Connection]:
    db.execute("BEGIN IMMEDIATE")
    with db:  # which commits, or rolls back
        yield db


def _use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch to WAL, with no checkpoint but our own. SQLite does not wait for locks when it switches, so this does."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("PRAGMA journal_size_limit = 0")
